import { findLanguage, type Language } from "./language.ts";
import type { Program } from "./program.ts";
import { fenceOf, withoutFences } from "./without-fences.ts";

/** A program whose language is not said, or one that says all. */
export type HandedIn = Program | (Pick<Program, "code" | "data"> & Partial<Program>);

/**
 * Says which language a program is in that does not say it itself: the one that its fences name or, where it cannot be one of
 * the first language, the one that it looks like; else the first.
 *
 * @param languages those that programs may be in, at least one.
 */
export async function settleProgram(program: HandedIn, languages: readonly Language[]): Promise<Program> {
  const { code, data, savedAs, files } = program;
  const [first, ...others] = languages;
  const language = program.language ?? (await recognise(code, languages)) ?? first?.unnamed.language ?? "";
  const facts = findLanguage([...others, ...(first === undefined ? [] : [first])], language);
  const fileName = program.fileName ?? facts?.unnamed.fileName ?? "program";
  return {
    ...{ code, data, language, fileName },
    ...(files === undefined ? {} : { files }),
    ...(savedAs === undefined ? {} : { savedAs }),
  };
}

async function recognise(code: string, [first, ...others]: readonly Language[]): Promise<string | undefined> {
  if (first === undefined || others.length === 0) return undefined;
  const fence = fenceOf(code)?.toLowerCase();
  for (const { names, suffixes } of [first, ...others]) {
    const named =
      fence === undefined ? undefined : (suffixes[`.${fence}`] ?? names.find((name) => name === fence));
    if (named !== undefined) return named;
  }
  const text = withoutFences(code);
  const likely = others.filter((language) => language.looksLike(text));
  if (likely.length === 0 || (await first.accepts(text))) return undefined;
  for (const language of likely) if (await language.accepts(text)) return language.unnamed.language;
  return undefined;
}
