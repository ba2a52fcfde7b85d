import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { ArchiveError } from "../../../archive/archive-error.ts";
import { pruneRuns } from "../../../archive/sqlite/prune.ts";
import { findRuns, readArchived, readStats } from "../../../archive/sqlite/sqlite-archive-store.ts";
import { TYPESCRIPT_PRINTER as PRINTER } from "../../../codegen/typescript/typescript-printer.ts";
import { toReplayable } from "../../../execution/replay/recorded-run.ts";
import { renderRunText } from "../../../project/run-report/run-text.ts";
import { renderRunList, renderStatsText } from "../../../project/run-report/runs-text.ts";
import { readPageAssets } from "../../../server/pages/page.ts";
import { renderRunPage } from "../../../server/pages/run-page.ts";
import { renderStatsPage } from "../../../server/pages/stats-page.ts";
import { tries } from "../../tries.ts";
import { exportRuns, importRuns, listAllRuns, verifyArchive } from "../on-connection.ts";
import { openQuickly, sampleRun, sha256, temporaryFolder } from "../sample-runs.ts";

/** More of them where somebody has the time. */
const RUNS = tries(50);
const NOW = Date.UTC(2031, 0, 1);
const TERMINAL = { columns: 80, style: (_: unknown, text: string) => text };
const PARTS = ["code", "data", "console", "envelope", "environment"];

const folder = temporaryFolder();
afterAll(folder.remove);

/** A run as a file holds it: its record, and the JSON of all that it names, which may be no JSON. */
interface PortableRun {
  record: Record<string, unknown>;
  texts: Map<string, string>;
}

function portableRun(): PortableRun {
  const { run, calls } = sampleRun();
  const texts = new Map<string, string>();
  const put = (json: string) => {
    texts.set(sha256(json), json);
    return sha256(json);
  };
  const { facts, code, dataJson, consoleText, envelope, environmentJson, modules } = run;
  const record = {
    format: 1,
    ...facts,
    code: put(JSON.stringify(code)),
    data: put(dataJson),
    console: put(JSON.stringify(consoleText)),
    envelope: put(JSON.stringify(envelope)),
    environment: put(environmentJson),
    modules: modules.map(({ module, text }) => ({ module, digest: put(JSON.stringify(text)) })),
    calls: calls.map((call) => ({
      ...call.facts,
      arguments: put('{"a":1,"b":2}'),
      outcome: put(call.outcomeJson),
    })),
  };
  return { record, texts };
}

