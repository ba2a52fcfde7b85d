import { listUpTo } from "../../base/visible-text.ts";
import type { DeclaredTool, GeneratedModule } from "../../codegen/language-printer.ts";
import { sandboxTable } from "../../codegen/python/read-module.ts";
import { MAX_CODE_BYTES } from "../../protocol/limits.ts";
import { duringPhase, type OnPhase } from "../../protocol/run-context.ts";
import { encodePythonBundle, type PythonBundle } from "../../protocol/runners.ts";
import { EXTRACT_SERVER, PROGRAMS_MODULE, ToolNames } from "../../protocol/tool-names.ts";
import { type CalledProgram, collectEarlier, collectPrograms } from "../called-programs.ts";
import { afterCheck, type FailureReason, type Preparation, type TypecheckOptions } from "../language.ts";
import type { ModuleSource } from "../module-source.ts";
import { explainUnlisted, mayExtract, nearestNames, offersExtract } from "../name-lookup.ts";
import type { Program } from "../program.ts";
import { blankTexts } from "./python-text.ts";
import type { PythonTypeChecker } from "./type-check/type-check-python.ts";

const MAX_LINE_CHARS = 200;
const MAX_LISTED_CHARS = 1_500;
const MAX_ERRORS_SHOWN = 5;

/**
 * Turns a program into a bundle for the Python runner, and checks its types. The host does not parse it: Python's parser runs
 * only in the sandbox.
 */
export async function preparePython(
  program: Program,
  source: ModuleSource,
  checker: PythonTypeChecker,
  { mode, patienceMs }: TypecheckOptions,
  onPhase?: OnPhase,
  earlier: readonly Program[] = [],
): Promise<Preparation> {
  const bytes = Buffer.byteLength(program.code);
  if (bytes > MAX_CODE_BYTES)
    return fail(`the program is ${bytes} bytes and at most ${MAX_CODE_BYTES} are taken; pass data as data`, [
      { code: "invalid_text" },
    ]);
  const { code } = blankTexts(program.code);
  const called = await collectPrograms(program, source, calledPythonPrograms);
  if (!called.ok) return fail(called.message, [{ code: "invalid_text" }]);
  const before = await collectEarlier(earlier, source, calledPythonPrograms);
  const saved = [...new Map([...before, ...called.programs]).values()];
  const texts = [program, ...saved].map((each) => each.code).join("\n");
  const unknown = findUnknownModules(code, source);
  if (unknown.length > 0) return refuseServers(unknown, program, source);
  const mentioned = mentionedModules(program.code, code, source);
  const names = [
    ...new Set([
      ...mentioned,
      ...saved.flatMap((each) => mentionedModules(each.code, blankTexts(each.code).code, source)),
      ...(saved.length === 0 ? [] : [PROGRAMS_MODULE]),
      ...(mayExtract(texts, source) ? [EXTRACT_SERVER] : []),
    ]),
  ];
  const loaded = await Promise.all(names.map(async (name) => [name, await source.load(name)] as const));
  const missing = loaded.find(([, module]) => module === undefined)?.[0];
  if (missing !== undefined && importedModules(code).some(({ module }) => module === missing))
    return fail(`servers.${missing} is missing or was edited${adviseGenerate(source)}`, [
      { code: "missing_module", module: missing },
    ]);
  const modules = loaded.flatMap(([name, module]): [string, GeneratedModule][] =>
    module === undefined ? [] : [[name, module]],
  );
  for (const each of [program, ...saved])
    for (const module of namedModules(each.code, new Map(modules))) source.named?.(module);
  const way = wayOf(code);
  const other = [...called.programs.values()].find((each) => wayOf(blankTexts(each.code).code) !== way);
  if (other !== undefined) return refuseOtherWay(other, program, way);
  const bundle = encodePythonBundle({
    mode: way,
    source: program.code,
    file_name: program.fileName,
    ...((await offersExtract(texts, source)) ? { extract: true } : {}),
    ...sandboxTable(modules),
    ...(saved.length === 0 ? {} : { programs: programsOf(saved) }),
  });
  // The check is about tools, so a program that mentions none is not checked.
  const checks =
    mode !== "off" &&
    (modules.length > 0 ||
      program.savedAs !== undefined ||
      /\bmcp__|\bcall_tool\b/.test(code) ||
      earlier.some((each) => /\bmcp__|\bcall_tool\b|\bservers\b/.test(each.code)));
  const checked = checks
    ? await duringPhase(onPhase, "type_check", () => checker.check(program, source, way, earlier, patienceMs))
    : undefined;
  return afterCheck(bundle, checked, mode);
}

