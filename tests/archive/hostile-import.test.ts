import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Database } from "../../archive/database.ts";
import { exportRuns } from "../../archive/export-runs.ts";
import { importRuns } from "../../archive/import-runs.ts";
import { listRuns } from "../../archive/list-runs.ts";
import { readPortable } from "../../archive/read-portable.ts";
import { storeRun } from "../../archive/store-run.ts";
import { verifyArchive } from "../../archive/verify.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { openQuickly, sampleRun, sha256, temporaryFolder } from "./sample-runs.ts";

const folder = temporaryFolder();
const NOW = Date.UTC(2031, 0, 1);
const exported = join(folder.path, "runs.ptc");

let source: Database;
let target: Database;
const runIds: string[] = [];
/** The lines of the export, without their line feeds. */
let lines: string[];

beforeAll(async () => {
  source = openQuickly(join(folder.path, "source.db"));
  for (let i = 0; i < 4; i++) {
    const { run, calls } = sampleRun({ code: `run(${i})`, answer: (seq) => `shared ${seq} `.repeat(300) });
    storeRun(source, run, calls);
    runIds.push(run.facts.run_id);
  }
  await exportRuns(source, runIds.slice(0, 3), exported);
  lines = gunzipSync(readFileSync(exported)).toString().trimEnd().split("\n");
});
beforeEach(() => {
  target?.close();
  target = openQuickly(join(folder.path, `target-${randomUUID()}.db`));
});
afterAll(() => {
  source.close();
  target.close();
  folder.remove();
});

/** A file of these lines, with an end that fits them unless they have one. */
function writeLines(given: readonly string[], options: { end?: object | null; file?: string } = {}): string {
  const file = options.file ?? join(folder.path, `${randomUUID()}.ptc`);
  const body = given.map((line) => `${line}\n`).join("");
  const count = (key: string) => given.filter((line) => line.startsWith(`{"${key}":`)).length;
  const end = options.end ?? { runs: count("run"), blobs: count("blob"), digest: sha256(body) };
  writeFileSync(file, gzipSync(options.end === null ? body : `${body}${JSON.stringify(end)}\n`));
  return file;
}

const body = () => lines.slice(0, -1);
const lastLine = () => JSON.parse(lines.at(-1) ?? "");
const blobLine = (json: string) => JSON.stringify({ blob: sha256(json), json });

/** The lines with the first run, on line `at`, changed; its digest fits. */
function withRun(change: (record: Record<string, unknown>) => object, more: string[] = []): string[] {
  const at = lines.findIndex((line) => line.startsWith('{"run":'));
  const { record } = JSON.parse(lines[at] ?? "");
  const changed = change(record);
  const run = JSON.stringify({ run: digestOf(changed), record: changed });
  const rest = body();
  return [...rest.slice(0, at), ...more, run, ...rest.slice(at + 1)];
}

