/**
 * The part of the runner that runs in the interpreter, in the realm of the program. It gives the program its globals and modules, and
 * turns its values into JSON. Its process (../main.ts) has everything else: the channel, the clock, timers, and bounds.
 */
import { Buffer } from "buffer";
import { writeJson } from "../../../base/json.ts";
import type { ReplyMessage } from "../../../protocol/messages.ts";
import { WASM_MODULES } from "../../../protocol/platform.ts";
import { describeThrown } from "../../node/describe-thrown.ts";
import { bytesOf, makeEmit } from "../../node/functions/emit.ts";
import { makeExtract } from "../../node/functions/extract.ts";
import { pages } from "../../node/functions/pages.ts";
import { parallel } from "../../node/functions/parallel.ts";
import { checkSavedValue } from "../../node/functions/saved-value.ts";
import { bindTools, ToolError } from "../../node/functions/tools.ts";
import { carriedByJson } from "../../node/json-value.ts";
import { serializeResult } from "../../node/result-value.ts";
import {
  BIG_MARK,
  BUNDLE_FILE,
  type HostFunctions,
  type InsideFunctions,
  OUT_OF_MEMORY,
} from "../host-functions.ts";
import { installBase64Url } from "./base64url.ts";
import { makeConsole } from "./console.ts";
import { makeCrypto } from "./crypto.ts";
import { installDates } from "./dates.ts";
import { installErrors } from "./errors.ts";
import { installLocales } from "./locales.ts";
import { makePath } from "./path.ts";
import { removePreparations } from "./preparations.ts";
import { installSearchParams } from "./search-params.ts";
import { makeTimers } from "./timers.ts";
import { types } from "./types.ts";
import * as util from "./util.ts";

const { parse, stringify } = JSON;
const { defineProperty } = Object;

function hide(target: object, members: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(members))
    defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
}

/** @returns the functions for the process, and the JSON of the modules' names with what each exports. */
function open(host: HostFunctions): InsideFunctions & { modules: string } {
  const framesOf = installErrors(BUNDLE_FILE);
  installSearchParams();
  const waiting = new Map<number, (reply: ReplyMessage) => void>();
  let isExact = false;

  const channel = {
    call(tool: string, args: unknown, raw: boolean): Promise<ReplyMessage> {
      const id = host.call(tool, (writeJson(args) as string | undefined) ?? "", raw);
      return new Promise((resolve) => waiting.set(id, resolve));
    },
  };
  const { tool, callTool } = bindTools(channel);
  const timers = makeTimers(host);
  const { node: crypto, web } = makeCrypto(host);
  const path = makePath(host);
  const programConsole = makeConsole(host);
  const process = makeProcess(host);
  const performance = {
    now: () => host.ticks() / 100,
    get timeOrigin() {
      return host.startedMs();
    },
    toJSON: () => ({ timeOrigin: host.startedMs() }),
  };
  const modules = new Map<string, object>([
    ["buffer", { Buffer, atob, btoa, constants: { MAX_LENGTH: 2 ** 31 - 1 } }],
    ["console", programConsole],
    ["crypto", crypto],
    ["path", path],
    ["path/posix", path],
    ["process", process],
    ["timers", { ...timers.functions, promises: timers.promises }],
    ["timers/promises", timers.promises],
    ["url", { URL, URLSearchParams }],
    ["util", util],
    ["util/types", types],
  ] satisfies [(typeof WASM_MODULES)[number], object][]);
  const require = (name: unknown): object => {
    const found = modules.get(String(name).replace(/^node:/, ""));
    if (found !== undefined) return found;
    const message = `'${String(name)}' is not in this engine; it has ${WASM_MODULES.map((each) => `node:${each}`).join(", ")}`;
    throw Object.assign(new Error(message), { code: "MODULE_NOT_FOUND" });
  };

  installBase64Url();
  installDates(host);
  installLocales(host);
  hide(URL, { parse: parseUrl });
  hide(Math, { random: () => host.random() });
  hide(globalThis, {
    ...timers.functions,
    console: programConsole,
    Buffer,
    crypto: web,
    performance,
    process,
    global: globalThis,
    require,
    callTool,
    pages,
    parallel,
    bytesOf,
    ToolError,
    emit: makeEmit((block) => host.emit(stringify(block))),
    [Symbol.for("ptc.tool")]: undefined,
  });
  Object.assign(globalThis, {
    data: undefined,
    result: undefined,
    [Symbol.for("ptc.tool")]: tool,
    [Symbol.for("ptc.extract")]: makeExtract(callTool),
    [Symbol.for("ptc.saved")]: checkSavedValue,
    [Symbol.for("ptc.carried")]: carriedByJson,
    [MODULE_OF]: require,
  });

  let evaluation = "running";
  const resultOf = () => Reflect.get(globalThis, "result") as unknown;
  const describe = (thrown: unknown) =>
    isOutOfMemory(thrown) ? OUT_OF_MEMORY : stringify(describeThrown(thrown, framesOf));
  const read = (json: string): unknown => (isExact ? withBigIntegers(parse(json)) : parse(json));

  return {
    modules: stringify(Object.fromEntries([...modules].map(([name, each]) => [name, Object.keys(each)]))),
    begin(dataJson, exact) {
      isExact = exact;
      Reflect.set(globalThis, "data", read(dataJson));
    },
    watch(promise) {
      (promise as Promise<unknown>).then(
        () => {
          evaluation = "ended";
        },
        (error: unknown) => {
          evaluation = describe(error);
        },
      );
    },
    answer(id, replyJson) {
      const resolve = waiting.get(id);
      waiting.delete(id);
      resolve?.(read(replyJson) as ReplyMessage);
    },
    fire: timers.fire,
    state: () => evaluation,
    describe,
    settleResult() {
      const value = resultOf();
      if (typeof (value as { then?: unknown } | null | undefined)?.then !== "function") return false;
      evaluation = "running";
      Promise.resolve(value).then(
        (settled) => {
          Reflect.set(globalThis, "result", settled);
          evaluation = "ended";
        },
        (error: unknown) => {
          evaluation = describe(error);
        },
      );
      return true;
    },
    hasResult: () => resultOf() !== undefined,
    exitCode: () => Number(process.exitCode ?? 0),
    result(maxOutputBytes, maxJson) {
      const value = resultOf();
      if (value === undefined) return "";
      const max = maxJson === "" ? undefined : (parse(maxJson) as { bytes: number; values: number });
      return stringify(serializeResult(value, maxOutputBytes, max));
    },
  };
}