/** The way of calling. A program without any `await` cannot wait for calls, so its calls block. */
function wayOf(code: string): PythonBundle["mode"] {
  return /\b(?:await|async)\b/.test(code) ? "async" : "sync";
}

function programsOf(saved: readonly CalledProgram[]): NonNullable<PythonBundle["programs"]> {
  return Object.fromEntries(
    saved.map(({ tool, code, fileName, output }) => [
      tool,
      { source: code, file_name: fileName, ...(output === undefined ? {} : { output }) },
    ]),
  );
}

/** Refuses a saved program with another way of calling, because all calls of a run either block or are awaited. */
function refuseOtherWay(
  { fileName, declared }: CalledProgram,
  { fileName: own }: Program,
  way: PythonBundle["mode"],
): Preparation {
  const message =
    way === "sync"
      ? `${fileName} awaits its calls and ${own} does not: write \`await ${declared.identifier}(...)\`, and await the other calls too`
      : `${own} awaits its calls and ${fileName} does not: write \`await\` before the calls of one, or in neither`;
  return fail(message, [{ code: "invalid_text" }]);
}

/** The imports of modules that do not exist, or none if the program handles their absence. */
function findUnknownModules(code: string, source: ModuleSource): ModuleImport[] {
  if (/\bexcept\b/.test(code)) return [];
  const known = source.modules();
  return importedModules(code).filter(({ module }) => !known.includes(module));
}

function refuseServers(
  unknown: readonly ModuleImport[],
  program: Program,
  source: ModuleSource,
): Preparation {
  const lines = program.code.split("\n");
  const shown = unknown.slice(0, MAX_ERRORS_SHOWN);
  const messages = shown.map(({ module, line }) => {
    const [nearest] = nearestNames(module, source.modules());
    const what =
      nearest === undefined
        ? `: a program can import ${listServers(source)}${adviseGenerate(source, " when a server was added")}`
        : `; did you mean servers.${nearest}?`;
    const text = lines[line - 1]?.trim().slice(0, MAX_LINE_CHARS);
    const message = explainUnlisted(module, source) ?? `there is no server module '${module}'${what}`;
    return `${program.fileName}:${line}: ${message}\n    ${text}`;
  });
  if (unknown.length > shown.length) messages.push(`and ${unknown.length - shown.length} more`);
  return fail(
    messages.join("\n"),
    shown.map(({ module }) => ({ code: "unknown_server", module })),
  );
}

function listServers(source: ModuleSource): string {
  const modules = source.modules();
  if (modules.length > 0) return `servers.<name> of ${listUpTo(modules, MAX_LISTED_CHARS)}`;
  return source.isRecord === true ? "no server modules" : "no server modules yet (run `ptc generate`)";
}

/** Advice to generate, which does not help a program that is checked against a record. */
function adviseGenerate({ isRecord }: ModuleSource, when = ""): string {
  return isRecord === true ? "" : `; run \`ptc generate\`${when}`;
}

function fail(message: string, reasons: readonly FailureReason[]): Preparation {
  return { ok: false, type: "BundleError", message, reasons };
}