describe("a file that is not a whole, unchanged export", () => {
  const refused = async (file: string, named: RegExp) => {
    const before = verifyArchive(target);
    const refusal = await importRuns(target, file, NOW).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refusal).toMatchObject({ name: "ArchiveError" });
    expect((refusal as Error).message).toMatch(named);
    expect((refusal as Error).message).not.toMatch(/\n/);
    expect(verifyArchive(target)).toEqual(before);
  };

  test("is refused when it is cut off anywhere, or a byte of it is another", async () => {
    const bytes = readFileSync(exported);
    for (let i = 0; i < 40; i++) {
      const at = Math.floor((i / 40) * bytes.length);
      const cut = join(folder.path, "cut.ptc");
      writeFileSync(cut, bytes.subarray(0, at));
      await refused(cut, /nothing was imported/);
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 16;
      writeFileSync(cut, changed);
      const result = await importRuns(target, cut, NOW).catch((error: unknown) => error);
      // The header of gzip holds a time and flags that change nothing.
      if (!(result instanceof Error)) expect(at).toBeLessThan(10);
      else expect(result).toMatchObject({ code: "bad-file" });
    }
    for (let count = 0; count < lines.length; count++) {
      await refused(writeLines(lines.slice(0, count), { end: null }), /nothing was imported/);
    }
  });

  const cases: [name: string, file: () => string, named: RegExp][] = [
    ["no file", () => join(folder.path, "nowhere"), /cannot be read \(ENOENT\)/],
    ["a folder", () => folder.path, /is not a regular file/],
    ["a device without an end", () => "/dev/zero", /is not a regular file/],
    ["not gzip", () => writePlain("something else"), /cannot be read/],
    ["nothing", () => writePlain(""), /has no end|cannot be read/],
    ["another format", () => writeLines(['{"format":"other","version":1}']), /does not begin like one/],
    [
      "a newer version",
      () => writeLines(['{"format":"ptc-archive","version":2}']),
      /has version 2, and this ptc reads 1/,
    ],
    [
      "another header over the same end",
      () =>
        writeLines(['{"format":"ptc-archive","version":1,"more":1}', ...body().slice(1)], {
          end: lastLine(),
        }),
      /does not match what comes before/,
    ],
    ["no header", () => writeLines(body().slice(1)), /does not begin like one/],
    [
      "a header of megabytes",
      () => writeLines([`{"format":"ptc-archive","x":"${"x".repeat(5e6)}"}`]),
      /does not begin/,
    ],
    ["no JSON", () => writeLines([...body(), "{"]), /is not a line of an export/],
    ["JSON that nests", () => writeLines([...body(), "[".repeat(100_000)]), /is not a line of an export/],
    [
      "a value that nests",
      () =>
        writeLines([lines[0] ?? "", blobLine("[".repeat(50_000) + "]".repeat(50_000)), ...body().slice(1)]),
      /nests too deep/,
    ],
    [
      "a line of another kind",
      () => writeLines([...body(), '{"blob":"x","run":"y"}']),
      /is not a line of an export/,
    ],
    [
      "a name of JavaScript's",
      () => writeLines([...body(), '{"__proto__":{},"constructor":1}']),
      /is not a line/,
    ],
    [
      "a value under another digest",
      () => writeLines(body().map((line, i) => (i === 1 ? line.replace(/"json":"/, '"json":" ') : line))),
      /line 2 does not match its digest/,
    ],
    [
      "a value twice",
      () => writeLines([...body().slice(0, 2), lines[1] ?? "", ...body().slice(2)]),
      /line 3 was there before/,
    ],
    ["a value of nobody's", () => writeLines([...body(), blobLine('"stray"')]), /belong to no run/],
    [
      "a missing value",
      () => writeLines(body().filter((_, i) => i !== 1)),
      /names sha256:\w+, which is not in the file/,
    ],
    [
      "a record under another digest",
      () =>
        writeLines(body().map((line) => line.replace('"file_name":"program.ts"', '"file_name":"other.ts"'))),
      /does not match its digest/,
    ],
    ["a run twice", () => writeLines([...body(), body().at(-1) ?? ""]), /for the second time/],
    [
      "counts that do not fit",
      () => writeLines(body(), { end: { runs: 9, blobs: 1, digest: sha256("") } }),
      /does not match what comes before/,
    ],
    ["more after its end", () => writeLines(lines), /comes after the end/],
    ["two files in one", () => writeTwice(), /comes after the end/],
    [
      "another field in a record",
      () => writeLines(withRun((record) => ({ ...record, more: 1 }))),
      /is no record/,
    ],
    [
      "options that nest",
      () =>
        writeLines(
          withRun((record) => ({ ...record, options: JSON.parse("[".repeat(2000) + "]".repeat(2000)) })),
        ),
      /is not a line of an export/,
    ],
    [
      "a name of JavaScript's in a record",
      () => writeLines(withRun((record) => ({ ...record, options: JSON.parse('{"__proto__":1}') }))),
      /is no record/,
    ],
    [
      "a call that failed without having failed",
      () =>
        writeLines(
          withRun((record) => ({
            ...record,
            calls: (record.calls as object[]).map((call) => ({ ...call, ok: false })),
          })),
        ),
      /call 1 \(mcp__math__add\): the outcome blob is another call's/,
    ],
    [
      "a run id that is a path",
      () => writeLines(withRun((record) => ({ ...record, run_id: "../../x" }))),
      /is no record/,
    ],
    [
      "a name of megabytes",
      () => writeLines(withRun((record) => ({ ...record, file_name: "x".repeat(5000) }))),
      /is no record/,
    ],
    [
      "numbers out of bounds",
      () => writeLines(withRun((record) => ({ ...record, started_at: -1 }))),
      /is no record/,
    ],
    [
      "another run's envelope",
      () => writeLines(withRun((record) => ({ ...record, run_id: randomUUID() }))),
      /the envelope is another run's/,
    ],
    [
      "an envelope that is none",
      () => writeLines(withRun((record) => ({ ...record, envelope: record.data }))),
      /belong to no run|the envelope cannot be what ptc wrote/,
    ],
    [
      "an outcome that is none",
      () =>
        writeLines(
          withRun(
            (record) => ({
              ...record,
              calls: (record.calls as object[]).map((call) => ({ ...call, outcome: sha256('{"ok":1}') })),
            }),
            [blobLine('{"ok":1}')],
          ),
        ),
      /call 1 \(mcp__math__add\): the outcome blob cannot be what ptc wrote/,
    ],
    [
      "arguments that are not canonical",
      () =>
        writeLines(
          withRun(
            (record) => ({
              ...record,
              calls: (record.calls as object[]).map((call) => ({
                ...call,
                arguments: sha256('{"z":1,"a":2}'),
              })),
            }),
            [blobLine('{"z":1,"a":2}')],
          ),
        ),
      /call 1 \(mcp__math__add\): the arguments blob cannot be what ptc wrote/,
    ],
    [
      "calls out of order",
      () => writeLines(withRun((record) => ({ ...record, calls: (record.calls as object[]).toReversed() }))),
      /out of order/,
    ],
  ];

  test.each(cases)("is refused: %s", (_, file, named) => refused(file(), named));

  test("is refused when a run in it is here with other content", async () => {
    await importRuns(target, exported, NOW);
    const { run, calls } = sampleRun({ runId: randomUUID() });
    storeRun(source, run, calls);
    const other = join(folder.path, "conflict.ptc");
    await exportRuns(source, [run.facts.run_id], other);
    storeRun(target, { ...run, consoleText: "other" }, calls);
    const before = verifyArchive(target);
    await expect(importRuns(target, other, NOW)).rejects.toMatchObject({ code: "conflict" });
    expect(verifyArchive(target)).toEqual(before);
  });

  test("cannot fill memory or time: lines, their number and all of it are bounded", async () => {
    const read = async (file: string, limits: Parameters<typeof readPortable>[1]) => {
      for await (const _ of readPortable(file, limits));
    };
    const roomy = { maxLineBytes: 1e9, maxLines: 1e9, maxBytes: 1e9 };
    const bomb = join(folder.path, "bomb.ptc");
    writeFileSync(bomb, gzipSync(Buffer.alloc(50_000_000, " ")));
    expect(statSync(bomb).size).toBeLessThan(100_000);
    await expect(read(bomb, { ...roomy, maxLineBytes: 1_000_000 })).rejects.toThrow(
      /a line of more than 1000000 bytes/,
    );
    await expect(read(bomb, { ...roomy, maxBytes: 1_000_000 })).rejects.toThrow(
      /unpacks to more than 1000000 bytes/,
    );
    await expect(read(exported, { ...roomy, maxLines: 3 })).rejects.toThrow(/line 4 is one more than the 3/);
    await read(exported, roomy);
  });

  test("writes nothing anywhere, whatever names are in it", async () => {
    const inside = join(folder.path, "inside");
    mkdirSync(inside);
    const file = writeLines(
      withRun((record) => ({ ...record, file_name: "../../outside", origin: undefined })),
      {
        file: join(inside, "\u001b[31m.ptc"),
      },
    );
    await importRuns(target, file, NOW);
    const run = listRuns(target, { limit: 10 }).find(({ file_name }) => file_name !== "program.ts");
    expect(run).toMatchObject({ file_name: "../../outside", origin: "?[31m.ptc" });
    expect(readdirSync(inside)).toHaveLength(1);
    expect(existsSync(join(inside, "../../outside"))).toBe(false);
  });
});

function writePlain(text: string): string {
  const file = join(folder.path, `${randomUUID()}.plain`);
  writeFileSync(file, text);
  return file;
}

function writeTwice(): string {
  const bytes = readFileSync(exported);
  const file = join(folder.path, "twice.ptc");
  writeFileSync(file, Buffer.concat([bytes, bytes]));
  return file;
}
