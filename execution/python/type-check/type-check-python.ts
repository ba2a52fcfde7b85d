import { messageOf } from "../../../base/error-message.ts";
import { MAX_ERROR_MESSAGE_CHARS } from "../../../protocol/limits.ts";
import type { ModuleSource } from "../../prepare/module-source.ts";
import type { Program } from "../../program.ts";
import { ProgramText } from "./checked-text.ts";
import { judgeFinding, type PythonMistake } from "./judge-finding.ts";
import type { JudgedProgram } from "./named-tools.ts";
import { checkDeclared, checkSignatures, hasObserved, renderHints } from "./observed-results.ts";
import {
  type CheckerObserver,
  findPyright,
  type PyrightDiagnostic,
  PyrightProcess,
  whyPyrightIsMissing,
} from "./pyright-process.ts";
import { NO_OVERLOAD, withDetails } from "./second-look.ts";
import {
  asideRoot,
  type CheckedMode,
  type CheckedRoot,
  ShownStubs,
  type StubPrinter,
} from "./shown-stubs.ts";

/** What is known of a program's types. */
type PythonCheckOutcome =
  /** `hints` is for a model: what contradicts results as they were observed so far, one line each. */
  | { kind: "clean"; hints?: readonly string[] }
  /** `message` is for a model: places, lines, what is wrong and what is expected. */
  | { kind: "errors"; message: string; count: number }
  /** The program could not be checked, for reasons other than its types. */
  | { kind: "unchecked"; reason: string };

export interface PythonTypeChecker {
  /**
   * Finds mistakes that would fail when the program runs: wrong arguments of tools, results that are used before they are
   * awaited, names that are not defined. Syntax is left to Python. Checks run one at a time. A program that waited longer than a
   * second runs unchecked. That of a saved program's text may take a minute. Never rejects.
   *
   * @param earlier the programs of its session, whose names it finds.
   * @param patienceMs how long to wait instead, in milliseconds.
   */
  check(
    program: Program,
    modules: ModuleSource,
    mode: CheckedMode,
    earlier?: readonly Program[],
    patienceMs?: number,
  ): Promise<PythonCheckOutcome>;
  /** Starts in advance what the first check would otherwise wait for. Never rejects. */
  warm(): Promise<void>;
  /** Ends the checker's process, even while it works. Never rejects. */
  close(): Promise<void>;
}

interface PythonTypeCheckerOptions extends CheckerObserver {
  stubs: StubPrinter;
  /** How long a program waits for its check at most, in milliseconds. */
  limitMs?: number;
}

const LIMIT_MS = 1_000;

/** The same for the text of a saved program, which is checked and does not run. */
const SAVED_LIMIT_MS = 60_000;

/** How long a check may go on that nobody waits for any more, so that the next finds a checker that is warm. */
const KILL_AFTER_MS = 15_000;

/** Checks after which the process is started anew, so that what it remembers of programs stays bounded. */
const MAX_CHECKS = 500;
const MAX_SHOWN_MODULES = 200;
const MAX_CHECKED_CHARS = 256 * 1024;
const MODES: readonly CheckedMode[] = ["async", "sync"];
const ROOTS: readonly CheckedRoot[] = [...MODES, ...MODES.map(asideRoot)];

/** A checker with one process of pyright, started on first use, and again after it died, was killed or has grown. */
export function createPythonTypeChecker(options: PythonTypeCheckerOptions): PythonTypeChecker {
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
  ): Promise<PythonCheckOutcome> {
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
  ): Promise<PythonCheckOutcome> {
    const running = await this.#start();
    running.checks++;
    const { process, stubs } = running;
    const text = `${before}${program.code}`;
    const ofProgram = (all: readonly PyrightDiagnostic[]) => behind(all, before.split("\n").length - 1);
    const dataOf = program.savedAs?.data === "closed" ? program.savedAs.tool : undefined;
    const { named, files, dataType } = await stubs.show(text, source, mode, dataOf);
    process.write(files);
    let found = ofProgram(await process.check(mode, text));
    if (
      found.some(
        ({ rule, isError, message }) => rule === undefined && isError && !/^"await" allowed/.test(message),
      )
    )
      return { kind: "clean" };
    if (found.some(({ message }) => NO_OVERLOAD.test(message))) {
      // Which argument is wrong is told only where a function has one signature.
      const aside = stubs.aside(mode, text, false);
      found = withDetails(found, ofProgram(await checkSignatures(text, aside, mode, process)));
    }
    const judged: JudgedProgram = { text: new ProgramText(program.code), modules: named, source, dataType };
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

  #inTurn(work: () => Promise<PythonCheckOutcome>, killAfterMs = KILL_AFTER_MS): Promise<PythonCheckOutcome> {
    const turn = this.#last.then(async (): Promise<PythonCheckOutcome> => {
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
    const started = { process, stubs: new ShownStubs(this.#options.stubs), checks: 0 };
    this.#process = started;
    void process.ended.then(() => {
      if (this.#process === started) this.#process = undefined;
    });
    await process.start(ROOTS);
    return started;
  }

  async #within(
    limitMs: number,
    work: Promise<PythonCheckOutcome>,
    reason: string,
  ): Promise<PythonCheckOutcome> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<PythonCheckOutcome>((resolve) => {
      timer = setTimeout(() => resolve({ kind: "unchecked", reason }), limitMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** What a program of a session is checked behind, so that it finds the names of those before it: whole lines, or nothing. */
function textBefore(earlier: readonly Program[]): string {
  return earlier.map(({ code }) => `${code.replace(/\r\n?/g, "\n")}\n`).join("");
}

/** The findings behind a number of lines, placed as if those were not there. */
function behind(found: readonly PyrightDiagnostic[], lines: number): PyrightDiagnostic[] {
  const moved = <T extends { line: number }>(place: T): T => ({ ...place, line: place.line - lines });
  return found
    .filter(({ start }) => start.line >= lines)
    .map((each) => ({ ...each, start: moved(each.start), end: moved(each.end) }));
}

/** Each mistake once, by place. Of an argument that goes by a wrong name, it is not told that it is missing, too. */
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

/** Mistakes for a model: each with its place (from 1) and line, then the signatures of the tools that they are about. */
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
