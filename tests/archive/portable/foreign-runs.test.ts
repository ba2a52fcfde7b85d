import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { RunRecord } from "../../../archive/run-record.ts";
import { readStats } from "../../../archive/sqlite/sqlite-archive-store.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";
import { importRuns, readFileOfRuns, verifyArchive } from "../on-connection.ts";
import { sha256 } from "../sample-runs.ts";
import { blobLine, ExportedRuns, NOW, ROOMY } from "./exported-runs.ts";

const made = new ExportedRuns();
const { runIds, body, writeLines, withRun } = made;

/** A text that the record names by its digest, and the lines that hold both. */
const withText = (json: string, name: (digest: string, record: RunRecord) => object) =>
  withRun((record) => ({ ...record, ...name(sha256(json), record as never) }), [blobLine(json)]);
const withMembers = (members: object) => withRun((record) => ({ ...record, ...members }));
const withCalls = (change: object) =>
  withRun((record) => ({ ...record, ...callsWith(record as never, change) }));
const callsWith = ({ calls }: RunRecord, change: object) => ({
  calls: calls.map((call) => ({ ...call, ...change })),
});

const NONE = /the record is not one that ptc writes/;
const badRuns: [name: string, lines: () => string[], named: RegExp][] = [
  ["another field in a record", () => withMembers({ more: 1 }), NONE],
  ["a name of JavaScript's in a record", () => withMembers({ options: JSON.parse('{"__proto__":1}') }), NONE],
  [
    "a call that failed without having failed",
    () => withCalls({ ok: false }),
    /call 1 \(mcp__math__add\): the outcome blob is another call's/,
  ],
  ["a run id that is a path", () => withMembers({ run_id: "../../x" }), NONE],
  ["a name of megabytes", () => withMembers({ file_name: "x".repeat(5000) }), NONE],
  ["numbers out of bounds", () => withMembers({ started_at: -1 }), NONE],
  ["another run's envelope", () => withMembers({ run_id: randomUUID() }), /the envelope is another run's/],
  [
    "an envelope that is none",
    () => withoutStrays(withRun((record) => ({ ...record, envelope: record.data }))),
    /the envelope cannot be what ptc wrote/,
  ],
  [
    "an outcome that is none",
    () => withText('{"ok":1}', (outcome, record) => callsWith(record, { outcome })),
    /call 1 \(mcp__math__add\): the outcome blob cannot be what ptc wrote/,
  ],
  [
    "arguments that are not canonical",
    () => withText('{"z":1,"a":2}', (digest, record) => callsWith(record, { arguments: digest })),
    /call 1 \(mcp__math__add\): the arguments blob cannot be what ptc wrote/,
  ],
  [
    "calls out of order",
    () => withRun((record) => ({ ...record, calls: (record.calls as object[]).toReversed() })),
    /out of order/,
  ],
  ["a date of the year 275760", () => withMembers({ started_at: 8.64e15 }), /a wrong started_at/],
  ["a date within a millisecond", () => withMembers({ started_at: 0.5 }), /a wrong started_at/],
  [
    "sizes that no sum holds",
    () => withCalls({ result_bytes: 2 ** 53 - 1 }),
    /a wrong calls\.0\.result_bytes/,
  ],
  ["an endless call", () => withCalls({ duration_ms: 1e308 }), /a wrong calls\.0\.duration_ms/],
  [
    "an envelope with an endless duration",
    () => {
      const json = envelopeOfFirstRun().replace(/"duration_ms":7/, `"duration_ms":${2 ** 53 - 1}`);
      return withoutStrays(withText(json, (envelope) => ({ envelope })));
    },
    /the envelope holds a wrong duration_ms/,
  ],
  [
    "a value that nests",
    () => withText("[".repeat(50_000) + "]".repeat(50_000), (data) => ({ data })),
    /nests deeper than 1000 levels/,
  ],
  ...["1e400", '{"a":1,"a":2}', "nothing", '"\\x"'].map((json): (typeof badRuns)[number] => [
    `a value that is ${json}`,
    () => withText(json, (data) => ({ data })),
    /a value that .* cannot be archived/,
  ]),
];

describe("a run that ptc did not archive is refused in one line, and the others are taken in", () => {
  test.each(badRuns)("%s", async (_, lines, named) => {
    const { imported, skipped, refused } = await importRuns(made.target, writeLines(lines()), NOW);
    expect({ imported, skipped }).toEqual({ imported: runIds.slice(1, 3), skipped: [] });
    expect(refused).toHaveLength(1);
    expect(refused[0]?.message).toMatch(named);
    expect(refused[0]?.message).toMatch(
      /^(?:run [0-9a-f-]{36}|the run on line \d+) was not imported: [^\n]*$/,
    );
    expect(await verifyArchive(made.target)).toMatchObject({ runs: 2, problems: [] });
    expect(readStats(made.target)).toMatchObject({ runs: 2, undated: 0 });
  });

  test("unless they are more than an export could ever have", async () => {
    const bad = Array.from({ length: 5 }, (_, i) => JSON.stringify({ run: digestOf({ i }), record: { i } }));
    const file = writeLines([...body(), ...bad]);
    const { refused } = await importRuns(made.target, file, NOW);
    expect(refused.map(({ runId }) => runId)).toEqual(Array.from({ length: 5 }, () => undefined));
    const read = async () => {
      for await (const _ of readFileOfRuns(file, { ...ROOMY, maxRefused: 4 }));
    };
    await expect(read()).rejects.toThrow(/is one more than the 4 runs that ptc did not archive/);
  });
});

/** The lines without values that no run names. */
function withoutStrays(given: readonly string[]): string[] {
  const records = given.filter((line) => line.startsWith('{"run":')).join();
  return given.filter((line) => !line.startsWith('{"blob":') || records.includes(JSON.parse(line).blob));
}

function envelopeOfFirstRun(): string {
  const run = made.lines.find((line) => line.startsWith('{"run":')) ?? "";
  const { envelope } = JSON.parse(run).record;
  return JSON.parse(made.lines.find((line) => line.startsWith(`{"blob":"${envelope}"`)) ?? "").json;
}

test("a run that the archive cannot hold beside what it has is left out, and named", async () => {
  const { target, exported } = made;
  const [first, ...others] = runIds.slice(0, 3);
  target.exec(
    `CREATE TRIGGER taken BEFORE INSERT ON runs WHEN NEW.run_id = '${first}' BEGIN SELECT RAISE(ABORT, 'taken'); END`,
  );
  const { imported, refused } = await importRuns(target, exported, NOW);
  expect(imported).toEqual(others);
  expect(refused).toEqual([{ runId: first, message: expect.stringContaining("taken") }]);
  expect(await verifyArchive(target)).toMatchObject({ runs: 2, problems: [] });
});

test("a fault of the archive itself ends the import, and is no fault of a run", async () => {
  const { target, exported } = made;
  target.exec("ALTER TABLE run_tools RENAME TO elsewhere");
  await expect(importRuns(target, exported, NOW)).rejects.toMatchObject({
    name: "ArchiveError",
    message: expect.stringContaining("run_tools"),
  });
  target.exec("ALTER TABLE elsewhere RENAME TO run_tools");
  expect(await verifyArchive(target)).toMatchObject({ runs: 0, blobs: 0, problems: [] });
  expect(await importRuns(target, exported, NOW)).toMatchObject({
    imported: runIds.slice(0, 3),
    refused: [],
  });
});
