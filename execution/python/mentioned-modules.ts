import type { ModuleSource } from "../prepare/module-source.ts";

/** A server's module that a program imports. */
export interface ModuleImport {
  module: string;
  /** Counted from 1. */
  line: number;
}

/** `import servers.a, servers.b as c` and `from servers.a import x`. */
const IMPORTED = /^[ \t]*(?:import|from)[ \t]+([^\n;]*)/gm;
const FROM_SERVERS = /^[ \t]*from[ \t]+servers[ \t]+import[ \t]+(\([^)]*\)|[^\n;]*)/gm;

/**
 * The server modules that a program imports by name, in the order of its lines.
 *
 * @param code the program without its texts.
 */
export function importedModules(code: string): ModuleImport[] {
  const found: (ModuleImport & { at: number })[] = [];
  const note = (module: string, at: number) => found.push({ module, line: lineOf(code, at), at });
  for (const { 1: names = "", index, 0: statement } of code.matchAll(IMPORTED)) {
    const start = index + statement.length - names.length;
    for (const { 1: module = "", index: at } of names.matchAll(/\bservers\.([A-Za-z0-9_]+)/g))
      note(module, start + at);
  }
  for (const { 1: names = "", index, 0: statement } of code.matchAll(FROM_SERVERS)) {
    const start = index + statement.length - names.length;
    for (const { 1: module = "", index: at } of names.matchAll(/(?:^|[,(])[\s\\]*([A-Za-z_][A-Za-z0-9_]*)/g))
      note(module, start + at);
  }
  return found.sort((a, b) => a.at - b.at);
}

/**
 * The names of the server modules that a program may use: those that it names, or all, where it may name one at run time.
 *
 * @param text the whole program.
 * @param code the program without its texts.
 */
export function mentionedModules(text: string, code: string, source: ModuleSource): string[] {
  const all = source.modules();
  const tools = new Set([...text.matchAll(/\bmcp__(\w+)/g)].map(([, rest = ""]) => rest));
  const imported = new Set(importedModules(code).map(({ module }) => module));
  const named = new Set([...text.matchAll(/\bservers\.([a-z0-9_]+)/g)].map(([, module]) => module));
  if (mayNameAny(text, code)) return [...all];
  return all.filter(
    (module) =>
      imported.has(module) || named.has(module) || [...tools].some((rest) => rest.startsWith(`${module}__`)),
  );
}

/** Whether the name of a module may be made at run time, or all of them be taken. */
function mayNameAny(text: string, code: string): boolean {
  if (/\bservers\.(?![A-Za-z0-9_])|\bservers[ \t]+import[ \t]+\*/.test(text)) return true;
  const rest = code.replace(FROM_SERVERS, "").replace(/^[ \t]*import[ \t]+servers[ \t]*(?=\n|;|$)/gm, "");
  return /\bservers\b(?![ \t]*\.|[ \t]*=[^=])/.test(rest) || /\b(?:import_module|__import__)\b/.test(code);
}

function lineOf(code: string, at: number): number {
  let line = 1;
  for (let end = code.indexOf("\n"); end !== -1 && end < at; end = code.indexOf("\n", end + 1)) line++;
  return line;
}
