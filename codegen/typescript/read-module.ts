import { countNoun } from "../../base/quantities.ts";
import { quoteString } from "../escape.ts";
import type { GeneratedModule } from "../language-printer.ts";

/**
 * Reads the text of a printed module, or of an archived one, which marks each tool that programs may not call.
 *
 * @param callable namespaced names of the tools that programs may call. By default, the tools without a mark.
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

/** Inserts the same piece into a text at several places, given in order. */
function insert(text: string, places: readonly number[], piece: string): string {
  const from = [0, ...places];
  return from.map((start, i) => text.slice(start, from[i + 1])).join(piece);
}

const MAX_SIGNATURE_CHARS = 600;

/** Renders a declared tool as `name(arguments): Promise<output>` on one line, without comments, cut if it is very long. */
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

/** The declaration of a type in a module, on one line without comments. Resolves an alias. */
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

/** The type at the start of a text, up to its last closing bracket, without comments and line ends. */
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

/** The line that declares one tool in a module. */
export interface ToolDeclaration {
  identifier: string;
  /** Names of types. */
  input: string;
  output: string;
  namespacedName: string;
  /** The number of calls in which the output was observed. `undefined` if the tool declares its output. */
  observedCalls?: number | undefined;
  /** Whether the output is the value inside the server's wrapper `{result: ...}`. */
  isUnwrapped?: boolean | undefined;
}

const UNWRAPPED_MARK = " // unwrapped";

/** A declaration that was found in a module's text. */
interface FoundDeclaration extends ToolDeclaration {
  /** Whether it has the mark of a tool that programs may not call. */
  isMarked: boolean;
  /** The position of the line in the text, including its mark, in UTF-16 code units. */
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

/** The value of a literal of `quoteString`, which is JSON, or `undefined` for any other text. */
function readString(literal: string): string | undefined {
  try {
    return String(JSON.parse(literal));
  } catch {
    return undefined;
  }
}
