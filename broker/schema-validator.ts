import { Worker } from "node:worker_threads";

/** Checks values against schemas that come from servers nobody has audited. */
export interface SchemaValidator {
  /** Resolves with what is wrong with `value`, or `undefined`. Takes bounded time whatever the schema. */
  check(schema: unknown, value: unknown): Promise<string | undefined>;
  close(): Promise<void>;
}

export interface CheckRequest {
  id: number;
  schema: string;
  value: unknown;
}

export interface CheckReply {
  id: number;
  problem: string | undefined;
}

const CHECK_TIMEOUT_MS = 2_000;
const MAX_TAME_SCHEMA_CHARS = 20_000;
const MAX_TAME_VALUE_ITEMS = 10_000;

/**
 * Validates in this thread what cannot take long, and the rest in a worker that is killed when it does: a hostile
 * `pattern` can keep a regular expression busy for minutes. A check that runs out of time refuses the value.
 */
export class IsolatingValidator implements SchemaValidator {
  readonly #workerModule: URL;
  readonly #texts = new WeakMap<object, { json: string; tame: boolean }>();
  readonly #pending = new Map<number, { settle(problem: string | undefined): void; timer: NodeJS.Timeout }>();
  #checker: Promise<typeof import("./schema-check.ts")> | undefined;
  #worker: Worker | undefined;
  #nextId = 0;

  /** @param workerModule where `schema-worker` is: beside this file, unless this file was bundled elsewhere. */
  constructor(workerModule = new URL("./schema-worker.ts", import.meta.url)) {
    this.#workerModule = workerModule;
  }

  async check(schema: unknown, value: unknown): Promise<string | undefined> {
    const { json, tame } = this.#text(schema);
    if (!tame || !isSmall(value)) return this.#checkInWorker(json, value);
    this.#checker ??= import("./schema-check.ts");
    return (await this.#checker).checkAgainstSchema(json, value);
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #text(schema: unknown): { json: string; tame: boolean } {
    if (typeof schema !== "object" || schema === null)
      return { json: JSON.stringify(schema ?? true), tame: true };
    let text = this.#texts.get(schema);
    if (text === undefined) {
      const json = JSON.stringify(schema);
      text = { json, tame: isTame(json) };
      this.#texts.set(schema, text);
    }
    return text;
  }

  #checkInWorker(schema: string, value: unknown): Promise<string | undefined> {
    const worker = this.#startedWorker();
    const id = this.#nextId++;
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        // One check hangs the thread, so all that wait behind it start over in a new one or give up.
        void worker.terminate();
      }, CHECK_TIMEOUT_MS);
      this.#pending.set(id, { settle: resolve, timer });
      worker.postMessage({ id, schema, value } satisfies CheckRequest);
    });
  }

  #startedWorker(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(this.#workerModule, {
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    worker.unref();
    worker.on("message", (reply: CheckReply) => this.#settle(reply.id, reply.problem));
    worker.on("error", () => {});
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
      for (const id of [...this.#pending.keys()])
        this.#settle(id, "could not be checked: its schema takes too long");
    });
    this.#worker = worker;
    return worker;
  }

  #settle(id: number, problem: string | undefined): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    clearTimeout(pending.timer);
    pending.settle(problem);
  }
}

/** A schema without regular expressions and combinations that multiply is checked in time linear in the value. */
function isTame(json: string): boolean {
  if (json.length > MAX_TAME_SCHEMA_CHARS) return false;
  return !/"(?:pattern|patternProperties|format|uniqueItems|\$ref|\$dynamicRef|\$recursiveRef)":/.test(json);
}

function isSmall(value: unknown): boolean {
  let items = 0;
  const visit = (part: unknown): boolean => {
    if (typeof part !== "object" || part === null) return ++items <= MAX_TAME_VALUE_ITEMS;
    return Object.values(part).every(visit);
  };
  return visit(value);
}
