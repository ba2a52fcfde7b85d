import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Bench, type Measurement, ratio } from "../measurement.ts";
import {
  ECHO_SERVER,
  makeProject,
  runProgram,
  type Served,
  serveExecutor,
  serveMcp,
  servePtc,
  timeCall,
} from "../peers.ts";

const CALLS = 100;
/** Long enough for the pool to be full again. */
const REFILL_MS = 700;

/** A trivial program from the client's request to its answer, with type checks and a full pool, against the same in a peer. */
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
    for (let round = -5; round < bench.rounds(60); round++) {
      await delay(REFILL_MS);
      // The peer comes first: after a run, starting the next sandbox takes a core for half a second.
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

const CALL = 'mcp__echo__echo({ text: "x" })';
const IN_TURN = `for (let i = 0; i < ${CALLS}; i++) await ${CALL};`;
const AT_ONCE = `await Promise.all(Array.from({ length: ${CALLS} }, () => ${CALL}));`;

/** A program's calls, including the run around them, against the same calls by a bare client to the same server. */
export const calls: Measurement = {
  name: "calls",
  about: `${CALLS} calls in turn and at once, against a bare MCP client`,
  async measure(bench: Bench) {
    const ptc = await servePtc(makeProject(join(bench.folder, "calls"), { sandbox: { warm: 4 } }));
    const bare = await serveMcp(process.execPath, [ECHO_SERVER]);
    const echo = () => timeCall(bare, "echo", { text: "x" });
    const inTurn = { measuredMs: [] as number[], baselineMs: [] as number[] };
    const atOnce = { measuredMs: [] as number[], baselineMs: [] as number[] };
    for (let round = -2; round < bench.rounds(15); round++) {
      await delay(REFILL_MS);
      // The bare client comes first: after a run, starting the next sandbox takes a core for half a second.
      const bareInTurn = await time(async () => {
        for (let i = 0; i < CALLS; i++) await echo();
      });
      const measuredInTurn = await runProgram(ptc, IN_TURN);
      await delay(REFILL_MS);
      const bareAtOnce = await time(() => Promise.all(Array.from({ length: CALLS }, echo)));
      const measuredAtOnce = await runProgram(ptc, AT_ONCE);
      if (round < 0) continue;
      inTurn.measuredMs.push(measuredInTurn);
      inTurn.baselineMs.push(bareInTurn);
      atOnce.measuredMs.push(measuredAtOnce);
      atOnce.baselineMs.push(bareAtOnce);
    }
    await Promise.all([ptc.close(), bare.close()]);
    const against = "a bare client with the same server";
    return [
      ratio({ name: `${CALLS} calls in turn`, ...inTurn, against, maxRatio: 4 }),
      ratio({ name: `${CALLS} calls at once`, ...atOnce, against, maxRatio: 3 }),
    ];
  },
};

async function time(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** The same programs in Python and in TypeScript. */
const PAIRS = [
  {
    name: "a trivial program in Python",
    python: "result = 1",
    typescript: "globalThis.result = 1;",
  },
  {
    name: `${CALLS} calls in turn in Python`,
    python: `for _ in range(${CALLS}):\n    mcp__echo__echo(text="x")`,
    typescript: `for (let i = 0; i < ${CALLS}; i++) await mcp__echo__echo({ text: "x" });`,
  },
  {
    name: `${CALLS} calls in turn in Python, awaited`,
    python: `for _ in range(${CALLS}):\n    await mcp__echo__echo(text="x")`,
    typescript: `for (let i = 0; i < ${CALLS}; i++) await mcp__echo__echo({ text: "x" });`,
  },
];

/** Python programs from the client's request to its answer, with type checks and full pools, against TypeScript. */
export const pythonPrograms: Measurement = {
  name: "python",
  about: `a trivial run and ${CALLS} calls in Python, against TypeScript`,
  async measure(bench: Bench) {
    const settings = { languages: ["typescript", "python"], sandbox: { warm: 4 } };
    const ptc = await servePtc(makeProject(join(bench.folder, "python"), settings));
    const times = PAIRS.map(() => ({ measuredMs: [] as number[], baselineMs: [] as number[] }));
    for (let round = -2; round < bench.rounds(20); round++)
      for (const [index, { python, typescript }] of PAIRS.entries()) {
        await delay(REFILL_MS);
        const baselineMs = await runProgram(ptc, typescript, "typescript");
        await delay(REFILL_MS);
        const measuredMs = await runProgram(ptc, python, "python");
        if (round < 0) continue;
        times[index]?.measuredMs.push(measuredMs);
        times[index]?.baselineMs.push(baselineMs);
      }
    await ptc.close();
    const none = { measuredMs: [], baselineMs: [] };
    return PAIRS.map(({ name }, index) =>
      ratio({ name, ...(times[index] ?? none), against: "the same in TypeScript", maxRatio: 1.1 }),
    );
  },
};

/** Enough sandboxes for a short series, so that no run waits for one. */
const POOL = 8;
/** Refills can wait for the end of a short series. In a long one, too few sandboxes are left after the fifth run. */
const SHORT = { rows: 25, followers: 3, comparedFrom: 0, refillMs: 2_000 };
const LONG = { rows: 10, followers: 9, comparedFrom: 4, refillMs: 4_000 };
/** The time between the end of a run and the next one, in which a replacement sandbox would be starting. */
const GAP_MS = 60;
/** A dozen calls, which a refill could slow down. */
const CODE = 'for (let i = 0; i < 12; i++) await mcp__echo__echo({ text: "x" });';

/** Runs that closely follow another, whose sandbox has to be replaced, against the first of the series. */
export const refills: Measurement = {
  name: "refills",
  about: "p95 of runs during refills of the pool, against runs without",
  async measure(bench: Bench) {
    const settings = { sandbox: { warm: POOL } };
    const ptc = await servePtc(makeProject(join(bench.folder, "refills"), settings));
    const short = await measureRows(bench, ptc, SHORT);
    const long = await measureRows(bench, ptc, LONG);
    await ptc.close();
    return [
      ratio({ name: "runs during refills, p95", ...short, at: 0.95, maxRatio: 1.5 }),
      ratio({ name: "runs during refills, p50", ...short }),
      ratio({ name: "runs during refills that cannot wait, p95", ...long, at: 0.95, maxRatio: 1.5 }),
      ratio({ name: "runs during refills that cannot wait, p50", ...long }),
    ];
  },
};

async function measureRows(
  bench: Bench,
  ptc: Served,
  { rows, followers, comparedFrom, refillMs }: typeof SHORT,
) {
  const measuredMs: number[] = [];
  const baselineMs: number[] = [];
  for (let row = -2; row < bench.rounds(rows); row++) {
    await delay(refillMs);
    const firstMs = await runProgram(ptc, CODE);
    const followingMs: number[] = [];
    for (let i = 0; i < followers; i++) {
      await delay(GAP_MS);
      followingMs.push(await runProgram(ptc, CODE));
    }
    if (row < 0) continue;
    baselineMs.push(firstMs);
    measuredMs.push(...followingMs.slice(comparedFrom));
  }
  return { measuredMs, baselineMs, against: "without refills" };
}
