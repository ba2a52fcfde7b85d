import { messageOf } from "../../base/faults.ts";
import { inTime, orAborted, whenAborted } from "../../base/waiting.ts";
import type { Failure } from "../../protocol/failure.ts";
import { duringPhase, type OnPhase } from "../../protocol/run-context.ts";
import { collectEarlier } from "../called-programs.ts";
import type { FailureReason } from "../failure-reason.ts";
import { adviseOnUnwrapped, findFunctions, isTool } from "../find-functions.ts";
import type { Language, Preparation, TypecheckOptions } from "../language.ts";
import type { ModuleSource } from "../module-source.ts";
import { nameServers } from "../name-servers.ts";
import type { Program } from "../program.ts";
import { adviseUndefined } from "./advice/undefined-names.ts";
import { bundleProgram } from "./bundling/bundle.ts";
import { reduceToJavaScript } from "./bundling/bundler.ts";
import { bundleVerbatim } from "./bundling/verbatim-program.ts";
import { calledPrograms } from "./named-programs.ts";
import type { ProgramDeclarations } from "./type-check/files.ts";
import type { TypeCheckProcess } from "./type-check/type-check-process.ts";
import type { ProcessObserver } from "./typescript-api.ts";
import { TYPESCRIPT_FACTS } from "./typescript-facts.ts";

/** What the parser is loaded for in advance. */
const FIRST_PROGRAM: Program = {
  code: "globalThis.result = 1;",
  data: {},
  language: "javascript",
  fileName: "first.js",
};

/** Programs in TypeScript and JavaScript: bundled into one module, and checked by TypeScript in a process of its own. */
export function createTypeScript(options: TypeCheckerOptions): Language {
  const typeChecker = createTypeChecker(options);
  return {
    ...TYPESCRIPT_FACTS,
    prepare: (program, modules, mode, onPhase, earlier) =>
      prepareTypeScript(program, modules, typeChecker, mode, onPhase, earlier),
    looksLike: looksLikeTypeScript,
    accepts: acceptsTypeScript,
    advise: async (program, ended, modules) => {
      if (ended.ok)
        return (await import("./advice/advise-success.ts")).adviseOnSuccess(program, ended, modules);
      return adviseOnFailure(ended.error, program, modules).catch(() => []);
    },
    async warm() {
      await Promise.all([typeChecker.warm(), bundleVerbatim(FIRST_PROGRAM)]);
    },
    close: () => typeChecker.close(),
  };
}

