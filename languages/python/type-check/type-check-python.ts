import { messageOf } from "../../../base/faults.ts";
import type { DeclaredTool, GeneratedModule } from "../../../codegen/language-printer.ts";
import { PYTHON_STUBS } from "../../../codegen/python/program-stubs.ts";
import { MAX_ERROR_MESSAGE_CHARS } from "../../../protocol/limits.ts";
import { EXTRACT_SERVER, PROGRAMS_MODULE } from "../../../protocol/tool-names.ts";
import type { LanguageProcesses, TypeCheckOutcome } from "../../language.ts";
import type { ModuleSource } from "../../module-source.ts";
import { mayExtract } from "../../name-lookup.ts";
import type { Program } from "../../program.ts";
import { explainHyphenated, explainUnknownTool, hyphenatedAround } from "../../tool-suggestions.ts";
import { type JudgedProgram, judgeFinding, ProgramText, type PythonMistake } from "./judge-finding.ts";
import {
  findPyright,
  type PyrightDiagnostic,
  PyrightProcess,
  whyPyrightIsMissing,
} from "./pyright-process.ts";

/** Whether a program awaits its calls, or calls block until they return. */
type CheckedMode = "async" | "sync";

/** The root where a program is checked: with all stubs, or aside, with the stubs for a second check. */
type CheckedRoot = CheckedMode | `aside-${CheckedMode}`;

function asideRoot(mode: CheckedMode): CheckedRoot {
  return `aside-${mode}`;
}

/** The most modules that one program is checked with. */
const MAX_MODULES = 60;

/** The stubs for checks. Modules stay, so that pyright has already read them when the next program uses them. */
class ShownStubs {
  readonly #shown = new Map<string, GeneratedModule>();
  /** The type of the last program's data. `undefined` means Any. */
  #dataType: string | undefined;

  get size(): number {
    return this.#shown.size;
  }

  /** Loads the modules that a program names, and returns them with all stubs for its check. */
  async show(code: string, source: ModuleSource, mode: CheckedMode, dataOf?: string) {
    const named = new Map<string, GeneratedModule>();
    for (const name of source.modules()) {
      const package_ = PYTHON_STUBS.moduleFile(name).split("/").at(-2) ?? name;
      const isNamed =
        new RegExp(`(?:\\b|mcp__)(?:${package_}|${name})(?:\\b|__)`).test(code) ||
        (name === EXTRACT_SERVER && mayExtract(code, source)) ||
        (name === PROGRAMS_MODULE && dataOf !== undefined);
      if (!isNamed || named.size >= MAX_MODULES) continue;
      const module = await (source.peek ?? source.load).call(source, name);
      if (module !== undefined) named.set(name, module);
    }
    for (const [name, module] of named) this.#shown.set(name, module);
    for (const name of this.#shown.keys()) if (!source.modules().includes(name)) this.#shown.delete(name);
    this.#dataType = named.get(PROGRAMS_MODULE)?.tools.find((each) => each.namespacedName === dataOf)?.input;
    return { named, files: this.files(mode), dataType: this.#dataType };
  }

  /** Every stub by its path. */
  files(mode: CheckedMode): Map<string, string> {
    return this.#print(mode, mode, (module) => ({ text: callableText(module, false), tools: module.tools }));
  }

  /**
   * The stubs that a program names, in a separate root, so that neither a second check nor the next program reads large modules
   * again.
   *
   * @param declaredOnly whether observed but undeclared results are Any.
   */
  aside(mode: CheckedMode, program: string, declaredOnly: boolean): Map<string, string> {
    const named = `${program}\n${this.#dataType ?? ""}`;
    return this.#print(asideRoot(mode), mode, (module) => {
      const tools = toolsNamedIn(module.tools, named);
      return { tools, text: namedDeclarations(callableText(module, declaredOnly), named, tools) };
    });
  }

