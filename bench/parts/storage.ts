/** Measures keeping runs in PostgreSQL, on a separate server whose commits wait for the disk. */

import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ArchiveStore } from "../../archive/archive-store.ts";
import type { PageFilter } from "../../archive/listed-run.ts";
import { openPool, type PgDatabase, Statements } from "../../archive/postgres/database.ts";
import { openPostgresArchive } from "../../archive/postgres/postgres.ts";
import { findRuns, listRunPage, readStats } from "../../archive/postgres/postgres-archive-store.ts";
import { makeMonth, migrate, monthAfter, monthOf } from "../../archive/postgres/schema.ts";
import { SqliteArchiveStore } from "../../archive/sqlite/sqlite-archive-store.ts";
import { archiveRun } from "../../tests/archive/made-archives.ts";
import { PostgresServer, WITHOUT_POSTGRES } from "../../tests/archive/postgres/server.ts";
import { sampleRun } from "../../tests/archive/sample-runs.ts";
import { type Bench, type Figure, type Measurement, percentile, ratio, show } from "../measurement.ts";

const SETTINGS = ["shared_buffers=512MB", "max_wal_size=4GB", "autovacuum=on", "maintenance_work_mem=256MB"];

export const storage: Measurement = {
  name: "storage",
  about: "runs in PostgreSQL: appending, several writers, and SQLite beside it",
  measure: (bench) => withServer(bench, "storage", measureWriting),
};

export const manyCalls: Measurement = {
  name: "many-calls",
  about: "list, find and stats among the calls of many runs in PostgreSQL (PTC_BENCH_CALLS=10000000)",
  measure: (bench) => withServer(bench, "many-calls", measureReading),
};

async function withServer(
  bench: Bench,
  what: string,
  measure: (server: PostgresServer, bench: Bench) => Promise<Figure[]>,
): Promise<Figure[]> {
  if (WITHOUT_POSTGRES !== "") {
    bench.skip(what, "there is no PostgreSQL; `npm run setup` installs it");
    return [];
  }
  const server = new PostgresServer(SETTINGS);
  await server.start();
  try {
    return await measure(server, bench);
  } finally {
    await server.stop();
    server.remove();
  }
}

const CALLS = 20;

/** A run whose calls return a page each. */
function sample() {
  return sampleRun({ calls: CALLS, answer: (seq) => page(seq) });
}

function page(seq: number): unknown {
  return {
    rows: Array.from({ length: 25 }, (_, row) => ({
      id: randomUUID(),
      name: `customer ${(seq * 31 + row * 7_919) % 1_000}`,
      total: row * 1.25,
    })),
  };
}

async function measureWriting(server: PostgresServer, bench: Bench): Promise<Figure[]> {
  return [
    await measureAppend(server, bench),
    ...(await measureWriters(server, bench)),
    ...(await measureKinds(server, bench)),
  ];
}

/** The time from a run's end to its answer, against an insert of the same bytes that waits for the disk as well. */
async function measureAppend(server: PostgresServer, bench: Bench): Promise<Figure> {
  const url = server.url();
  const archive = await openPostgresArchive(url, { keepDays: 36_500 });
  const bare = await openPool(url, { max: 1 });
  await migrate(bare);
  await bare.exec("CREATE TABLE bare (id bigserial PRIMARY KEY, content bytea NOT NULL)");
  const [measuredMs, baselineMs]: [number[], number[]] = [[], []];
  for (let round = 0; round < bench.rounds(200) + 10; round++) {
    const made = sample();
    const recording = archive.begin(made.run.facts.run_id);
    for (const call of made.calls) await recording.addCall(call);
    // The writing thread takes the calls while the program continues.
    await new Promise((resolve) => setTimeout(resolve, 5));
    const appendMs = await time(() => recording.finish(made.run));
    const texts = textsOf(made);
    const rows = texts.map((_, index) => `($${index + 1}::bytea)`).join(", ");
    const bareMs = await time(() => bare.run(`INSERT INTO bare (content) VALUES ${rows}`, ...texts));
    // The first rounds connect, prepare statements and create the month's tables.
    if (round < 10) continue;
    measuredMs.push(appendMs);
    baselineMs.push(bareMs);
  }
  await archive.close();
  await bare.close();
  const name = `a run of ${CALLS} calls, from its end to its answer, in PostgreSQL`;
  return ratio({
    name,
    measuredMs,
    against: "a bare insert of the same bytes, a row for each text",
    baselineMs,
    maxRatio: 2,
  });
}

