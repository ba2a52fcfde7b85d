import { RecentlyUsed } from "../../../base/recently-used.ts";
import { reduceToJavaScript, type TransformOptions } from "./bundler.ts";

const MAX_MODULES = 200;
const MAX_CHARS = 32 * 1024 * 1024;

const OPTIONS: TransformOptions = {
  loader: "ts",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "silent",
  tsconfigRaw: { compilerOptions: {} },
};

/** Compiled modules by their text. */
const compiled = new RecentlyUsed<string, string>({ maxEntries: MAX_MODULES, maxWeight: MAX_CHARS });

/**
 * A generated module as plain JavaScript, a few lines for each tool. The types and descriptions, most of its text, are parsed
 * once for all programs that use it. Resolves with `undefined` for a module with an error.
 *
 * @throws BundlerOverwhelmed
 */
export async function compileModule(text: string): Promise<string | undefined> {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  try {
    const code = await reduceToJavaScript(text, OPTIONS);
    compiled.set(text, code, text.length + code.length);
    return code;
  } catch (error) {
    if (error instanceof Error && "errors" in error) return undefined;
    throw error;
  }
}
