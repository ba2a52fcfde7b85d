import { PROGRAM_SCHEME } from "../protocol/paths.ts";
import type { Message } from "./bundler.ts";
import { declaredTools } from "./declared-tools.ts";
import { explainMissingExport } from "./missing-export.ts";
import type { ModuleSource } from "./module-source.ts";

/** The bundler names generated modules `<namespace>:<module>`, which nobody else is to see. */
export const GENERATED = "generated";

const MAX_ERRORS_SHOWN = 5;
const MAX_LINE_CHARS = 200;
const MISSING_EXPORT = new RegExp(`^No matching export in "${GENERATED}:([a-z0-9_]+)" for import "(.+)"$`);

/** What Python has and no JavaScript that could be parsed. Programs are long: no sign may look at a text twice. */
const PYTHON = [
  /^[ \t]*(?:async )?def \w+\(/m,
  /^[ \t]*(?:if|elif|else|for|while|try|except|with|class)\b[^{}\n]{0,200}:[ \t]{0,9}(?:#.*)?$/m,
  /^(?:import [\w.]+(?: as \w+)?|from [\w.]+ import [\w*,() ]+)$/m,
  /[(=,+][ \t]*f["']/,
];

/** Whether errors are only about exports that there are not, of which a type check says more. */
export function areMissingExports(messages: readonly Message[]): boolean {
  return messages.every(({ text }) => MISSING_EXPORT.test(text));
}

/** What is said of a program that cannot be bundled: places in its own lines, and what to do. */
export async function renderErrors(
  messages: readonly Message[],
  code: string,
  source: ModuleSource,
): Promise<string> {
  const shown = await Promise.all(
    messages.slice(0, MAX_ERRORS_SHOWN).map(async (message) => {
      const text = await explain(message, source);
      const { location } = message;
      if (location === null) return text;
      const line = location.lineText.trim().slice(0, MAX_LINE_CHARS);
      return `${showFile(location.file)}:${location.line}:${location.column + 1}: ${text}\n    ${line}`;
    }),
  );
  if (messages.length > shown.length) shown.push(`and ${messages.length - shown.length} more`);
  if (messages.every(isSyntax) && PYTHON.some((sign) => sign.test(code)))
    shown.push("this looks like Python: programs are TypeScript or JavaScript");
  return shown.join("\n");
}

/** Whether an error is about how the program is written. */
function isSyntax({ text, location, pluginName }: Message): boolean {
  const isOwn = location !== null && moduleOf(location.file) === undefined;
  return isOwn && pluginName === "" && !MISSING_EXPORT.test(text);
}

async function explain({ text, location }: Message, source: ModuleSource): Promise<string> {
  const [, module, name] = MISSING_EXPORT.exec(text) ?? [];
  if (module !== undefined && name !== undefined) {
    const tools = declaredTools(module, (await source.load(module)) ?? "");
    return explainMissingExport(module, name, localName(location) ?? module, tools);
  }
  if (text.startsWith("Top-level return"))
    return "a program cannot return at its top level; set globalThis.result instead";
  if (location !== null && moduleOf(location.file) !== undefined)
    return `this generated module is broken, run \`ptc generate\`: ${text}`;
  return text;
}

/** What the program calls an import: the bundler's columns and lengths are in bytes. */
function localName(location: Message["location"]): string | undefined {
  if (location === null) return undefined;
  const { lineText, column, length } = location;
  const name = Buffer.from(lineText)
    .subarray(column, column + length)
    .toString();
  return /^[\w$]+$/.test(name) && name !== "default" ? name : undefined;
}

function showFile(file: string): string {
  const module = moduleOf(file);
  if (module !== undefined) return `servers/${module}/index.ts`;
  const scheme = file.lastIndexOf(PROGRAM_SCHEME);
  return scheme === -1 ? file : file.slice(scheme + PROGRAM_SCHEME.length);
}

function moduleOf(file: string): string | undefined {
  return file.startsWith(`${GENERATED}:`) ? file.slice(GENERATED.length + 1) : undefined;
}