  #print(
    root: CheckedRoot,
    mode: CheckedMode,
    show: (module: GeneratedModule) => Pick<GeneratedModule, "text" | "tools">,
  ): Map<string, string> {
    const files = new Map<string, string>();
    const tools: DeclaredTool[] = [];
    for (const [name, module] of this.#shown) {
      const shown = show(module);
      files.set(PYTHON_STUBS.moduleFile(name), PYTHON_STUBS.inMode(shown.text, mode));
      tools.push(...shown.tools.filter(({ isAvailable }) => isAvailable));
    }
    if (this.#shown.has(PROGRAMS_MODULE))
      files.set(`${PROGRAMS_MODULE}/__init__.pyi`, `from servers.${PROGRAMS_MODULE} import *\n`);
    files.set(PYTHON_STUBS.serversFile, PYTHON_STUBS.servers([...this.#shown.keys()]));
    files.set(PYTHON_STUBS.builtinsFile, declareData(PYTHON_STUBS.builtins(tools, mode), this.#dataType));
    return new Map([...files].map(([path, text]) => [`${root}/${path}`, text]));
  }
}

/** Declares the data of a saved program by its manifest. */
function declareData(builtins: string, type: string | undefined): string {
  if (type === undefined) return builtins;
  return builtins.replace("\ndata: Any\n", `\ndata: _servers.${PROGRAMS_MODULE}.${type}\n`);
}

/** A module's text without the functions that programs may not call. */
function callableText({ text, tools }: GeneratedModule, declaredOnly: boolean): string {
  let kept = "";
  let at = 0;
  for (const { start, end, isAvailable, isObserved } of tools) {
    if (isAvailable && !(declaredOnly && isObserved)) continue;
    kept += text.slice(at, start);
    if (isAvailable) kept += text.slice(start, end).replace(/\) -> [\p{XIDC}]+:/gu, ") -> Any:");
    at = end;
  }
  return kept + text.slice(at) + (declaredOnly ? "\nfrom typing import Any\n" : "");
}

/** A module's stubs with only the first signature of each function, so that pyright reports the mistake in a call. */
function withoutOverloads(text: string): string {
  return text
    .replace(/^@overload\n((?:async )?def [^(]+)\(arguments: .*\n/gm, "")
    .replace(
      /^@overload\n(?=((?:async )?def [^(]+)\((?:(?!^@overload$)[\s\S])*?(?=^(?!@overload$|[ )]|\n)))/gm,
      "",
    );
}

/** Matches the beginning of a declaration in a stub. An overload and its function are one declaration. */
const BEGINNING =
  /^(?=@overload|class |type |[\p{XIDS}_][\p{XIDC}]* ?[=:])|^(?<!@overload\n)(?=(?:async )?def )/mu;
const NAME = /^(?:@overload\n)?(?:class |type |(?:async )?def )?([\p{XIDS}_][\p{XIDC}]*)/u;
const WORD = /[\p{XIDS}_][\p{XIDC}]*/gu;

/** The tools that a program names, by their functions or as globals. */
export function toolsNamedIn(tools: readonly DeclaredTool[], program: string): DeclaredTool[] {
  const words = new Set(program.match(WORD));
  return tools.filter(
    ({ identifier, namespacedName }) =>
      words.has(identifier) || words.has(namespacedName.replace(/[^\p{XIDC}]/gu, "_")),
  );
}

/**
 * A module's stubs with only the declarations that a program names, directly or through others. Pyright reads them fast, however
 * large the module is.
 *
 * @param tools the module's tools that the program names.
 */
export function namedDeclarations(text: string, program: string, tools: readonly DeclaredTool[]): string {
  const blocks = text.split(BEGINNING).map((block) => ({ block, name: NAME.exec(block)?.[1] }));
  const byName = new Map<string, string[]>();
  for (const { block, name } of blocks.slice(1))
    if (name !== undefined) byName.set(name, [...(byName.get(name) ?? []), block]);
  const kept = new Set<string>();
  const left = [...(program.match(WORD) ?? []), ...tools.map(({ identifier }) => identifier)];
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (kept.has(name)) continue;
    kept.add(name);
    for (const block of byName.get(name) ?? []) left.push(...(block.match(WORD) ?? []));
  }
  return blocks
    .filter(({ name }, i) => i === 0 || name === undefined || kept.has(name))
    .map(({ block }) => block)
    .join("");
}

export interface PythonTypeChecker {
  /**
   * Finds mistakes that would fail at run time: wrong arguments of tools, results that are used before they are awaited, and
   * undefined names. Leaves syntax to Python. Checks run one at a time. A program that waits longer than a second runs unchecked.
   * The check of a saved program's text may take a minute. Never rejects.
   *
   * @param earlier the earlier programs of its session, whose names it can use.
   * @param patienceMs how long to wait instead, in milliseconds.
   */
  check(
    program: Program,
    modules: ModuleSource,
    mode: CheckedMode,
    earlier?: readonly Program[],
    patienceMs?: number,
  ): Promise<TypeCheckOutcome>;
  /** Prepares for the first check in advance. Never rejects. */
  warm(): Promise<void>;
  /** Ends the checker's process, even if it is busy. Never rejects. */
  close(): Promise<void>;
}

interface PythonTypeCheckerOptions extends LanguageProcesses {
  /** The longest time that a program waits for its check, in milliseconds. */
  limitMs?: number;
}

const LIMIT_MS = 1_000;

/** The limit for the text of a saved program, which does not run after its check. */
const SAVED_LIMIT_MS = 60_000;

/** How long a check may continue when nobody waits for it any more, so that the next check finds a warm checker. */
const KILL_AFTER_MS = 15_000;

/** The number of checks after which the process is restarted, to bound its memory of programs. */
const MAX_CHECKS = 500;
/** What pyright says of a program that awaits at its top, as it may. */
const AWAITS = /^(?:"await" allowed|Use of "async" not allowed)/;
const MAX_SHOWN_MODULES = 200;
const MAX_CHECKED_CHARS = 256 * 1024;
const MODES: readonly CheckedMode[] = ["async", "sync"];
const ROOTS: readonly CheckedRoot[] = [...MODES, ...MODES.map(asideRoot)];

/** A checker with one process of pyright, which starts on first use, and again after it died, was killed or grew too large. */
export function createPythonTypeChecker(options: PythonTypeCheckerOptions = {}): PythonTypeChecker {
  return new PyrightChecker(options);
}

class PyrightChecker implements PythonTypeChecker {
  readonly #options: PythonTypeCheckerOptions;
  #process: { process: PyrightProcess; stubs: ShownStubs; checks: number } | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: PythonTypeCheckerOptions) {
    this.#options = options;
  }

  check(
    program: Program,
    modules: ModuleSource,
    mode: CheckedMode,
    earlier: readonly Program[] = [],
    patienceMs?: number,
  ): Promise<TypeCheckOutcome> {
    const before = textBefore(earlier);
    if (before.length + program.code.length > MAX_CHECKED_CHARS)
      return Promise.resolve({
        kind: "unchecked",
        reason: `the program is longer than ${MAX_CHECKED_CHARS} characters`,
      });
    const { limitMs: usualMs = LIMIT_MS } = this.#options;
    const limitMs = patienceMs ?? (program.savedAs === undefined ? usualMs : SAVED_LIMIT_MS);
    const reason = `type checking took longer than ${limitMs} ms`;
    return this.#within(
      limitMs,
      this.#inTurn(() => this.#checkNow(program, modules, mode, before), Math.max(limitMs, KILL_AFTER_MS)),
      reason,
    );
  }

  async warm(): Promise<void> {
    await this.#inTurn(async () => {
      const { process, stubs } = await this.#start();
      for (const root of MODES) {
        process.write(stubs.files(root));
        await process.check(root, "import asyncio, json\nprint(json.dumps([1]))\n");
      }
      return { kind: "clean" };
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const process = this.#process?.process;
    this.#process = undefined;
    process?.kill();
    await Promise.all([process?.ended, this.#last]);
  }

  async #checkNow(
    program: Program,
    source: ModuleSource,
    mode: CheckedMode,
    before: string,
  ): Promise<TypeCheckOutcome> {
    const running = await this.#start();
    running.checks++;
    const { process, stubs } = running;
    const text = `${before}${program.code}`;
    const ofProgram = (all: readonly PyrightDiagnostic[]) => behind(all, before.split("\n").length - 1);
    const dataOf = program.savedAs?.data === "closed" ? program.savedAs.tool : undefined;
    const { named, files, dataType } = await stubs.show(text, source, mode, dataOf);
    process.write(files);
    let found = ofProgram(await process.check(mode, text));
    if (found.some(({ rule, isError, message }) => rule === undefined && isError && !AWAITS.test(message)))
      return { kind: "clean" };
    if (found.some(({ message }) => NO_OVERLOAD.test(message))) {
      // pyright names the wrong argument only if a function has one signature.
      const aside = stubs.aside(mode, text, false);
      found = withDetails(found, ofProgram(await checkSignatures(text, aside, mode, process)));
    }
    const programText = new ProgramText(program.code);
    const unknownTools = await explainUnknownTools(found, programText, source);
    const judged: JudgedProgram = { text: programText, modules: named, source, unknownTools, dataType };
    const judge = (all: readonly PyrightDiagnostic[]) =>
      mainMistakes(all.flatMap((each) => judgeFinding(each, judged) ?? []));
    const all = judge(found);
    const isSure = all.length === 0 || !hasObserved(named.values());
    const mistakes = isSure ? all : judge(ofProgram(await checkDeclared(text, mode, running)));
    if (mistakes.length === 0)
      return { kind: "clean", hints: renderHints(isSure ? [] : all, judged.text, program.fileName) };
    return {
      kind: "errors",
      message: renderMistakes(mistakes, judged.text, program.fileName),
      count: mistakes.length,
    };
  }

  #inTurn(work: () => Promise<TypeCheckOutcome>, killAfterMs = KILL_AFTER_MS): Promise<TypeCheckOutcome> {
    const turn = this.#last.then(async (): Promise<TypeCheckOutcome> => {
      const running = work();
      const kill = setTimeout(() => this.#process?.process.kill(), killAfterMs);
      kill.unref();
      try {
        return await running;
      } catch (error) {
        this.#drop();
        return { kind: "unchecked", reason: messageOf(error) };
      } finally {
        clearTimeout(kill);
        if (
          (this.#process?.checks ?? 0) >= MAX_CHECKS ||
          (this.#process?.stubs.size ?? 0) > MAX_SHOWN_MODULES
        )
          this.#drop();
      }
    });
    this.#last = turn;
    return turn;
  }

  #drop(): void {
    this.#process?.process.kill();
    this.#process = undefined;
  }

  async #start() {
    if (this.#process !== undefined) return this.#process;
    if (this.#closed) throw new Error("the type checker is closed");
    const pyright = findPyright();
    if (pyright === undefined) throw new Error(whyPyrightIsMissing());
    const process = new PyrightProcess(pyright, ROOTS, this.#options);
    const started = { process, stubs: new ShownStubs(), checks: 0 };
    this.#process = started;
    void process.ended.then(() => {
      if (this.#process === started) this.#process = undefined;
    });
    await process.start(ROOTS);
    return started;
  }

  async #within(limitMs: number, work: Promise<TypeCheckOutcome>, reason: string): Promise<TypeCheckOutcome> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<TypeCheckOutcome>((resolve) => {
      timer = setTimeout(() => resolve({ kind: "unchecked", reason }), limitMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

const MAX_UNKNOWN_TOOLS = 10;

/** What to say about the names of tools in findings that no tool has. */
async function explainUnknownTools(
  found: readonly PyrightDiagnostic[],
  text: ProgramText,
  source: ModuleSource,
): Promise<ReadonlyMap<string, string>> {
  const explained = new Map<string, string>();
  for (const { rule, start, end } of found) {
    if (rule !== "reportUndefinedVariable" || explained.size >= MAX_UNKNOWN_TOOLS) continue;
    const name = text.code.slice(text.offsetOf(start), text.offsetOf(end));
    const hyphenated = hyphenatedAround(text.code, text.offsetOf(start));
    const written = hyphenated === undefined ? undefined : await explainHyphenated(hyphenated, source);
    if (written !== undefined) explained.set(name, written);
    else if (name.startsWith("mcp__")) explained.set(name, await explainUnknownTool(name, source));
  }
  return explained;
}

/** The text before a session's program in its check, which has the names of earlier programs: whole lines, or empty. */
function textBefore(earlier: readonly Program[]): string {
  return earlier.map(({ code }) => `${code.replace(/\r\n?/g, "\n")}\n`).join("");
}

/** The findings after a number of lines, with places as if those lines were not there. */
function behind(found: readonly PyrightDiagnostic[], lines: number): PyrightDiagnostic[] {
  const moved = <T extends { line: number }>(place: T): T => ({ ...place, line: place.line - lines });
  return found
    .filter(({ start }) => start.line >= lines)
    .map((each) => ({ ...each, start: moved(each.start), end: moved(each.end) }));
}

/** Each mistake once, by place. An argument with a wrong name is not also reported as missing. */
function mainMistakes(mistakes: readonly PythonMistake[]): PythonMistake[] {
  const sorted = [...mistakes].sort((a, b) => a.start - b.start);
  const distinct = [...new Map(sorted.map((each) => [`${each.start} ${each.text}`, each])).values()];
  return distinct.filter(({ text }, i) => {
    const next = distinct[i + 1]?.text ?? "";
    const absent = /^('[^']+') is missing from /.exec(text)?.[1];
    return absent === undefined || !(/ is not a p/.test(next) && next.includes(`did you mean ${absent}`));
  });
}

const MAX_SHOWN = 5;
const MAX_LINE_CHARS = 200;
const MAX_TEXT_CHARS = 300;

/** Renders mistakes for a model: each with its place (from 1) and line, then the signatures of the tools that they concern. */
function renderMistakes(
  mistakes: readonly PythonMistake[],
  { code, lines }: ProgramText,
  fileName: string,
): string {
  const shown = mistakes.slice(0, MAX_SHOWN);
  const rendered = shown.flatMap(({ start, text }) => {
    const before = code.slice(0, start).split(/\r\n|\r|\n/);
    const column = (before.at(-1)?.length ?? 0) + 1;
    const line = (lines[before.length - 1] ?? "").trim().slice(0, MAX_LINE_CHARS);
    return [`${fileName}:${before.length}:${column}: ${text.slice(0, MAX_TEXT_CHARS)}`, `    ${line}`];
  });
  if (mistakes.length > shown.length) rendered.push(`and ${mistakes.length - shown.length} more`);
  for (const tool of new Set(shown.flatMap(({ tool }) => tool ?? []))) {
    const expected = `expected: ${tool.signature()}`;
    if ([...rendered, expected].join("\n").length <= MAX_ERROR_MESSAGE_CHARS) rendered.push(expected);
  }
  return rendered.join("\n").slice(0, MAX_ERROR_MESSAGE_CHARS);
}

/** The most hints for one program. */
const MAX_HINTS = 3;
const MAX_HINT_CHARS = 300;

/** Whether results of tools were observed and not declared. A contradiction to them is not a mistake. */
function hasObserved(modules: Iterable<GeneratedModule>): boolean {
  return [...modules].some(({ tools }) => tools.some((tool) => tool.isAvailable && tool.isObserved));
}

/** The findings in a program by declared types only. */
async function checkDeclared(
  code: string,
  mode: CheckedMode,
  { process, stubs }: { process: PyrightProcess; stubs: ShownStubs },
): Promise<PyrightDiagnostic[]> {
  const declared = stubs.aside(mode, code, true);
  process.write(declared);
  const found = await process.check(asideRoot(mode), `${code}\n\n`);
  return found.some(({ message }) => NO_OVERLOAD.test(message))
    ? withDetails(found, await checkSignatures(code, declared, mode, process))
    : found;
}

/** The findings if each function has one signature, so that pyright names the wrong argument. */
async function checkSignatures(
  code: string,
  aside: ReadonlyMap<string, string>,
  mode: CheckedMode,
  process: PyrightProcess,
): Promise<PyrightDiagnostic[]> {
  process.write(new Map([...aside].map(([path, text]) => [path, withoutOverloads(text)])));
  return process.check(asideRoot(mode), `${code}\n`);
}

/** Renders contradictions to the results observed so far, one line each. */
function renderHints(mistakes: readonly PythonMistake[], { code }: ProgramText, fileName: string): string[] {
  return mistakes.slice(0, MAX_HINTS).map(({ start, text }) => {
    const line = code.slice(0, start).split(/\r\n|\r|\n/).length;
    return `by the results observed so far, which may not be all there are, at ${fileName}:${line}: ${text.slice(0, MAX_HINT_CHARS)}`;
  });
}

/** Matches the message that a call fits none of a function's signatures. */
const NO_OVERLOAD = /^No overloads for /;

/** Replaces findings about calls without a matching signature by those of a second check. */
function withDetails(
  found: readonly PyrightDiagnostic[],
  again: readonly PyrightDiagnostic[],
): PyrightDiagnostic[] {
  return found.flatMap((each) => {
    if (!NO_OVERLOAD.test(each.message)) return [each];
    const isWithin = ({ start }: PyrightDiagnostic): boolean =>
      isBefore(each.start, start) && isBefore(start, each.end);
    return again.filter(
      (other) => isWithin(other) && ["reportCallIssue", "reportArgumentType"].includes(other.rule ?? ""),
    );
  });
}

function isBefore(a: PyrightDiagnostic["start"], b: PyrightDiagnostic["start"]): boolean {
  return a.line < b.line || (a.line === b.line && a.character <= b.character);
}