/** The bytes of a run as the archive keeps them, one buffer per text. */
function textsOf({ run, calls }: ReturnType<typeof sample>): Buffer[] {
  const texts = calls.flatMap(({ argumentsJson, outcomeJson }) => [argumentsJson, outcomeJson]);
  const { facts, envelope, dataJson, environmentJson, code, consoleText, modules } = run;
  const own = [JSON.stringify([facts, calls.map((call) => call.facts)]), JSON.stringify(envelope), dataJson];
  return [...texts, ...own, environmentJson, code, consoleText, ...modules.map(({ text }) => text)].map(
    (text) => Buffer.from(text),
  );
}

const WRITER = join(import.meta.dirname, "../servers/storage-writer.ts");

/** Runs per second of several processes together that archive runs as fast as they can. */
async function runsPerSecond(urls: readonly string[], seconds: number): Promise<number> {
  const children = urls.map((url) => fork(WRITER, [url, String(seconds)], { stdio: "inherit" }));
  const counts = children.map(async (child) => {
    const [message] = (await once(child, "message")) as [{ runs: number; ms: number }];
    await once(child, "exit");
    return (message.runs / message.ms) * 1_000;
  });
  return (await Promise.all(counts)).reduce((sum, each) => sum + each, 0);
}

async function measureWriters(server: PostgresServer, bench: Bench): Promise<Figure[]> {
  const seconds = bench.isQuick ? 2 : 10;
  const url = server.url();
  const one = await runsPerSecond([url], seconds);
  const four = await runsPerSecond([url, url, url, url], seconds);
  const apart = await runsPerSecond(
    [1, 2, 3, 4].map(() => server.url()),
    seconds,
  );
  const detail = `${one.toFixed(0)} runs/s of one, ${four.toFixed(0)} of four on one chain, ${apart.toFixed(0)} of four with a chain each`;
  return [
    {
      name: "4 processes that archive runs, on one chain",
      value: four / one,
      unit: "times",
      against: "one process",
      detail,
    },
    {
      name: "4 processes on one chain",
      value: four / apart,
      unit: "times",
      against: "4 processes with a chain each",
      detail,
    },
  ];
}

/** Runs per second of one process with several runs in progress. */
async function measureKinds(server: PostgresServer, bench: Bench): Promise<Figure[]> {
  const folder = join(bench.folder, "storage");
  mkdirSync(folder, { recursive: true });
  const stores: [string, ArchiveStore][] = [
    ["SQLite", new SqliteArchiveStore({ path: join(folder, "runs.db"), keepDays: 36_500 })],
    ["PostgreSQL", await openPostgresArchive(server.url(), { keepDays: 36_500 })],
  ];
  const figures: Figure[] = [];
  for (const [name, store] of stores) {
    const samples = Array.from({ length: bench.rounds(600) }, sample);
    await archiveRun(store, sample());
    const ms = await time(async () => {
      const waiting = [...samples];
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
            await archiveRun(store, next);
        }),
      );
    });
    await store.close();
    figures.push({
      name: `one process with 8 runs at a time, in ${name}`,
      value: (samples.length / ms) * 1_000,
      unit: "runs/s",
      detail: `${samples.length} runs of ${CALLS} calls`,
    });
  }
  return figures;
}

const CALLS_EACH = 12;
const TOOLS_EACH = 4;
const TOOLS = 50;
const DAYS = 60;
const START = Date.UTC(2030, 0, 1);
const DAY_MS = 86_400_000;
const MAX_MS = 50;

async function measureReading(server: PostgresServer, bench: Bench): Promise<Figure[]> {
  const calls = Number(process.env.PTC_BENCH_CALLS ?? (bench.isQuick ? 200_000 : 1_000_000));
  const runs = Math.ceil(calls / CALLS_EACH);
  const db = await openPool(server.url());
  const fillMs = await time(() => fill(db, runs));
  process.stderr.write(`${runs} runs of ${calls} calls are made in ${(fillMs / 1_000).toFixed(0)} s\n`);
  const digest = (round: number) => `sha256:${digestOf((round * 307) % Math.ceil(runs / 10))}`;
  const known = await findRuns(db, digest(0));
  if (known.kind === "none") throw new Error("the archive to measure with is not filled");
  const rounds = bench.rounds(60);
  const figures: Figure[] = [];
  const lookup = async (name: string, work: (db: Statements, round: number) => Promise<unknown>) => {
    const ms: number[] = [];
    for (let round = 0; round < rounds + 3; round++) {
      const took = await time(() => work(db, round));
      if (round >= 3) ms.push(took);
    }
    await explain(db, name, work);
    figures.push({
      name: `${name}, of ${calls.toLocaleString("en")} calls`,
      value: percentile(ms, 0.95),
      unit: "ms p95",
      bound: { atMost: MAX_MS },
      detail: `${show(ms)} ms`,
    });
  };
  const list = (name: string, filter: Omit<PageFilter, "limit">) =>
    lookup(name, (on) => listRunPage(on, { limit: 50, ...filter }));
  const end = START + DAYS * DAY_MS;
  await list("the newest 50 runs", {});
  await list("the newest 50 that failed", { status: "failed" });
  await list("the newest 50 of a rare failure", { status: "OutOfMemory" });
  await list("the newest 50 that called a tool", { tool: "mcp__bench__*7" });
  await list("a rare failure that called a tool", { status: "OutOfMemory", tool: "mcp__bench__7" });
  await list("a tool that was hardly called", { tool: "mcp__bench__rare" });
  await list("the newest 50 of one of 200 principals", { principal: "user 11" });
  await list("all of a principal with hardly any", { principal: "rare" });
  await lookup("a page in the middle", (on, round) =>
    listRunPage(on, { limit: 50, untilMs: START + (DAYS / 2) * DAY_MS - round }),
  );
  await lookup("runs of one digest", (on, round) => findRuns(on, digest(round)));
  await lookup("runs of a digest's first 12 digits", (on, round) => findRuns(on, digest(round).slice(0, 19)));
  await lookup("counts over all runs", (on) => readStats(on));
  await lookup("counts over the last 7 days", (on, round) =>
    readStats(on, { sinceMs: end - 7 * DAY_MS - round * 60_000 }),
  );
  await db.close();
  return figures;
}

