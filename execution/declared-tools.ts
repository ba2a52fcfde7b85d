import type { NamedTool } from "../protocol/tool-alias.ts";

/** A tool as its generated module declares it. */
export interface DeclaredTool extends NamedTool {
  input: string;
  output: string;
  /** Whether programs may call it. */
  isAvailable: boolean;
}

const MAX_SIGNATURE_CHARS = 600;
const FUNCTION =
  /^export const (\w+) = tool<([^<>]*?), ([^<>]*?)>\("(mcp__[^"\\]+)"\);( \/\/ not available)?$/gm;
/** Part of the text, so that a program is judged by it now and whenever it runs again. */
const UNAVAILABLE = " // not available";

/** The tools of a generated module's text, in its order. */
export function declaredTools(module: string, text: string): DeclaredTool[] {
  return [...text.matchAll(FUNCTION)].map(
    ([, identifier = "", input = "", output = "", namespacedName = "", mark]) => ({
      module,
      identifier,
      namespacedName,
      input,
      output,
      isAvailable: mark === undefined,
    }),
  );
}

/** A generated module's text with a mark at each tool that programs may not call. */
export function markUnavailable(text: string, isAvailable: (namespacedName: string) => boolean): string {
  return text.replace(FUNCTION, (line, _identifier, _input, _output, name: string, mark?: string) =>
    mark !== undefined || isAvailable(name) ? line : line + UNAVAILABLE,
  );
}

/** A generated module's text with only the functions that programs may call. */
export function withoutUnavailable(text: string): string {
  return text.replace(FUNCTION, (line, _identifier, _input, _output, _name, mark?: string) =>
    mark === undefined ? line : "",
  );
}

/** What is said of a tool that the configuration keeps from programs. */
export function explainUnavailable(tool: DeclaredTool): string {
  return `'${tool.namespacedName}' is not available in execute_program: the configuration does not allow it`;
}

/** `name(arguments): Promise<output>` of a tool on one line, without comments, cut where it is very long. */
export function signatureOf(tool: DeclaredTool, moduleText: string): string {
  const input = declarationOf(tool.input, moduleText) ?? tool.input;
  const output = declarationOf(tool.output, moduleText) ?? tool.output;
  const optional = /^\{(?: [\w$"-]+\?:| \[k: string\]:|\s*\})/.test(input) && !/[{;] [\w$"-]+: /.test(input);
  const parameters = input.startsWith("{") ? input : `args${optional ? "?" : ""}: ${input}`;
  const call = `${tool.identifier}(${parameters})`;
  if (call.length > MAX_SIGNATURE_CHARS) return `${call.slice(0, MAX_SIGNATURE_CHARS)}...`;
  const whole = `${call}: Promise<${output}>`;
  return whole.length > MAX_SIGNATURE_CHARS ? `${call}: Promise<...>` : whole;
}

/** What a type is declared as in a module, on one line without comments. */
function declarationOf(name: string, moduleText: string): string | undefined {
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
