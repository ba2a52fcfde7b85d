import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EvalFlags, JSException, type JSValueHandle, QuickJS, type QuickJSOptions } from "quickjs-wasi";
import {
  BUNDLE_FILE,
  HOST_FUNCTION_NAMES,
  type HostFunctions,
  type InsideFunctions,
} from "./host-functions.ts";
import { withMaximumMemory } from "./wasm-memory.ts";

// The types of this project are those of Node.js without a browser's, which have it.
const { Module } = (
  globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => WebAssembly.Module } }
).WebAssembly;

const EXTENSIONS = ["url", "encoding", "structured-clone"] as const;

/** The interpreter's stack; its build allows no larger one. */
const STACK_BYTES = 512 * 1024;
/** The share of the interpreter's memory for the program's values, so that a leak ends with its own error. */
const HEAP_SHARE = 0.9;

/** Functions that let nothing go on, so that they can be called in the middle of a turn. */
const QUESTIONS: ReadonlySet<string> = new Set(["state", "hasResult", "exitCode", "result"]);

/** The program used more memory than it has. */
export class OutOfMemoryError extends Error {}

/** Something was thrown inside. `json` describes it as the JSON of a failure. */
export class ThrownInside extends Error {
  readonly json: string;
  constructor(json: string) {
    super("a program threw");
    this.json = json;
  }
}

/** An interpreter with the runner's part in it (inside/main.ts), for one program. */
export class Interpreter {
  readonly version: string;
  readonly #vm: QuickJS;
  /** The functions that the part inside calls; set before a program begins. */
  host: HostFunctions | undefined;
  /** Milliseconds since 1970, as the program reads them. */
  nowMs: () => number = () => 0;
  /** The offset from UTC at a time, in minutes, positive in the west. */
  offset: (seconds: number) => number = () => 0;
  /** Rejected promises to which no handler has been attached since, by the identity of the promise. */
  readonly #rejected = new Map<number, { promise: JSValueHandle; reason: JSValueHandle }>();
  #inside: JSValueHandle | undefined;
  #modules: Readonly<Record<string, readonly string[]>> = {};
  #isTracking = false;

  private constructor(vm: QuickJS) {
    this.#vm = vm;
    this.version = vm.versions.quickjs ?? "";
  }

  /**
   * @param folder the files of scripts/wasm-runner.ts.
   * @param memoryBytes the most memory that the interpreter may have, the program's values included.
   */
  static async open(folder: string, memoryBytes: number): Promise<Interpreter> {
    const read = (name: string) => readFileSync(join(folder, name));
    const extensions = EXTENSIONS.map((name) => ({
      name,
      wasm: new Module(read(`${name}.wasm`)),
    }));
    let opened: Interpreter | undefined;
    const options: QuickJSOptions = {
      wasm: new Module(withMaximumMemory(read("quickjs.wasm"), memoryBytes)),
      extensions,
      memoryLimit: Math.floor(memoryBytes * HEAP_SHARE),
      maxStackSize: STACK_BYTES,
      timezoneOffset: (seconds) => opened?.offset(seconds) ?? 0,
      wasi: (memory) => ({
        clock_time_get(_clock: number, _precision: bigint, at: number) {
          const ns = BigInt(opened?.nowMs() ?? 0) * 1_000_000n;
          new DataView(memory.buffer).setBigUint64(at, ns, true);
          return 0;
        },
        // Nothing in the interpreter but its start draws from here: programs get what follows from their seed.
        random_get(at: number, count: number) {
          new Uint8Array(memory.buffer, at, count).fill(0);
          return 0;
        },
        fd_write: () => 8,
      }),
      onUnhandledRejection: (promise, reason, isHandled) => opened?.track(promise, reason, isHandled),
      moduleLoader: {
        normalize: (_base, specifier) => specifier,
        load: (name) => {
          if (opened === undefined) throw new Error("there are no modules yet");
          return opened.#moduleText(name);
        },
      },
    };
    const vm = await QuickJS.create(options);
    opened = new Interpreter(vm);
    opened.#start(read("inside.bin"));
    return opened;
  }

  /** @param inside the part inside, as this interpreter has compiled it. */
  #start(inside: Uint8Array): void {
    const vm = this.#vm;
    vm.evalBytecode(inside).dispose();
    const host = vm.newObject();
    for (const name of HOST_FUNCTION_NAMES) {
      const fn = vm.newFunction(`ptc.${name}`, (...args) => {
        const given = args.map((each) => this.#toHost(each));
        const value = Reflect.apply(this.#hostFunction(name), this.host, given) as unknown;
        return this.#toInside(value);
      });
      vm.setProp(host, name, fn);
      fn.dispose();
    }
    const key = vm.newSymbolFor("ptc.open");
    const open = vm.getProp(vm.global, key);
    vm.setProp(vm.global, key, vm.undefined);
    this.#inside = vm.callFunction(open, vm.undefined, host);
    this.#modules = JSON.parse(this.#inside.getProp("modules").toString()) as Record<string, string[]>;
    for (const handle of [host, key, open]) handle.dispose();
    vm.executePendingJobs();
    this.#isTracking = true;
  }

  #hostFunction(name: keyof HostFunctions): (...args: never[]) => unknown {
    if (this.host === undefined) throw new Error("no program has begun");
    return this.host[name];
  }