/** The digest that `fill` stores for a number. */
function digestOf(number: number): string {
  return number.toString(16).padStart(64, "0").split("").reverse().join("");
}

/** Inserts rows only, because lists, lookups and counts read nothing else. */
async function fill(db: PgDatabase, runs: number): Promise<void> {
  await migrate(db);
  for (let month = monthOf(START); month < START + DAYS * DAY_MS; month = monthAfter(month))
    await makeMonth(db, month);
  await db.exec(`INSERT INTO tools (name, server)
    SELECT 'mcp__bench__' || CASE n WHEN 1 THEN 'rare' ELSE n::text END, 'bench' FROM generate_series(1, ${TOOLS}) AS n`);
  const stepMs = (DAYS * DAY_MS) / runs;
  const startedAt = `(${START} + floor(n * ${stepMs}))::bigint`;
  const month = `(extract(epoch FROM date_trunc('month', to_timestamp(${startedAt} / 1000.0) AT TIME ZONE 'UTC')) * 1000)::bigint`;
  const digest = `'sha256:' || reverse(lpad(to_hex(n % ${Math.ceil(runs / 10)}), 64, '0'))`;
  await db.exec(`INSERT INTO runs SELECT ${month}, n, gen_random_uuid()::text, ${digest}, 'none', 'none', NULL, NULL, ${digest}, ${startedAt},
      'run', CASE WHEN n % 50000 = 7 THEN 'rare' ELSE 'user ' || n % 200 END, NULL, NULL, NULL, NULL,
      CASE WHEN n % 5000 = 0 THEN 'OutOfMemory' WHEN n % 9 = 0 THEN 'ScriptError' ELSE 'ok' END,
      100 + n % 400, ${CALLS_EACH}, 1, 50000, 800, 0, 'program.ts', 'const pages = await parallel(tasks, { limit: ' || n || ' });'
    FROM generate_series(1, ${runs}) AS n`);
  await db.exec(`INSERT INTO run_tools
    SELECT ${month}, CASE WHEN step = 1 AND n % 30000 = 0 THEN 1 ELSE 2 + (n * step) % ${TOOLS - 1} END, ${startedAt}, n, false,
      ${CALLS_EACH / TOOLS_EACH}, 0, 120.5, 16000
    FROM generate_series(1, ${runs}) AS n, generate_series(1, ${TOOLS_EACH}) AS step ON CONFLICT DO NOTHING`);
  await db.exec(`UPDATE chain_ends SET id = ${runs} WHERE name = 'head'`);
  await db.exec("VACUUM ANALYZE");
}

/** Prints how the server carries out each statement of a lookup. */
async function explain(
  db: PgDatabase,
  name: string,
  work: (db: Statements, round: number) => Promise<unknown>,
): Promise<void> {
  const sent = new Map<string, unknown[]>();
  const recording = new Statements(db.place, (config) => {
    sent.set(config.text, config.values ?? []);
    return db.send(config);
  });
  await work(recording, 0);
  for (const [text, values] of sent) {
    const { rows } = await db.send({ text: `EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) ${text}`, values });
    const plan = rows.map((row) => (row as Record<string, string>)["QUERY PLAN"]);
    process.stderr.write(`EXPLAIN of ${name}:\n${text.replaceAll(/\s+/g, " ")}\n${plan.join("\n")}\n\n`);
  }
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
