/**
 * The runner, which every sandbox runs. It says hello over its connection to the broker and warms up while it waits; then it
 * runs its program and prints one line, the claim, on stdout. In a session it then waits for the next program. It is not
 * trusted: the program shares its process.
 */

import { registerHooks } from "node:module";
import { join } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { encodeFrame, FrameDecoder } from "../../protocol/frames.ts";
import { PROTOCOL_VERSION } from "../../protocol/limits.ts";
import type { ProgramMessage } from "../../protocol/messages.ts";
import { WORKSPACE } from "../../protocol/runners.ts";
import { Channel, type Connection, SocketConnection } from "./channel.ts";
import { consoleMethods } from "./console-capture.ts";
import { Environment } from "./environment/environment.ts";
import { bindTools } from "./functions/tools.ts";
import { ProgramRun } from "./program-run.ts";
import { serializeResult } from "./result-value.ts";
import { installStackTraces } from "./stack-trace.ts";

/** Imports modules whose text is in memory. Under gVisor that takes a quarter of the time of importing a file. */
class ModulesInMemory {
  readonly #texts = new Map<string, string>();
  readonly #hooks = registerHooks({
    resolve: (specifier, context, next) =>
      this.#texts.has(specifier)
        ? { url: specifier, format: "module", shortCircuit: true }
        : next(specifier, context),
    load: (url, context, next) => {
      const source = this.#texts.get(url);
      return source === undefined ? next(url, context) : { format: "module", source, shortCircuit: true };
    },
  });

  /** Imports a module under its own URL. Node.js loads it before this returns, and evaluates it later. */
  import(url: string, text: string): Promise<unknown> {
    this.#texts.set(url, text);
    try {
      return import(url);
    } finally {
      this.#texts.delete(url);
    }
  }

  /** Like `import`, but whatever this module imports is left to Node.js again. */
  importLast(url: string, text: string): Promise<unknown> {
    try {
      return this.import(url, text);
    } finally {
      this.#hooks.deregister();
    }
  }
}

const ROUNDS = 3;
/** Enough calls that the functions which make them are compiled, not just parsed. */
const CALLS = 60;
const MAX_BYTES = 10_000;
/** A program that was waiting for the sandbox arrives this soon after hello. */
const WAITED_MS = 10;
const SOURCE_MAP = Buffer.from('{"version":3,"sources":["warm"],"mappings":"AAAA","names":[]}').toString(
  "base64",
);

/**
 * Loads and compiles what the first program will need, using throwaway objects: the module loader, source maps, framing, calls,
 * the console, randomness, the log of events, and the conversion of a result to JSON. Ends soon after the program has arrived,
 * so as not to slow it down.
 *
 * @param arrival resolves when the first program has arrived.
 */
async function warmUp(modules: ModulesInMemory, arrival: Promise<unknown>): Promise<void> {
  let isThere = false;
  const hasCome = () => isThere;
  const noted = arrival.then(() => {
    isThere = true;
  });
  await Promise.race([noted, delay(WAITED_MS, undefined, { ref: false })]);
  const decoder = new FrameDecoder(1_000);
  for (let round = 0; round < ROUNDS; round++) {
    await turn();
    if (hasCome()) return;
    await importText(modules, `await null; export const warm = ${round};`, round);
    for (const payload of decoder.push(encodeFrame({ type: "warm", round }, 1_000))) {
      inspect(JSON.parse(payload.toString("utf8")));
    }
    const { log } = consoleMethods(nowhere(), nowhere());
    if (typeof log === "function") log("warm", { round });
    const environment = new Environment();
    environment.begin(SOME, NO_ANSWERS);
    inspect(environment.trace());
    serializeResult({ warm: [round, "text", null] }, MAX_BYTES);
  }
  await rehearseCalls(hasCome);
  void new Error("warm").stack;
}

/** Makes calls over a connection that answers by itself. */
async function rehearseCalls(hasCome: () => boolean): Promise<void> {
  const environment = new Environment();
  environment.begin(SOME, NO_ANSWERS);
  const nothing = () => {};
  const { tool } = bindTools(new Channel(answeringConnection(), environment, nothing, nothing));
  const call = tool("mcp__warm__up");
  for (let round = 0; round < CALLS && !hasCome(); round++) await call({ round });
  await Promise.all([call({}), call.result({}), call({})]);
}

function answeringConnection(): Connection {
  const decoder = new FrameDecoder(1_000);
  const connection: Connection = {
    onBytes() {},
    write(bytes) {
      for (const payload of decoder.push(bytes)) {
        const { id } = JSON.parse(payload.toString("utf8")) as { id: number };
        const reply = encodeFrame({ type: "reply", id, ok: true, data: { id } }, 1_000);
        setImmediate(() => connection.onBytes(reply));
      }
    },
    writeLast() {},
    ref() {},
    unref() {},
  };
  return connection;
}

const SOME = { seed: "00".repeat(32), time_zone: process.env.TZ ?? "UTC" };
const NO_ANSWERS = { expect: () => false, release() {} };

function nowhere(): Writable {
  return new Writable({ decodeStrings: false, write: (_chunk, _encoding, done) => done() });
}

async function importText(modules: ModulesInMemory, code: string, round: number): Promise<void> {
  const url = pathToFileURL(join(WORKSPACE, `warm-${round}.mjs`)).href;
  await modules.import(url, `${code}\n//# sourceMappingURL=data:application/json;base64,${SOURCE_MAP}\n`);
}

const HELLO = {
  type: "hello",
  protocol: PROTOCOL_VERSION,
  language: "javascript",
  runtime: `Node.js ${process.versions.node}`,
} as const;

const environment = new Environment();
// Hides the guard's argument from programs.
const [inherited] = process.argv.splice(2);
const modules = new ModulesInMemory();
const bundleUrls = new Set<string>();
const firstBundleUrl = bundleUrlOf("");
let isReady = false;
/** A program that arrived before the runner was ready. */
let early: ProgramMessage | undefined;
const greetings: (() => void)[] = [];
let noteArrival = () => {};
const arrival = new Promise<void>((resolve) => {
  noteArrival = resolve;
});
const channel = new Channel(
  new SocketConnection(Number(inherited?.replace("--channel=", ""))),
  environment,
  (program) => {
    if (isReady) return start(program);
    early = program;
    noteArrival();
  },
  // Until it is ready the runner may start threads of its own, which the guard would mistake for a program's.
  (next) =>
    whenReady(() => {
      channel.answer(next);
      channel.send(HELLO);
    }),
  // A snapshot is taken of a runner that is ready.
  () =>
    whenReady(() => {
      environment.renewRandomness();
      channel.send(HELLO);
    }),
);
channel.send(HELLO);
await warmUp(modules, arrival);
environment.install();
installStackTraces(bundleUrls);
const run = new ProgramRun(channel, environment);
if (early === undefined) run.rehearse();
isReady = true;
for (const greet of greetings) greet();
if (early !== undefined) start(early);

function whenReady(greet: () => void): void {
  if (isReady) greet();
  else greetings.push(greet);
}

function start(program: ProgramMessage): void {
  const bundleUrl = bundleUrls.size === 0 ? firstBundleUrl : bundleUrlOf(`-${bundleUrls.size + 1}`);
  bundleUrls.add(bundleUrl);
  run.start(program, () =>
    program.session === true
      ? modules.import(bundleUrl, program.bundle)
      : modules.importLast(bundleUrl, program.bundle),
  );
}

function bundleUrlOf(number: string): string {
  return pathToFileURL(join(WORKSPACE, `.program${number}.mjs`)).href;
}
