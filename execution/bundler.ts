import { type BuildOptions, type BuildResult, build, stop, type TransformOptions, transform } from "esbuild";

export type { Message, Plugin, TransformOptions } from "esbuild";

const TIME_LIMIT_MS = 20_000;

/** The program is more than the bundler can cope with: it takes too long, or its nesting brings the bundler down. */
export class BundlerOverwhelmed extends Error {
  override readonly name = "BundlerOverwhelmed";
}

/** Bundles in memory. @throws BundlerOverwhelmed, or an error with `errors` for what is wrong with the input. */
export function bundle<Options extends BuildOptions>(options: Options): Promise<BuildResult<Options>> {
  return withinTimeLimit(build(options as Parameters<typeof build<Options>>[0]));
}

/** Reduces one file to plain JavaScript. @throws as `bundle` does. */
export async function reduceToJavaScript(code: string, options: TransformOptions): Promise<string> {
  return (await withinTimeLimit(transform(code, options))).code;
}

/** Work that does not end in time is ended with its process; the next call starts another. */
async function withinTimeLimit<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      void stop();
      reject(new BundlerOverwhelmed(`bundling took longer than ${TIME_LIMIT_MS / 1_000} s`));
    }, TIME_LIMIT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    if (!(error instanceof Error) || !/service (?:was stopped|is no longer running)/.test(error.message))
      throw error;
    void stop();
    throw new BundlerOverwhelmed("the bundler gave up on this program; does it nest too deeply?", {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}