  /** Evaluates the program's module up to its first wait, and does what that leads to. @throws as `call` does. */
  evaluate(bundle: string): void {
    const evaluation = this.#guarded(() => this.#vm.evalCode(bundle, BUNDLE_FILE, EvalFlags.TYPE_MODULE));
    this.#invoke("watch", [evaluation]).dispose();
    evaluation.dispose();
    this.#drain();
  }

  /**
   * Calls a function of the part inside, and does what that leads to.
   *
   * @throws OutOfMemoryError, ThrownInside, Error when the interpreter itself has failed.
   */
  call<Name extends Exclude<keyof InsideFunctions, "watch" | "describe">>(
    name: Name,
    ...args: Parameters<InsideFunctions[Name]>
  ): ReturnType<InsideFunctions[Name]> {
    const given = (args as (string | number | boolean)[]).map((each) => this.#toInside(each));
    const returned = this.#invoke(name, given);
    for (const handle of given) handle.dispose();
    const value = this.#toHost(returned) as ReturnType<InsideFunctions[Name]>;
    returned.dispose();
    if (!QUESTIONS.has(name)) this.#drain();
    return value;
  }

  /** The first rejection that nobody has handled, as the JSON of a failure. */
  unhandled(): string | undefined {
    for (const { reason } of this.#rejected.values()) return this.#describe(reason);
    return undefined;
  }

  track(promise: JSValueHandle, reason: JSValueHandle, isHandled: boolean): void {
    if (!this.#isTracking) return;
    const { identity } = promise;
    const known = this.#rejected.get(identity);
    if (isHandled) {
      this.#rejected.delete(identity);
      known?.promise.dispose();
      known?.reason.dispose();
    } else if (known === undefined) {
      // The promise is held, so that no other one gets its identity.
      this.#rejected.set(identity, { promise: promise.dup(), reason: reason.dup() });
    }
  }

  /** Runs jobs until none is left. */
  #drain(): void {
    this.#guarded(() => {
      while (this.#vm.executePendingJobs() > 0);
    });
  }

  #invoke(name: keyof InsideFunctions, args: JSValueHandle[]): JSValueHandle {
    const inside = this.#inside as JSValueHandle;
    const fn = inside.getProp(name);
    try {
      return this.#guarded(() => this.#vm.callFunction(fn, inside, ...args));
    } finally {
      fn.dispose();
    }
  }

  #describe(thrown: JSValueHandle): string {
    const described = this.#invoke("describe", [thrown]);
    const json = described.toString();
    described.dispose();
    return json;
  }

  #guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof JSException)) throw error;
      if (error.name === "InternalError" && error.message === "out of memory") throw new OutOfMemoryError();
      throw new ThrownInside(this.#describe(error.handle));
    }
  }

  #moduleText(specifier: string): string {
    const name = specifier.replace(/^node:/, "");
    const exported = Object.hasOwn(this.#modules, name) ? (this.#modules[name] ?? []) : undefined;
    if (exported === undefined) throw new Error(`'${specifier}' is not in this engine`);
    const names = exported.filter((each) => each !== "default" && /^[A-Za-z_$][\w$]*$/.test(each));
    return [
      `const module = globalThis[Symbol.for("ptc.module")](${JSON.stringify(name)});`,
      "export default module;",
      ...names.map((each, index) => `const $${index} = module.${each};`),
      `export { ${names.map((each, index) => `$${index} as ${each}`).join(", ")} };`,
    ].join("\n");
  }

  #toHost(handle: JSValueHandle): unknown {
    if (handle.isString) return handle.toString();
    if (handle.isNumber) return handle.toNumber();
    if (handle.isBool) return handle.toBoolean();
    if (handle.isArrayBuffer) return handle.toArrayBuffer();
    return undefined;
  }

  #toInside(value: unknown): JSValueHandle {
    const vm = this.#vm;
    if (typeof value === "string") return vm.newString(value);
    if (typeof value === "number") return vm.newNumber(value);
    if (typeof value === "boolean") return value ? vm.true : vm.false;
    if (value instanceof ArrayBuffer || value instanceof Uint8Array) return vm.newArrayBuffer(value);
    return vm.undefined;
  }
}