const FROM = /^[ \t]*from[ \t]+(?:servers\.)?programs[ \t]+import[ \t]+(\([^)]*\)|[^\n;]*)/gm;
const WHOLE =
  /^[ \t]*(?:import[ \t][^\n;]*\b(?:servers\.)?programs\b|from[ \t]+servers[ \t]+import[ \t][^\n;]*\bprograms\b)/m;

/**
 * Finds the functions of saved programs that a program in Python calls: those that it imports, and those whose tools it names.
 *
 * @param byImport whether to find only those that are imported by name.
 */
function calledPythonPrograms<T extends Pick<DeclaredTool, "identifier" | "namespacedName">>(
  text: string,
  tools: readonly T[],
  byImport = false,
): T[] {
  const { code } = blankTexts(text);
  const imported = new Set<string>();
  for (const { 1: names = "" } of code.matchAll(FROM))
    for (const [name] of names.matchAll(/[A-Za-z_]\w*|\*/g)) imported.add(name);
  const isWhole = WHOLE.test(code) || imported.has("*");
  if (byImport) return tools.filter(({ identifier }) => imported.has(identifier));
  const named = new Set(text.match(/\bmcp__programs__\w+/g));
  return tools.filter(
    ({ identifier, namespacedName }) =>
      imported.has(identifier) ||
      named.has(namespacedName) ||
      (isWhole && new RegExp(`\\b${identifier}\\b`).test(code)),
  );
}

/** A server's module that a program imports. */
interface ModuleImport {
  module: string;
  /** Counted from 1. */
  line: number;
}

/** Matches `import servers.a, servers.b as c` and `from servers.a import x`. */
const IMPORTED = /^[ \t]*(?:import|from)[ \t]+([^\n;]*)/gm;
const FROM_SERVERS = /^[ \t]*from[ \t]+servers[ \t]+import[ \t]+(\([^)]*\)|[^\n;]*)/gm;

/**
 * The server modules that a program imports by name, in the order of its lines.
 *
 * @param code the program without its texts.
 */
function importedModules(code: string): ModuleImport[] {
  const found: (ModuleImport & { at: number })[] = [];
  const note = (module: string, at: number) => found.push({ module, line: lineOf(code, at), at });
  for (const { 1: names = "", index, 0: statement } of code.matchAll(IMPORTED)) {
    const start = index + statement.length - names.length;
    for (const { 1: module = "", index: at } of names.matchAll(/\bservers\.([A-Za-z0-9_]+)/g))
      note(module, start + at);
  }
  for (const { 1: names = "", index, 0: statement } of code.matchAll(FROM_SERVERS)) {
    const start = index + statement.length - names.length;
    for (const { 0: part, 1: module = "", index: at } of names.matchAll(
      /(?:^|[,(])[\s\\]*([A-Za-z_][A-Za-z0-9_]*)/g,
    ))
      note(module, start + at + part.length - module.length);
  }
  return found.sort((a, b) => a.at - b.at);
}

/**
 * The names of the server modules that a program may use: those that it names, or all if it may name one at run time.
 *
 * @param text the whole program.
 * @param code the program without its texts.
 */
function mentionedModules(text: string, code: string, source: ModuleSource): string[] {
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

/** The modules that a program certainly names: by an import, as a member of `servers`, or by the whole name of a tool. */
function namedModules(text: string, modules: ReadonlyMap<string, GeneratedModule>): string[] {
  const { code } = blankTexts(text);
  const tools = new ToolNames([...modules.values()].flatMap((module) => module.tools));
  const called = [...text.matchAll(/\bmcp__\w+/g)].flatMap(([name]) => {
    const [meant, another] = tools.resolve(name);
    return meant === undefined || another !== undefined ? [] : [meant.module];
  });
  const imported = importedModules(code).map(({ module }) => module);
  const taken = [...code.matchAll(/\bservers\.([a-z0-9_]+)/g)].map(([, module = ""]) => module);
  return [...new Set([...imported, ...taken, ...called])].filter((module) => modules.has(module));
}

/** Whether a program may compute the name of a module at run time, or use all modules. */
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
