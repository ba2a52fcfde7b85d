import type { Parser, Token } from "acorn";
import { PROGRAM_SCHEME } from "../../../protocol/runners.ts";
import type { Program } from "../../program.ts";

/** Longer programs go to the bundler, which is a separate process. */
const MAX_CHARS = 64 * 1024;

/**
 * Matches text that the bundler may have to transform: modules and signs of CommonJS, global tool names, and comments that refer
 * debuggers to another source.
 */
const BUNDLERS_WORK = /\b(?:import|export|require|module|exports|this)\b|\bmcp__|[#@] ?source/;

/**
 * The bundle of a plain JavaScript program without imports: its own text, with a source map that maps each token to itself.
 * `undefined` for any other program, and for one with an error, which the bundler describes.
 */
export async function bundleVerbatim({ code, fileName, language }: Program): Promise<string | undefined> {
  if (code.length > MAX_CHARS || BUNDLERS_WORK.test(code)) return undefined;
  const { Parser } = await import("acorn");
  const tokens = readTokens(Parser, code);
  if (tokens === undefined) return undefined;
  if (language === "typescript" && mayHaveTypeArguments(tokens, code)) return undefined;
  const map = {
    version: 3,
    sources: [`${PROGRAM_SCHEME}${fileName}`],
    names: [],
    mappings: mapTokens(tokens),
  };
  const encoded = Buffer.from(JSON.stringify(map)).toString("base64");
  return `${code}\n//# sourceMappingURL=data:application/json;base64,${encoded}\n`;
}

function readTokens(parser: typeof Parser, code: string): Token[] | undefined {
  const tokens: Token[] = [];
  try {
    parser.parse(code, { ecmaVersion: "latest", sourceType: "module", locations: true, onToken: tokens });
    return tokens;
  } catch {
    return undefined;
  }
}

/** Whether a program may have type arguments: `f<A>(b)` has two comparisons in JavaScript, and is a call in TypeScript. */
function mayHaveTypeArguments(tokens: readonly Token[], code: string): boolean {
  const texts = tokens.map(({ start, end }) => code.slice(start, end));
  const opening = texts.indexOf("<");
  return opening >= 0 && texts.slice(opening).some((text) => /^>+$/.test(text));
}

/** The mappings of a source map (ECMA-426, section 10) that maps each token to its own place. */
function mapTokens(tokens: readonly Token[]): string {
  let mappings = "";
  let line = 1;
  let column = 0;
  let sourceLine = 1;
  let sourceColumn = 0;
  for (const { loc } of tokens) {
    if (loc == null) continue;
    const { start } = loc;
    if (start.line > line) {
      mappings += ";".repeat(start.line - line);
      line = start.line;
      column = 0;
    } else if (mappings !== "") mappings += ",";
    mappings +=
      encodeVlq(start.column - column) +
      encodeVlq(0) +
      encodeVlq(start.line - sourceLine) +
      encodeVlq(start.column - sourceColumn);
    column = start.column;
    sourceLine = start.line;
    sourceColumn = start.column;
  }
  return mappings;
}

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Encodes a number as base64 digits of five bits each, with the sign in the lowest bit. */
function encodeVlq(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1;
  let digits = "";
  do {
    const digit = rest & 31;
    rest >>>= 5;
    digits += BASE64[rest > 0 ? digit | 32 : digit];
  } while (rest > 0);
  return digits;
}
