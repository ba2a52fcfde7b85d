import { join } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { WORKSPACE } from "../../protocol/paths.ts";
import { encodeFrame, FrameDecoder } from "../../protocol/wire/frames.ts";
import { Channel } from "./channel.ts";
import { consoleMethods } from "./console-capture.ts";
import { Environment } from "./environment/environment.ts";
import type { Connection } from "./host-connection.ts";
import type { ModulesInMemory } from "./modules-in-memory.ts";
import { serializeResult } from "./result-value.ts";
import { bindTools } from "./tools.ts";

const ROUNDS = 3;
/** So many calls that the functions which make them are compiled, and not only read. */
const CALLS = 60;
const MAX_BYTES = 10_000;
/** A program that has waited for the sandbox comes this soon after hello. */
const WAITED_MS = 10;
const SOURCE_MAP = Buffer.from('{"version":3,"sources":["warm"],"mappings":"AAAA","names":[]}').toString(
  "base64",
);

/**
 * Loads and compiles what the first program will need, on parts of its own that nobody sees afterwards: the module loader,
 * source maps, framing, calls, the console, randomness, the log of events, and what turns a result into JSON. Ends soon after
 * that program has come, which takes less time without it.
 *
 * @param arrival resolves when the first program has come.
 */
export async function warmUp(modules: ModulesInMemory, arrival: Promise<unknown>): Promise<void> {
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
