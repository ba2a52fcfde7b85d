import type { ToolDeclaration } from "./tool-declaration.ts";

const MAX_SIGNATURE_CHARS = 600;

/** `name(arguments): Promise<output>` of a declared tool on one line, without comments, cut where it is very long. */
export function declaredSignature(tool: ToolDeclaration, moduleText: string): string {
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
