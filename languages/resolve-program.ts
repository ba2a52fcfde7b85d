import { withoutMark } from "../base/file-text.ts";
import { findLanguage, type Language } from "./language.ts";
import type { Program } from "./program.ts";

/** A program from a caller, which may lack a language and a file name. */
export type UnresolvedProgram = Program | (Pick<Program, "code" | "data"> & Partial<Program>);

/**
 * Completes a program. If the caller names no language, the fences determine it. Without them, it is the language that the
 * program looks like if it cannot be in the first language, or else the first language.
 *
 * @param languages the possible languages, at least one.
 */
export async function resolveProgram(
  program: UnresolvedProgram,
  languages: readonly Language[],
): Promise<Program> {
  const { data, savedAs, files } = program;
  // Python refuses a program that begins with a byte order mark, which editors on Windows write.
  const code = withoutMark(program.code);
  const [first, ...others] = languages;
  const language = program.language ?? (await recognise(code, languages)) ?? first?.unnamed.language ?? "";
  const facts = findLanguage([...others, ...(first === undefined ? [] : [first])], language);
  const fileName = program.fileName ?? facts?.unnamed.fileName ?? "program";
  return {
    code,
    data,
    language,
    fileName,
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

/** Matches a program in the fences of a Markdown code block. It must not backtrack far, because programs can be long. */
const FENCED = /^(\s*)```[^\S\r\n]*([\w+-]*)[^\S\r\n]*(\r?\n[\s\S]*\n)[^\S\r\n]*```(\s*)$/;

/**
 * Removes the fences from a program that was submitted as a Markdown code block. Lines keep their numbers. No useful program
 * begins and ends with a fence: in JavaScript, each fence is a template literal that is called.
 */
export function withoutFences(code: string): string {
  const [, before, , inside, after] = FENCED.exec(code) ?? [];
  return inside === undefined ? code : `${before}${inside}${after}`;
}

/** Matches the fence that begins a code block. In programs, such a line stands in a template or in a text of several lines. */
const OPENING = /^```[\w+-]*[^\S\n]*\r?$/m;

/**
 * Advice for a text that is no program of any language because prose stands around a Markdown code block. `undefined` for any other
 * text.
 */
export function adviseOnProse(code: string): string | undefined {
  const opening = OPENING.exec(code);
  if (opening === null || /[`]|"""|'''/.test(code.slice(0, opening.index))) return undefined;
  return "give the program alone, without its fences and the text around them";
}

/** The language that the opening fence names, or `undefined` if there are no fences, or they name none. */
function fenceOf(code: string): string | undefined {
  return FENCED.exec(code)?.[2] || undefined;
}
