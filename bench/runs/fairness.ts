import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { clock } from "../../base/clock.ts";
import { FollowedConfiguration } from "../../configuration/follow.ts";
import { Project } from "../../project/open-project.ts";
import { openServing } from "../../project/serving.ts";
import type { McpConnection } from "../../server/mcp/service.ts";
import { McpService } from "../../server/mcp/service.ts";
import { type Bench, type Measurement, ratio } from "../measurement.ts";
import { makeProject } from "../peers.ts";

const QUEUED = 1_000;
/** How long a program waits for its tools. */
const WORK_MS = 300;
/** Programs of a turn, alone or beside the others. */
const TURN = 5;
/** How long the pool may take to be full again after a turn. */
const SETTLE_MS = 3_000;
/** Long enough for the pool to be full again where nobody else uses it. */
const GAP_MS = 700;

/** The programs of a principal who runs one at a time while another has a thousand in the queue, against the same alone. */
export const fairness: Measurement = {
  name: "fairness",
  about: `a quiet principal's program beside another's ${QUEUED} queued ones, against alone`,
  async measure(bench: Bench) {
    const folder = makeProject(join(bench.folder, "fairness"), {
      execution: { max_parallel_programs: 2, max_queued_programs: QUEUED, timeout_seconds: 3_600 },
      sandbox: { warm: 4 },
      limits: { each: { max_parallel_programs: 64, max_calls_per_minute: 100_000 } },
    });
    const { current: configuration } = await FollowedConfiguration.open({
      ...{ flag: join(folder, "ptc.yaml"), env: process.env, cwd: folder, onEdit() {} },
    });
    const onWarning = (message: string) => void process.stderr.write(`${message}\n`);
    const { host, catalog, printers, outputs } = await openServing(
      new Project(configuration, { env: process.env, onWarning }),
      { principal: "local" },
    );
    const service = new McpService({
      ...{ version: "0", catalog, printers, outputs, runner: host, clock, use: host.use },
      limits: () => host.configuration.execution,
    });
    const connect = (principal: string) => service.connect({ principal, source: "serve" });
    const quiet = connect("quiet");
    await host.warm();
    const alone: number[] = [];
    const beside: number[] = [];
    const time = async (times: number[]) => {
      for (let round = -1; round < TURN; round++) {
        await delay(GAP_MS);
        const tookMs = await run(quiet, round);
        if (round >= 0) times.push(tookMs);
      }
    };
    // By turns, so that whatever else the machine does reaches both.
    for (let turn = 0; turn < bench.rounds(8); turn++) {
      await time(alone);
      const loud = connect("loud");
      const queued = Array.from({ length: QUEUED }, (_, n) => run(loud, n).catch(() => 0));
      await time(beside);
      await loud.close();
      await Promise.all(queued);
      await delay(SETTLE_MS);
    }
    await quiet.close();
    await host.close();
    const against = "the same alone";
    const compared = { measuredMs: beside, baselineMs: alone, against };
    return [
      ratio({ name: "beside 1,000 queued programs, p95", ...compared, at: 0.95, maxRatio: 2 }),
      ratio({ name: "beside 1,000 queued programs, p50", ...compared }),
    ];
  },
};

async function run(connection: McpConnection, value: number): Promise<number> {
  const code = `await new Promise((resolve) => setTimeout(resolve, ${WORK_MS})); globalThis.result = ${value};`;
  const { signal } = new AbortController();
  const startedAt = performance.now();
  const request = { connection, signal, progress: undefined, canAsk: false };
  const answer = await connection.callTool("execute_program", { code }, request);
  const tookMs = performance.now() - startedAt;
  if (answer?.kind !== "reply" || answer.reply.isError === true)
    throw new Error(`a program failed: ${JSON.stringify(answer)}`);
  return tookMs;
}
