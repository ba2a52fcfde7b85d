import { MAX_ERROR_MESSAGE_CHARS } from "../../../protocol/limits.ts";
import type { TypeMistake } from "./rules.ts";

const MAX_ERRORS_SHOWN = 5;
const MAX_LINE_CHARS = 200;
const MAX_TEXT_CHARS = 300;

/**
 * Renders mistakes for a model: each with its place (from 1, columns in UTF-16 code units) and line, then the signatures of
 * the tools concerned. Never longer than an envelope's message may be.
 */
export function renderFindings(findings: readonly TypeMistake[], code: string, fileName: string): string {
  const shown = findings.slice(0, MAX_ERRORS_SHOWN);
  const lines = shown.flatMap(({ start, text }) => {
    const { line, column, lineText } = placeOf(code, start);
    return [`${fileName}:${line}:${column}: ${cut(text)}`, `    ${excerpt(lineText, column)}`];
  });
  if (findings.length > shown.length) lines.push(`and ${findings.length - shown.length} more`);
  const tools = new Set(shown.flatMap(({ tool }) => tool ?? []));
  for (const tool of tools) {
    const line = `expected: ${tool.signature()}`;
    if ([...lines, line].join("\n").length <= MAX_ERROR_MESSAGE_CHARS) lines.push(line);
  }
  return lines.join("\n").slice(0, MAX_ERROR_MESSAGE_CHARS);
}

/** The most hints that are told of one program. */
const MAX_HINTS = 3;

/** What contradicts results as they were observed so far, a line each. It may be right, and stops nothing. */
export function renderTypeHints(findings: readonly TypeMistake[], code: string, fileName: string): string[] {
  return findings.slice(0, MAX_HINTS).map(({ start, text }) => {
    const { line, column } = placeOf(code, start);
    return `by the results observed so far, which may not be all there are, at ${fileName}:${line}:${column}: ${cut(text)}`;
  });
}

function placeOf(code: string, start: number): { line: number; column: number; lineText: string } {
  const before = code.slice(0, start).split(/\r\n|[\n\r\u2028\u2029]/);
  const lineStart = start - (before.at(-1)?.length ?? 0);
  const [lineText = ""] = code.slice(lineStart).split(/[\n\r\u2028\u2029]/, 1);
  return { line: before.length, column: start - lineStart + 1, lineText };
}

function cut(text: string): string {
  return text.length <= MAX_TEXT_CHARS ? text : `${text.slice(0, MAX_TEXT_CHARS)}...`;
}

/** The line, or the part around a column of a long one. */
function excerpt(line: string, column: number): string {
  if (line.trim().length <= MAX_LINE_CHARS) return line.trim();
  const from = Math.max(0, column - MAX_LINE_CHARS / 2);
  return `${from > 0 ? "..." : ""}${line.slice(from, from + MAX_LINE_CHARS).trim()}...`;
}
