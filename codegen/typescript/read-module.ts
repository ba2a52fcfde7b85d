import { countNoun } from "../../base/quantities.ts";
import { quoteString } from "../escape.ts";
import type { GeneratedModule } from "../language-printer.ts";

/**
 * Reads the text of a module back: as it was printed, or as it was archived, with a mark at each tool that programs may not
 * call.
 *
 * @param callable namespaced names of the tools that programs may call; by default those without a mark.
 */
export function readModule(module: string, text: string, callable?: ReadonlySet<string>): GeneratedModule {
  const declarations = readToolDeclarations(text);
  const isAvailable = (declared: (typeof declarations)[number]): boolean =>
    !declared.isMarked && (callable === undefined || callable.has(declared.namespacedName));
  const marks = declarations.filter((declared) => !declared.isMarked && !isAvailable(declared));
  return {
    text,
    tools: declarations.map((declared) => {
      const { identifier, input, output, namespacedName, start, end } = declared;
      return {
        module,
        identifier,
        namespacedName,
        input,
        output,
        isObserved: declared.observedCalls !== undefined,
        isUnwrapped: declared.isUnwrapped === true,
        isAvailable: isAvailable(declared),
        start,
        end,
        signature: () => declaredSignature(declared, text),
      };
    }),
    archived: insert(
      text,
      marks.map(({ end }) => end),
      UNAVAILABLE_MARK,
    ),
  };
}

/** Puts the same piece into a text at several places, given in their order. */
function insert(text: string, places: readonly number[], piece: string): string {
  const from = [0, ...places];
  return from.map((start, i) => text.slice(start, from[i + 1])).join(piece);
}

const MAX_SIGNATURE_CHARS = 600;

/** `name(arguments): Promise<output>` of a declared tool on one line, without comments, cut where it is very long. */
function declaredSignature(tool: ToolDeclaration, moduleText: string): string {
  const input = declarationOf(tool.input, moduleText) ?? tool.input;
  const output = declarationOf(tool.output, moduleText) ?? tool.output;
  const optional = /^\{(?: [\w$"-]+\?:| \[k: string\]:|\s*\})/.test(input) && !/[{;] [\w$"-]+: /.test(input);
  const parameters = input.startsWith("{") ? input : `args${optional ? "?" : ""}: ${input}`;
  const call = `${tool.identifier}(${parameters})`;
  if (call.length > MAX_SIGNATURE_CHARS) return `${call.slice(0, MAX_SIGNATURE_CHARS)}...`;
  const whole = `${call}: Promise<${output}>`;
  return whole.length > MAX_SIGNATURE_CHARS ? `${call}: Promise<...>` : whole;
}

/** What a type is declared as in a module, on one line without comments. Of another name for a type, what that is declared as. */
function declarationOf(name: string, moduleText: string): string | undefined {
  const declared = declaredAs(name, moduleText);
  return declared === undefined ? undefined : (declaredAs(declared, moduleText) ?? declared);
}

function declaredAs(name: string, moduleText: string): string | undefined {
  if (!/^\w+$/.test(name)) return undefined;
  const declared = new RegExp(`^export (?:interface ${name} (?=\\{)|type ${name} = )`, "m").exec(moduleText);
  if (declared === null) return undefined;
  return compact(moduleText.slice(declared.index + declared[0].length));
}

/** One type from the start of a text: up to where its brackets are closed, comments and line ends taken out. */
function compact(text: string): string {
  let depth = 0;
  let out = "";
  const token = /"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|\/\*[\s\S]*?\*\/|\/\/.*|\s+|[\s\S]/g;
  for (const [piece] of text.matchAll(token)) {
    if (piece.startsWith("/*") || piece.startsWith("//")) continue;
    if (depth === 0 && (piece === ";" || (piece.includes("\n") && out.endsWith("}")))) break;
    if ("([{".includes(piece)) depth++;
    if (")]}".includes(piece)) depth--;
    if (/^\s/.test(piece)) out += out.endsWith(" ") ? "" : " ";
    else if (piece === "}") out = `${out.replace(/;? $/, " ")}}`;
    else out += piece;
    if (out.length > 4 * MAX_SIGNATURE_CHARS) break;
  }
  return out.trim();
}

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
interface FoundDeclaration extends ToolDeclaration {
  /** Whether it bears the mark of a tool that programs may not call. */
  isMarked: boolean;
  /** Where the line is in the text, with its mark, in UTF-16 code units. */
  start: number;
  end: number;
}

/** Follows the declaration of a tool that programs may not call, in an archived module. */
const UNAVAILABLE_MARK = " // not available";

const DECLARATION =
  /^export const ([\w$]+) = tool<([^<>,\n]+), ([^<>,\n]+)>\(("(?:[^"\\\n]|\\.)*")\);(?: \/\/ observed in (\d+) calls?)?( \/\/ unwrapped)?( \/\/ not available)?$/gm;

export function printToolDeclaration(declared: ToolDeclaration): string {
  const { identifier, input, output, namespacedName, observedCalls, isUnwrapped = false } = declared;
  const mark = observedCalls === undefined ? "" : ` // observed in ${countNoun(observedCalls, "call")}`;
  return `export const ${identifier} = tool<${input}, ${output}>(${quoteString(namespacedName)});${mark}${isUnwrapped ? UNWRAPPED_MARK : ""}`;
}

/** The declarations in a module's text, in order. Takes time linear in the text. */
function readToolDeclarations(text: string): FoundDeclaration[] {
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