function isOutOfMemory(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === "InternalError" && thrown.message === "out of memory";
}

function parseUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}

/** Under this symbol the text of a module finds the module's object (../main.ts). */
const MODULE_OF = Symbol.for("ptc.module");

/** Whole numbers beyond 2^53, which come as marked texts, as BigInts. */
function withBigIntegers(value: unknown): unknown {
  if (typeof value === "string")
    return value.startsWith(BIG_MARK) ? BigInt(value.slice(BIG_MARK.length)) : value;
  if (typeof value !== "object" || value === null) return value;
  for (const name of Object.keys(value)) {
    const member: unknown = Reflect.get(value, name);
    const read = withBigIntegers(member);
    if (read !== member) Reflect.set(value, name, read);
  }
  return value;
}

/** `process` of Node.js, as far as it says nothing of the machine. */
function makeProcess({ exit, ticks, print }: HostFunctions) {
  const leave = (code?: unknown): never => {
    exit(Number(code ?? process.exitCode ?? 0));
    // The process ends this program before anything else of it runs.
    throw new Error("the program has ended");
  };
  const stream = (name: "out" | "err", fd: number) => ({
    fd,
    isTTY: false,
    write(chunk: unknown) {
      print(name, typeof chunk === "string" ? chunk : Buffer.from(chunk as Uint8Array).toString());
      return true;
    },
  });
  const hrtime = (since: [number, number] = [0, 0]): [number, number] => {
    const now = ticks();
    const seconds = Math.floor(now / 100_000) - since[0];
    const nanoseconds = (now % 100_000) * 10_000 - since[1];
    return nanoseconds < 0 ? [seconds - 1, nanoseconds + 1e9] : [seconds, nanoseconds];
  };
  const process = {
    argv: ["program"],
    env: {} as Record<string, string>,
    exitCode: undefined as unknown,
    platform: "wasm",
    arch: "wasm32",
    version: "",
    versions: {},
    stdout: stream("out", 1),
    stderr: stream("err", 2),
    cwd: () => "/workspace",
    exit: leave,
    reallyExit: leave,
    hrtime: Object.assign(hrtime, { bigint: () => BigInt(ticks()) * 10_000n }),
    uptime: () => ticks() / 100_000,
    nextTick: (callback: (...args: unknown[]) => void, ...args: unknown[]) =>
      queueMicrotask(() => callback(...args)),
    on: () => process,
    once: () => process,
    off: () => process,
    emitWarning: (warning: unknown) => print("err", `Warning: ${String(warning)}\n`),
  };
  return process;
}

removePreparations();
Reflect.set(globalThis, Symbol.for("ptc.open"), open);