/** Syntax that is hardly anything but JavaScript. Programs can be long, so none of these patterns may backtrack. */
const SIGNS = [
  /^[ \t]*(?:export[ \t]+)?(?:const|let)[ \t]+[\w$[{]/m,
  /=>[ \t]*[{(\w]/,
  /\bconsole\.log\(/,
  /\bglobalThis\b/,
  /^import[ \t]+(?:\*|\{|type\b|["'])/m,
];

/** What prints in other languages. Nothing in Node.js has that name. */
const PRINTS = /^[ \t]*print\(/m;
const DECLARES_PRINT = /\b(?:function|const|let|var)[ \t]+print\b|\bimport\b[^;\n]{0,200}\bprint\b/;

/** Whether a text has signs of TypeScript or JavaScript. */
function looksLikeTypeScript(code: string): boolean {
  return SIGNS.some((sign) => sign.test(code));
}

/** Whether a text is TypeScript by its syntax, and calls nothing that only another language has. Never rejects. */
async function acceptsTypeScript(code: string): Promise<boolean> {
  if (PRINTS.test(code) && !DECLARES_PRINT.test(code)) return false;
  try {
    await reduceToJavaScript(code, { loader: "ts", logLevel: "silent", target: "esnext" });
    return true;
  } catch {
    return false;
  }
}

/** V8's message for a name that is not defined. */
const UNDEFINED_NAME = /^ReferenceError: ([\w$]{1,100}) is not defined/;
const OF_UNDEFINED = /^TypeError: Cannot (?:read|destructure) propert.*\b(?:undefined|null)\b/;
const UNAVAILABLE = /^'([^'\n]{1,200})' is not available in execute_program/;
const TOO_SLOW = /^'[^'\n]+' failed: server '[^'\n]+' did not answer within /;
const FUNCTION_RESULT = /^result(?:[.[].*)? is a function/;

function isEmpty(data: unknown): boolean {
  return typeof data !== "object" || data === null || Object.keys(data).length === 0;
}

/** What to call instead of a name that `callTool` was given and that is no tool's. A tool that is forbidden has no other in its place. */
async function adviseOnCalled(called: string, source: ModuleSource): Promise<string | undefined> {
  if (await isTool(called, source)) return undefined;
  const [, tool = called] = /(?:^.*__|[./])([\w-]+)$/.exec(called) ?? [];
  const { functions } = await findFunctions(tool, source);
  const names = functions.map(({ namespacedName }) => `callTool("${namespacedName}", args)`);
  return names.length === 0 ? undefined : `did you mean ${names.join(" or ")}?`;
}

/**
 * Advice on a failure that a program came to by itself, one line each. The failure's message is the program's own text: it
 * selects the advice and is not repeated in it, but for names.
 */
export async function adviseOnFailure(
  { type, message }: Failure,
  { code, data }: Program,
  source: ModuleSource,
): Promise<string[]> {
  const advice: (string | undefined)[] = [];
  if (type === "ScriptError") {
    const [, name] = UNDEFINED_NAME.exec(message) ?? [];
    if (name !== undefined && !name.startsWith("mcp__"))
      advice.push(await adviseUndefined(name, code, source));
    advice.push(adviseOnLimits(message, code, source), await adviseOnUnwrapped(code, source));
    if (OF_UNDEFINED.test(message) && /\bdata\s*[.[]/.test(code) && isEmpty(data))
      advice.push(
        "no data was passed in, so `data` is empty: pass it as the argument `data`, or with --data",
      );
    else if (OF_UNDEFINED.test(message) && /\bmcp__|servers\/|callTool/.test(code))
      advice.push(
        "a tool's function returns its data itself, without `content`; print what it returned with console.log to see its shape",
      );
  }
  if (type === "ToolError" && TOO_SLOW.test(message))
    advice.push(
      "a call gets more time from `call_timeout_seconds` of its server, or `execution.tool_call_timeout_seconds`, in ptc.yaml",
    );
  const [, called] = UNAVAILABLE.exec(type === "ToolError" ? message : "") ?? [];
  if (called !== undefined) advice.push(await adviseOnCalled(called, source));
  if (type === "ScriptError" || type === "ToolError") advice.push(adviseOnCredentials(code));
  if (type === "ResultNotSerializable" && FUNCTION_RESULT.test(message))
    advice.push("call the function, and set globalThis.result to what it returns");
  return advice.filter((each) => each !== undefined);
}

/** Errors of Node.js that come of what a sandbox has not, by how their text begins. */
const NETWORK =
  /^(?:\w*Error: )?(?:fetch failed|getaddrinfo |connect E[A-Z]+|queryA?\w* E[A-Z]+|(?:send|bind|listen) E[A-Z]+|Received network error|WebSocket)/;
const LOCAL = /^(?:\w*Error: )?connect ECONNREFUSED (?:127\.|::1)/;
const PROCESS = /^(?:\w*Error: )?(?:spawn(?:Sync)? |Command failed)/;
const READ_ONLY = /^(?:\w*Error: )?(?:EROFS|EACCES|EPERM)\b.*?(?:'([^']*)')?$/;
const NO_FILE = /^(?:\w*Error: )?ENOENT: no such file or directory, (\w+)(?: '([^']*)')?/;
const NO_DATABASE = /^(?:\w*Error: )?unable to open database file/;
const NO_MODULE = /^(?:\w*Error: )?Cannot find (?:module|package) '([^']{1,200})'/;
/** Where a program may write. */
const WRITABLE = /^\/(?:workspace|tmp)(?:\/|$)/;
const WRITES = /\b(?:writeFile|appendFile|createWriteStream|mkdir|cp|copyFile|rename)\w*\s*\(/;
const CREDENTIAL = /\bprocess\.env(?:\.([A-Za-z_]\w*)|\[["']([A-Za-z_]\w*)["']\])/g;
const CREDENTIAL_NAME = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|SESSION|DATABASE|DSN|_URL$|_URI$/i;

/** Advice on an error that comes of what a sandbox has not: a network, the host's files, other programs, packages. */
function adviseOnLimits(message: string, code: string, source: ModuleSource): string | undefined {
  const [line = ""] = message.split("\n", 1);
  if (NETWORK.test(line)) {
    const local = LOCAL.test(line) ? ", and localhost is the sandbox itself" : "";
    return `${placeOfFetch(message, code)}a program has no network${local}: call a tool of a server instead${nameServers(source)}`;
  }
  if (PROCESS.test(line))
    return `there are no other programs in the sandbox, and no shell: use Node.js, or call a tool of a server${nameServers(source)}`;
  const [, module] = NO_MODULE.exec(line) ?? [];
  if (module !== undefined) return adviseOnRequire(module, source);
  const [, , missing] = NO_FILE.exec(line) ?? [];
  if (missing !== undefined || READ_ONLY.test(line))
    return adviseOnFile(missing ?? READ_ONLY.exec(line)?.[1] ?? "", code);
  return NO_DATABASE.test(line) ? adviseOnFile("", "") : undefined;
}

/** Where the program calls `fetch`, whose failures have no place of their own. */
function placeOfFetch(message: string, code: string): string {
  if (!/^TypeError: fetch failed$/.test(message)) return "";
  const lines = code.split("\n").flatMap((line, index) => (/\bfetch\s*\(/.test(line) ? [index + 1] : []));
  return lines.length === 1 ? `line ${lines[0]}: ` : "";
}

function adviseOnFile(path: string, code: string): string {
  const isWriting = WRITES.test(code) && !WRITABLE.test(path);
  if (isWriting)
    return "a program may write in /workspace only, which is gone when it ends: to keep something, set globalThis.result or call a tool of a server";
  return "a program does not see the files of the host: pass what it needs as data (the argument `data`, or --data), or read it with a tool of a server";
}

function adviseOnRequire(module: string, source: ModuleSource): string {
  const [, server] = /servers\/([a-z0-9_]+)/.exec(module) ?? [];
  if (server !== undefined && source.modules().includes(server))
    return `a program is an ES module: write import * as ${server} from "./servers/${server}/index.js"`;
  return "there are no packages in the sandbox, and a program is one file: use the modules of Node.js and of servers";
}

/** Says that environment variables that look like credentials are not there; `undefined` if the program reads none. */
function adviseOnCredentials(code: string): string | undefined {
  const read = new Set([...code.matchAll(CREDENTIAL)].map(([, dotted, quoted]) => dotted ?? quoted ?? ""));
  const [name] = [...read].filter((each) => CREDENTIAL_NAME.test(each));
  if (name === undefined) return undefined;
  return `process.env.${name} is not set in the sandbox: a program has no credentials; servers have theirs, and their tools need none from it`;
}

/**
 * Bundles a program and checks its types at the same time. When only its imports are wrong, the failure has the messages of
 * both. When its text is wrong, the type check is ignored.
 */
async function prepareTypeScript(
  program: Program,
  modules: ModuleSource,
  typeChecker: TypeChecker,
  { mode, patienceMs }: TypecheckOptions,
  onPhase?: OnPhase,
  earlier?: readonly Program[],
): Promise<Preparation> {
  // The check is about tools, so a program that mentions none is not checked.
  const mentions = [program, ...(earlier ?? [])].some(({ code }) => mentionsTools(code));
  const checks = mode !== "off" && (mentions || program.savedAs !== undefined);
  const checking = checks
    ? duringPhase(onPhase, "type_check", () => typeChecker.check(program, modules, earlier, patienceMs))
    : undefined;
  checking?.catch(() => {});
  // Their functions are in the sandbox already. That they are loaded lets them begin.
  if (earlier !== undefined) await collectEarlier(earlier, modules, calledPrograms);
  const bundled = await duringPhase(onPhase, "bundle", () =>
    bundleProgram(program, modules, earlier !== undefined),
  );
  if (!bundled.ok && bundled.subject === "text") return fail("BundleError", bundled.message, bundled.reasons);
  const checked = await checking;
  const mistakes = checked?.kind === "errors" ? checked.message : undefined;
  if (!bundled.ok) {
    // The type check also reports missing exports, so the bundler's message would repeat them.
    const own = bundled.subject === "exports" && mistakes !== undefined ? [] : [bundled.message];
    return fail(
      "BundleError",
      [...own, ...(mistakes === undefined ? [] : [mistakes])].join("\n"),
      bundled.reasons,
    );
  }
  const { bundle } = bundled;
  if (checked?.kind === "unchecked") return { ok: true, bundle, unchecked: checked.reason };
  if (checked?.kind === "clean" && checked.hints.length > 0)
    return { ok: true, bundle, hints: checked.hints };
  if (mistakes === undefined) return { ok: true, bundle };
  if (mode === "warn") return { ok: true, bundle, warning: mistakes };
  return fail("TypeCheckError", mistakes);
}

function mentionsTools(code: string): boolean {
  return /servers\/|["'/]programs["'/]|mcp__|callTool/.test(code);
}

function fail(
  type: "BundleError" | "TypeCheckError",
  message: string,
  reasons: readonly FailureReason[] = [],
): Preparation {
  return { ok: false, type, message, reasons };
}

type TypeCheckOutcome =
  /** `hints` is for a model: what contradicts results as they were observed so far, one line each. */
  | { kind: "clean"; hints: readonly string[] }
  /** `message` is for a model: places, lines, what is wrong and what is expected. */
  | { kind: "errors"; message: string; count: number }
  /** The program could not be checked, for reasons other than its types. */
  | { kind: "unchecked"; reason: string };

export interface TypeChecker {
  /**
   * Finds mistakes that would fail when the program runs: wrong arguments of tools, wrong use of their results, undefined
   * names. Syntax and imports are left to the bundler. Checks run one at a time. Never rejects.
   *
   * @param earlier the programs of its session, whose top level names it finds.
   * @param patienceMs how long to wait, in milliseconds, instead of five seconds from when the checker works on it.
   */
  check(
    program: Program,
    modules: ModuleSource,
    earlier?: readonly Program[],
    patienceMs?: number,
  ): Promise<TypeCheckOutcome>;
  /** Starts in advance what the first check would otherwise wait for. Never rejects. */
  warm(): Promise<void>;
  /** Ends the checker's process, even while it works. Never rejects. */
  close(): Promise<void>;
}

/** Longer programs are not checked: they mostly carry data, so checking takes long and finds nothing. */
const MAX_CHECKED_CHARS = 256 * 1024;
const START_LIMIT_MS = 15_000;
const CHECK_LIMIT_MS = 5_000;
/** The text of a saved program is checked and does not run. */
const SAVED_LIMIT_MS = 60_000;

interface TypeCheckerOptions extends ProcessObserver {
  declarations: ProgramDeclarations;
  checkLimitMs?: number;
}

/**
 * A type checker with one process of TypeScript. The process is started on first use, and again after it died or was killed
 * because a check exceeded its time limit.
 */
export function createTypeChecker(options: TypeCheckerOptions): TypeChecker {
  return new ProcessTypeChecker(options);
}

class ProcessTypeChecker implements TypeChecker {
  readonly #declarations: ProgramDeclarations;
  readonly #checkLimitMs: number;
  readonly #observer: ProcessObserver;
  #process: TypeCheckProcess | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor({ declarations, checkLimitMs = CHECK_LIMIT_MS, ...observer }: TypeCheckerOptions) {
    this.#declarations = declarations;
    this.#checkLimitMs = checkLimitMs;
    this.#observer = observer;
  }

  check(
    program: Program,
    modules: ModuleSource,
    earlier: readonly Program[] = [],
    patienceMs?: number,
  ): Promise<TypeCheckOutcome> {
    if (program.code.length > MAX_CHECKED_CHARS)
      return Promise.resolve({
        kind: "unchecked",
        reason: `the program is longer than ${MAX_CHECKED_CHARS} characters`,
      });
    const checked = this.#inTurn(async () => {
      const process = await this.#start(patienceMs);
      const checking = process.check(program, modules, earlier);
      const limitMs = patienceMs ?? (program.savedAs === undefined ? this.#checkLimitMs : SAVED_LIMIT_MS);
      const { mistakes, hints } = await this.#within(limitMs, process, checking);
      return mistakes === undefined ? { kind: "clean", hints } : { kind: "errors", ...mistakes };
    });
    if (patienceMs === undefined) return checked;
    // With the checks before it, and the checker's start.
    const late = () => new Error(tookLonger(patienceMs));
    return inTime(checked, patienceMs, late).catch((error: unknown) => ({
      kind: "unchecked",
      reason: messageOf(error),
    }));
  }

  async warm(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#start();
      return { kind: "clean", hints: [] };
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const process = this.#process;
    this.#process = undefined;
    process?.kill();
    await Promise.all([process && whenAborted(process.gone), this.#last]);
  }

  #inTurn(work: () => Promise<TypeCheckOutcome>): Promise<TypeCheckOutcome> {
    const turn = this.#last.then(async (): Promise<TypeCheckOutcome> => {
      try {
        return await work();
      } catch (error) {
        this.#process?.kill();
        this.#process = undefined;
        return { kind: "unchecked", reason: messageOf(error) };
      }
    });
    this.#last = turn;
    return turn;
  }

  async #start(patienceMs = 0): Promise<TypeCheckProcess> {
    if (this.#process !== undefined) return this.#process;
    const { TypeCheckProcess } = await import("./type-check/type-check-process.ts");
    if (this.#closed) throw new Error("the type checker is closed");
    const process = new TypeCheckProcess(this.#declarations, this.#observer);
    this.#process = process;
    await this.#within(Math.max(START_LIMIT_MS, patienceMs), process, process.start());
    void whenAborted(process.gone).then(() => {
      if (this.#process === process) this.#process = undefined;
    });
    return process;
  }

  /** Work of a process that may hang or die. @throws when it does; the process is ended then. */
  async #within<T>(limitMs: number, process: TypeCheckProcess, work: Promise<T>): Promise<T> {
    work.catch(() => {});
    const alive = orAborted(work, process.gone, () => new Error("the type checker's process ended"));
    return inTime(alive, limitMs, () => new Error(tookLonger(limitMs)));
  }
}

function tookLonger(limitMs: number): string {
  return `type checking took longer than ${limitMs} ms`;
}
