import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ratio } from "../figure.ts";
import type { Bench, Measurement } from "../measurement.ts";
import { serveExecutor } from "../peers/executor.ts";
import { timeCall } from "../peers/mcp-client.ts";
import { makeProject, runProgram, servePtc } from "../peers/ptc.ts";

const ROUNDS = 60;
const WARM_UP = 5;
/** Long enough for the pool to be full again. */
const REFILL_MS = 700;

/** A trivial program from the client's request to its answer, type check on and the pool full, against the same in a peer. */
export const trivialRun: Measurement = {
  name: "trivial-run",
  about: "a trivial warm run over MCP, against `executor mcp`",
  async measure(bench: Bench) {
    const executor = await serveExecutor(join(bench.folder, "executor"));
    if (executor === undefined) {
      bench.skip(
        "a trivial run against `executor mcp`",
        "its package is not installed (npm install --prefix bench)",
      );
      return [];
    }
    const ptc = await servePtc(makeProject(join(bench.folder, "trivial"), { sandbox: { warm: 4 } }));
    const measuredMs: number[] = [];
    const baselineMs: number[] = [];
    for (let round = -WARM_UP; round < bench.rounds(ROUNDS); round++) {
      await delay(REFILL_MS);
      // The peer comes first: what follows a run, a sandbox for the next one, takes a core for half a second.
      const peerMs = await timeCall(executor, "execute", { code: `return ${round};` });
      const tookMs = await runProgram(ptc, `globalThis.result = ${round};`);
      if (round < 0) continue;
      measuredMs.push(tookMs);
      baselineMs.push(peerMs);
    }
    await Promise.all([ptc.close(), executor.close()]);
    const compared = {
      measuredMs,
      baselineMs,
      against: "`executor mcp`, which isolates nothing",
      maxRatio: 1.2,
    };
    return [
      ratio({ name: "trivial run over MCP, p50", ...compared }),
      ratio({ name: "trivial run over MCP, p95", ...compared, at: 0.95 }),
    ];
  },
};
