import { countNoun } from "../../base/quantities.ts";
import { quoteString } from "../escape.ts";

/** The line with which a module declares one tool. */
export interface ToolDeclaration {
  identifier: string;
  /** Names of types. */
  input: string;
  output: string;
  namespacedName: string;
  /** In how many calls the output was observed; `undefined` where the tool declares what it returns. */
  observedCalls?: number | undefined;
  /** Whether the output is what the server wraps as `{result: ...}`. */
  isUnwrapped?: boolean | undefined;
}

const UNWRAPPED_MARK = " // unwrapped";

/** A declaration that was found in a module's text. */
export interface FoundDeclaration extends ToolDeclaration {
  /** Whether it bears the mark of a tool that programs may not call. */
  isMarked: boolean;
  /** Where the line is in the text, with its mark, in UTF-16 code units. */
  start: number;
  end: number;
}

/** Follows the declaration of a tool that programs may not call, in an archived module. */
export const UNAVAILABLE_MARK = " // not available";

const DECLARATION =
  /^export const ([\w$]+) = tool<([^<>,\n]+), ([^<>,\n]+)>\(("(?:[^"\\\n]|\\.)*")\);(?: \/\/ observed in (\d+) calls?)?( \/\/ unwrapped)?( \/\/ not available)?$/gm;

export function printToolDeclaration(declared: ToolDeclaration): string {
  const { identifier, input, output, namespacedName, observedCalls, isUnwrapped = false } = declared;
  const mark = observedCalls === undefined ? "" : ` // observed in ${countNoun(observedCalls, "call")}`;
  return `export const ${identifier} = tool<${input}, ${output}>(${quoteString(namespacedName)});${mark}${isUnwrapped ? UNWRAPPED_MARK : ""}`;
}

/** The declarations in a module's text, in order. Takes time linear in the text. */
export function readToolDeclarations(text: string): FoundDeclaration[] {
  return [...text.matchAll(DECLARATION)].flatMap((match) => {
    const [line, identifier = "", input = "", output = "", literal = "", calls, unwrapped, mark] = match;
    const namespacedName = readString(literal);
    if (!namespacedName?.startsWith("mcp__")) return [];
    const place = { start: match.index, end: match.index + line.length };
    const observed = calls === undefined ? {} : { observedCalls: Number(calls) };
    const marks = { isUnwrapped: unwrapped !== undefined, isMarked: mark !== undefined };
    return [{ identifier, input, output, namespacedName, ...observed, ...marks, ...place }];
  });
}

/** The value of a literal that `quoteString` wrote, which is JSON; `undefined` for any other. */
function readString(literal: string): string | undefined {
  try {
    return String(JSON.parse(literal));
  } catch {
    return undefined;
  }
}
