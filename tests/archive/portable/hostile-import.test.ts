import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { storeRun } from "../../../archive/sqlite/store-run.ts";
import { exportRuns, importRuns, listRuns, readFileOfRuns, verifyArchive } from "../on-connection.ts";
import { sampleRun, sha256 } from "../sample-runs.ts";
import { blobLine, ExportedRuns, NOW, ROOMY } from "./exported-runs.ts";

const made = new ExportedRuns();
const { folder, exported, body, lastLine, writeLines, withRun } = made;

const FORMAT = '"format":"ptc-archive"';

describe("a file that is not a whole, unchanged export", () => {
  const refused = async (file: string, named: RegExp) => {
    const before = await verifyArchive(made.target);
    const refusal = await importRuns(made.target, file, NOW).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: "ArchiveError", message: expect.stringMatching(named) });
    expect((refusal as Error).message).not.toMatch(/\n/);
    expect(await verifyArchive(made.target)).toEqual(before);
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
      const result = await importRuns(made.target, cut, NOW).catch((error: unknown) => error);
      // The header of gzip holds a time and flags that change nothing.
      if (!(result instanceof Error)) expect(at).toBeLessThan(10);
      else expect(result).toMatchObject({ code: "bad-file" });
    }
    for (let count = 0; count < made.lines.length; count++) {
      await refused(writeLines(made.lines.slice(0, count), { end: null }), /nothing was imported/);
    }
  });

  test.each<[name: string, file: () => string, named: RegExp]>([
    ["no file", () => join(folder.path, "nowhere"), /cannot be read \(ENOENT\)/],
    ["a folder", () => folder.path, /is not a regular file/],
    ["a device without an end", () => "/dev/zero", /is not a regular file/],
    ["not gzip", () => writeBytes(Buffer.from("something else")), /cannot be read/],
    ["nothing", () => writeBytes(Buffer.from("")), /has no end|cannot be read/],
    ["two files in one", () => writeBytes(bytesOf(exported), bytesOf(exported)), /comes after the end/],
    [
      "another header over the same end",
      () => writeLines([`{${FORMAT},"version":1,"more":1}`, ...body().slice(1)], { end: lastLine() }),
      /does not match what comes before/,
    ],
    [
      "counts that do not fit",
      () => writeLines(body(), { end: { runs: 9, blobs: 1, digest: sha256("") } }),
      /does not match what comes before/,
    ],
  ])("is refused: %s", (_, file, named) => refused(file(), named));

  const options = (options: unknown) => withRun((record) => ({ ...record, options }));
  test.each<[name: string, lines: () => string[], named: RegExp]>([
    ["another format", () => ['{"format":"other","version":1}'], /does not begin like one/],
    ["a newer version", () => [`{${FORMAT},"version":2}`], /has version 2, and this ptc reads 1/],
    ["no header", () => body().slice(1), /does not begin like one/],
    ["a header of megabytes", () => [`{${FORMAT},"x":"${"x".repeat(5e6)}"}`], /does not begin/],
    ["no JSON", () => [...body(), "{"], /is not a line of an export/],
    ["JSON that nests", () => [...body(), "[".repeat(100_000)], /is not a line of an export/],
    ["a line of another kind", () => [...body(), '{"blob":"x","run":"y"}'], /is not a line of an export/],
    ["a name of JavaScript's", () => [...body(), '{"__proto__":{},"constructor":1}'], /is not a line/],
    [
      "a value under another digest",
      () => body().map((line, i) => (i === 1 ? line.replace(/"json":"/, '"json":" ') : line)),
      /line 2 does not match its digest/,
    ],
    ["a value twice", () => body().toSpliced(2, 0, made.lines[1] ?? ""), /line 3 was there before/],
    ["a value of nobody's", () => [...body(), blobLine('"stray"')], /belong to no run/],
    ["a missing value", () => body().toSpliced(1, 1), /names sha256:\w+, which is not in the file/],
    [
      "a record under another digest",
      () => body().map((line) => line.replace('"file_name":"program.ts"', '"file_name":"other.ts"')),
      /does not match its digest/,
    ],
    ["a run twice", () => [...body(), body().at(-1) ?? ""], /for the second time/],
    ["more after its end", () => made.lines, /comes after the end/],
    [
      "options that nest",
      () => options(JSON.parse("[".repeat(2000) + "]".repeat(2000))),
      /is not a line of an export/,
    ],
  ])("is refused, with lines in it that are wrong: %s", (_, lines, named) =>
    refused(writeLines(lines()), named),
  );

  test("is refused when a run in it is here with other content", async () => {
    await importRuns(made.target, exported, NOW);
    const { run, calls } = sampleRun();
    storeRun(made.source, run, calls);
    const other = join(folder.path, "conflict.ptc");
    await exportRuns(made.source, [run.facts.run_id], other);
    storeRun(made.target, { ...run, consoleText: "other" }, calls);
    const before = await verifyArchive(made.target);
    await expect(importRuns(made.target, other, NOW)).rejects.toMatchObject({ code: "conflict" });
    expect(await verifyArchive(made.target)).toEqual(before);
  });

  test("cannot fill memory or time: lines, their number and all of it are bounded", async () => {
    const read = async (file: string, limits: Parameters<typeof readFileOfRuns>[1]) => {
      for await (const _ of readFileOfRuns(file, limits));
    };
    const bomb = join(folder.path, "bomb.ptc");
    writeFileSync(bomb, gzipSync(Buffer.alloc(50_000_000, " ")));
    expect(statSync(bomb).size).toBeLessThan(100_000);
    for (const [file, limit, named] of [
      [bomb, { maxLineBytes: 1_000_000 }, /a line of more than 1000000 bytes/],
      [bomb, { maxBytes: 1_000_000 }, /unpacks to more than 1000000 bytes/],
      [exported, { maxLines: 3 }, /line 4 is one more than the 3/],
    ] as const)
      await expect(read(file, { ...ROOMY, ...limit })).rejects.toThrow(named);
    await read(exported, ROOMY);
  });

  test("writes nothing anywhere, whatever names are in it", async () => {
    const inside = join(folder.path, "inside");
    mkdirSync(inside);
    const file = writeLines(
      withRun((record) => ({ ...record, file_name: "../../outside", origin: undefined })),
      { file: join(inside, "\u001b[31m.ptc") },
    );
    await importRuns(made.target, file, NOW);
    const run = listRuns(made.target, { limit: 10 }).find(({ file_name }) => file_name !== "program.ts");
    expect(run).toMatchObject({ file_name: "../../outside", origin: "?[31m.ptc" });
    expect(readdirSync(inside)).toHaveLength(1);
    expect(existsSync(join(inside, "../../outside"))).toBe(false);
  });
});

const bytesOf = (file: string) => readFileSync(file);

function writeBytes(...pieces: Buffer[]): string {
  const file = join(folder.path, `${randomUUID()}.bytes`);
  writeFileSync(file, Buffer.concat(pieces));
  return file;
}