/** JSON with sorted members, which also writes what is no JSON. */
function writeSorted(value: unknown): string {
  if (value instanceof Raw) return value.json;
  if (Array.isArray(value)) return `[${value.map(writeSorted).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${writeSorted(member)}`).join(",")}}`;
}

/** Text that stands in JSON as it is. */
class Raw {
  readonly json: string;
  constructor(json: string) {
    this.json = json;
  }
  [fc.toStringMethod](): string {
    return `Raw(${this.json.slice(0, 80)})`;
  }
}

const deep = "[".repeat(5_000) + "]".repeat(5_000);
const extreme: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[2 ** 53 - 1, 2 ** 53, -1, -0, 0.5, 1e308, 5e-324, 8.64e15, 8.64e15 + 1, 253_402_300_800_000],
    ...[2 ** 31, 2 ** 32, 2 ** 32 + 1, 4e12, null, true, "", "NaN", "1", [], {}, [[]], { a: 1 }],
    ...["\u0000", "\ud800", "\u2028\n\u001b[2J", "x".repeat(100_000), "__proto__", "../../etc/passwd"],
    ...["1e400", "-1e400", deep, '{"a":1,"a":2}', "1".repeat(400), '{"__proto__":1}', "01", '"\\ud800"'].map(
      (json) => new Raw(json),
    ),
    ...[sha256("nothing"), new Raw(`[${"0,".repeat(99_999)}0]`)],
  ),
  fc.double(),
  fc.maxSafeInteger(),
  fc.jsonValue(),
  fc.string({ unit: "binary" }),
);

interface Mutation {
  /** Which of the values that can be changed, and in which text. */
  at: number;
  value: unknown;
  kind: "replace" | "remove" | "add" | "digest";
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat({ max: 10_000 }),
  value: extreme,
  kind: fc.constantFrom("replace", "replace", "replace", "remove", "add", "digest"),
});

/** What is longer was changed before: it may nest deeper than this test's own recursion goes. */
const MAX_CHANGED_CHARS = 8_000;

/** Every place in a value: what holds it, and its name there. */
function placesIn(value: unknown): { holder: Record<string, unknown>; name: string }[] {
  if (typeof value !== "object" || value === null || value instanceof Raw) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((name) => [{ holder, name }, ...placesIn(holder[name])]);
}

function mutate(root: { value: unknown }, { at, value, kind }: Mutation): void {
  const places = placesIn(root);
  const { holder, name } = places[at % places.length] ?? { holder: root as never, name: "value" };
  if (kind === "remove") delete holder[name];
  else if (kind === "add") Object.assign(holder, { more: value });
  else holder[name] = value;
}

/** Changes the record, or one of the texts, whose digest then fits again unless the mutation says otherwise. */
function apply(run: PortableRun, change: Mutation): void {
  const { record, texts } = run;
  const digests = [...texts.keys()];
  const target = change.at % (digests.length + 2);
  const digest = digests[target];
  if (digest === undefined) {
    const root = { value: record };
    mutate(root, change);
    if (typeof root.value === "object" && root.value !== null) run.record = root.value as never;
    return;
  }
  const root = { value: parseOr(texts.get(digest) ?? "") };
  mutate(root, { ...change, at: Math.floor(change.at / (digests.length + 2)) });
  const json = writeSorted(root.value);
  texts.delete(digest);
  const named = change.kind === "digest" ? digest : sha256(json);
  texts.set(named, json);
  rename(record, digest, named);
}

function parseOr(json: string): unknown {
  if (json.length > MAX_CHANGED_CHARS) return new Raw(json);
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

function rename(value: unknown, from: string, to: string): void {
  for (const { holder, name } of placesIn(value)) if (holder[name] === from) holder[name] = to;
}

function writeFile(runs: readonly PortableRun[]): string {
  const lines = ['{"format":"ptc-archive","version":1}'];
  const written = new Set<string>();
  for (const { record, texts } of runs) {
    const recordJson = writeSorted(record);
    for (const [digest, json] of texts) {
      if (written.has(digest)) continue;
      written.add(digest);
      lines.push(JSON.stringify({ blob: digest, json }));
    }
    lines.push(`{"run":"${sha256(recordJson)}","record":${recordJson}}`);
  }
  const body = lines.map((line) => `${line}\n`).join("");
  const end = { runs: runs.length, blobs: written.size, digest: sha256(body) };
  const file = join(folder.path, "fuzz.ptc");
  writeFileSync(file, gzipSync(`${body}${JSON.stringify(end)}\n`));
  return file;
}

test("whatever is in a file, it is refused in one line, or all that reads archives goes on", {
  timeout: 600_000,
}, async () => {
  const assets = readPageAssets();
  let made = 0;
  let taken = 0;
  const property = fc.asyncProperty(
    fc.array(fc.array(mutation, { maxLength: 3 }), { minLength: 1, maxLength: 3 }),
    async (changes) => {
      const runs = changes.map((each) => {
        const run = portableRun();
        for (const change of each) apply(run, change);
        return run;
      });
      const file = writeFile(runs);
      const db = openQuickly(join(folder.path, `fuzz-${made++}.db`));
      try {
        const result = await importRuns(db, file, NOW).catch((error: unknown) => error);
        if (result instanceof Error) {
          expect(result).toBeInstanceOf(ArchiveError);
          expect(result.message).not.toMatch(/\n/);
        } else {
          const { imported, refused } = result as Awaited<ReturnType<typeof importRuns>>;
          taken += imported.length;
          for (const { message } of refused) expect(message).toMatch(/^(?:run|the run on line) [^\p{Cc}]*$/u);
          expect(imported.length + refused.length).toBe(runs.length);
        }
        expect((await verifyArchive(db)).problems).toEqual([]);
        const listed = await listAllRuns(db, {}, ({ message }) => expect(message).toBe(""));
        renderRunList(listed, TERMINAL, NOW);
        const stats = readStats(db);
        expect(stats.undated).toBe(0);
        renderStatsText(stats, TERMINAL);
        renderStatsPage(stats, assets, NOW);
        for (const { run_id } of listed) {
          expect(findRuns(db, run_id)).toMatchObject({ kind: "one" });
          const run = await readArchived(db, run_id);
          await renderRunText(run, TERMINAL, NOW);
          await renderRunPage(run, assets);
          toReplayable(run, PRINTER);
        }
        if (listed.length > 0) {
          const ids = listed.map(({ run_id }) => run_id);
          expect((await exportRuns(db, ids, join(folder.path, `again-${made}.ptc`))).damaged).toEqual([]);
        }
        pruneRuns(db, { beforeMs: NOW, nowMs: NOW });
        pruneRuns(db, { beforeMs: Number.POSITIVE_INFINITY, nowMs: NOW });
        expect(await verifyArchive(db)).toMatchObject({ runs: 0, blobs: 0, problems: [] });
      } finally {
        db.close();
      }
    },
  );
  await fc.assert(property, { numRuns: RUNS });
  // Else nothing was tested but refusals.
  expect(taken).toBeGreaterThan(RUNS / 10);
});

test("the parts of a record that the fuzzing changes are those that there are", () => {
  expect(Object.keys(portableRun().record)).toEqual(expect.arrayContaining(PARTS));
});
