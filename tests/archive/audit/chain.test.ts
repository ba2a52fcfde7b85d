import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFile,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ChainEnd, linkLine } from "../../../archive/audit/chain/chain-head.ts";
import { ChainedFile } from "../../../archive/audit/chain/chained-file.ts";
import { verifyLog } from "../../../archive/audit/chain/verify-log.ts";

const DAY_MS = 86_400_000;

let folder: string;
let path: string;
let nowMs: number;

beforeEach(async () => {
  nowMs = Date.UTC(2026, 0, 1);
  folder = await mkdtemp(join(tmpdir(), "ptc-chain-"));
  path = join(folder, "audit.jsonl");
});

afterEach(() => rm(folder, { recursive: true }));

function open(maxBytes = 1e9): ChainedFile {
  return new ChainedFile({ path, maxBytes, keepMs: 30 * DAY_MS, wallMs: () => nowMs });
}

function numbered(count: number, from = 1): string[] {
  const time = new Date(nowMs).toISOString();
  return Array.from(
    { length: count },
    (_, index) => `{"time":"${time}","event":"call","tool":"tool-${from + index}"}\n`,
  );
}

async function written(count: number): Promise<string[]> {
  await open().append(numbered(count), false);
  return (await readFile(path, "utf8")).split("\n").slice(0, -1);
}

/** Three files of ten lines each, and the one that is written to. */
async function rotated(): Promise<void> {
  for (let from = 1; from <= 40; from += 10) await open(500).append(numbered(10, from), false);
}

const files = async () => (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));

const rotatedNames = (...numbers: number[]) => numbers.map((number) => `audit-00000${number}.jsonl`);

/** What nothing on the same disk can tell. */
const UNPROVEN = expect.stringMatching(/^nothing in this folder can show .* kept elsewhere/);

/** The last line, as somebody keeps it elsewhere. */
async function kept(): Promise<ChainEnd> {
  const [seq = "", ...hash] = ((await verifyLog(path)).head ?? "").split(":");
  return { seq: Number(seq), hash: hash.join(":") };
}

/** Writes the head beside the log as somebody can who has read how it is written. */
async function forgeHead(change: object): Promise<void> {
  const head = join(folder, "audit.head");
  const { size } = await stat(path);
  const text = JSON.stringify({ ...JSON.parse(await readFile(head, "utf8")), bytes: size, ...change });
  await writeFile(head, `${text.padEnd(255)}\n`);
}

const rewrite = (lines: readonly string[], file = path) =>
  writeFile(file, lines.map((line) => `${line}\n`).join(""));
const problems = async () => (await verifyLog(path)).problems;

describe("a log that nobody touched", () => {
  test("verifies, and tells its last line", async () => {
    for (let from = 1; from < 100; from += 10) await open().append(numbered(10, from), from === 1);
    const found = await verifyLog(path);
    expect(found).toMatchObject({ lines: 100, problems: [], notes: [UNPROVEN] });
    expect(found.head).toMatch(/^100:sha256:[0-9a-f]{64}$/);
    expect((await stat(join(folder, "audit.head"))).mode & 0o777).toBe(0o600);
  });

  test("verifies across files, of which the outdated are removed", async () => {
    for (let from = 1; from <= 40; from += 10) {
      await open(500).append(numbered(10, from), false);
      nowMs += 10 * DAY_MS;
    }
    expect(await files()).toEqual([...rotatedNames(1, 2, 3), "audit.jsonl"]);
    expect(await verifyLog(path)).toMatchObject({ lines: 43, problems: [] });
    await open(500).append(numbered(1), false);
    expect(await files()).toEqual([...rotatedNames(2, 3, 4), "audit.jsonl"]);
    expect(await verifyLog(path)).toMatchObject({
      problems: [],
      notes: ["lines before line 11 were old, and removed by ptc itself", UNPROVEN],
    });
    await rm(join(folder, "audit-000002.jsonl"));
    expect(await problems()).toEqual(["lines 11 to 21 are missing"]);
  });

  test("verifies where a ptc was killed before it removed what it had said that it removes", async () => {
    await rotated();
    const old = await Promise.all(
      (await files()).slice(0, 3).map(async (name) => [name, await readFile(join(folder, name))] as const),
    );
    nowMs += 31 * DAY_MS;
    await open(500).append(numbered(1), false);
    for (const [name, bytes] of old) await writeFile(join(folder, name), bytes);
    expect(await problems()).toEqual([]);
    await open(500).append(numbered(10), false);
    nowMs += DAY_MS;
    await open(500).append(numbered(1), false);
    expect(await files()).not.toContain("audit-000001.jsonl");
    expect(await problems()).toEqual([]);
  });

  test("verifies where an earlier version has removed lines, or begun a file", async () => {
    const about = (what: string) => `{"event":"log","what":"${what}","first":31}`;
    const write = async (after: number) => {
      let end: ChainEnd = { seq: after, hash: `sha256:${"a".repeat(64)}` };
      await writeFile(path, "");
      for (const each of [about("continued"), '{"event":"call","tool":"a"}', about("begun")]) {
        const linked = linkLine(each, end);
        end = linked.end;
        await appendFile(path, linked.line);
      }
      await writeFile(join(folder, "audit.head"), JSON.stringify({ ...end, bytes: 0, first: after + 1 }));
    };
    // Of lines 31 to 40 nothing is said but in the head.
    await write(40);
    expect(await problems()).toEqual(["lines 31 to 40 are missing"]);
    await write(30);
    await forgeHead({});
    expect(await problems()).toEqual([]);
    await open().append(numbered(3), false);
    expect(await problems()).toEqual([]);
  });
});

test("a file is followed by another once it has the size that it may have, and an append says all that it wrote", async () => {
  const sizeOf = async () => (await stat(path)).size;
  const textOf = () => readFile(path, "utf8");
  const first = await open().append(numbered(2), false);
  expect(first).toEqual({ written: 2, lines: expect.any(Array), problem: undefined });
  expect(first.lines.join("")).toBe(await textOf());
  await open((await sizeOf()) + 1).append(numbered(1, 3), true);
  expect(await files()).toEqual(["audit.jsonl"]);
  const after = await open(await sizeOf()).append(numbered(1, 4), true);
  expect(await files()).toEqual([...rotatedNames(1), "audit.jsonl"]);
  expect(after).toEqual({ written: 1, lines: expect.any(Array), problem: undefined });
  expect(after.lines.join("")).toBe(await textOf());
  expect(after.lines.map((line) => JSON.parse(line))).toMatchObject([
    { seq: 4, event: "log", what: "continued" },
    { seq: 5, event: "call", tool: "tool-4" },
  ]);
});

describe("a change of the log is found", () => {
  test("of a line", async () => {
    const lines = await written(9);
    for (const [index, line] of lines.entries()) {
      await rewrite(lines.with(index, line.replace("tool-", "fool-")));
      expect(await problems(), line).toEqual([expect.stringContaining(`line ${index + 1}`)]);
    }
    await rewrite(lines);
    expect(await problems()).toEqual([]);
  });

  test("a line that was removed, wherever it was", async () => {
    const lines = await written(9);
    for (const index of lines.keys()) {
      await rewrite(lines.toSpliced(index, 1));
      expect(await problems()).toEqual([`line ${index + 1} is missing`]);
    }
    await rewrite(lines.toSpliced(6, 3));
    expect(await problems()).toEqual(["lines 7 to 9 are missing"]);
    await rm(path);
    expect(await problems()).toEqual(["lines 1 to 9 are missing"]);
  });

  test("lines that changed places, and one that is there twice", async () => {
    const lines = await written(9);
    await rewrite([...lines.slice(0, 3), lines[4] as string, lines[3] as string, ...lines.slice(5)]);
    expect(await problems()).toEqual([expect.stringContaining(":5: line 4 is not in its place")]);
    await rewrite([...lines, lines[4] as string]);
    expect(await problems()).toEqual([expect.stringContaining(":10: line 5 is not in its place")]);
  });

  test("a line that ptc did not write", async () => {
    const lines = await written(3);
    await rewrite(lines.toSpliced(1, 0, '{"event":"call","tool":"forged"}'));
    expect(await problems()).toEqual([expect.stringContaining(":2: 33 bytes that no line accounts for")]);
    await rewrite([...lines, '{"event":"call","tool":"forged"}']);
    expect(await problems()).toEqual([expect.stringContaining(":4: 33 bytes that are in no chain")]);
    await rewrite(lines);
    await appendFile(path, '{"event":"ca');
    expect(await verifyLog(path)).toMatchObject({
      problems: [],
      notes: [expect.stringContaining("unfinished"), UNPROVEN],
    });
  });

  test("a line that no line of the log's own accounts for, whatever other lines say", async () => {
    const lines = await written(3);
    const before = await kept();
    const forged = '{"event":"call","tool":"forged"}\n';
    const digest = `sha256:${createHash("sha256").update(forged).digest("hex")}`;
    const accounts = (event: string) =>
      linkLine(
        `{"event":"${event}","what":"continued","bytes":${forged.length},"digest":"${digest}"}`,
        before,
      );
    for (const [event, found] of [
      ["log", []],
      ["lost", []],
      ["call", [expect.stringContaining(":4: 33 bytes that no line accounts for")]],
    ] as const) {
      const { line, end } = accounts(event);
      await rewrite([...lines, forged.trimEnd(), line.trimEnd()]);
      await forgeHead(end);
      expect(await problems(), event).toEqual(found);
    }
  });

  test("also after more was written", async () => {
    const lines = await written(9);
    await rewrite(lines.slice(0, 6));
    await open().append(numbered(3, 10), false);
    expect(await problems()).toEqual(["lines 7 to 9 are missing"]);
    await rm(path);
    await open().append(numbered(3, 13), false);
    expect(await problems()).toEqual(["lines 1 to 13 are missing"]);
  });

  test("a head that was removed or set back, and what happened before then", async () => {
    const lines = await written(9);
    const head = join(folder, "audit.head");
    const kept = await readFile(head);
    await rm(head);
    await rewrite(lines.slice(0, 6));
    expect(await problems()).toEqual([expect.stringContaining("the head beside the log is missing")]);
    await open().append(numbered(3, 7), false);
    expect(await problems()).toEqual([expect.stringContaining("the head was missing")]);
    await writeFile(head, kept);
    expect(await problems()).toContain("line 9 was edited");
  });

  test("a beginning that was removed, whatever the head beside the log says of it", async () => {
    const lines = await written(9);
    const expected = [await kept()];
    await rewrite(lines.slice(4));
    await forgeHead({ first: 5 });
    expect(await problems()).toEqual(["lines 1 to 4 are missing"]);
    expect((await verifyLog(path, { expected })).problems).toEqual(["lines 1 to 4 are missing"]);
    // Nor does ptc say it for them, where it begins files later.
    await open(100).append(numbered(1, 10), false);
    await rm(path);
    await open().append(numbered(1, 11), false);
    expect(await problems()).toContain("lines 1 to 4 are missing");
  });

  test("a beginning that was removed with a line that says that ptc did it, by a head that was kept elsewhere", async () => {
    const lines = await written(9);
    const before = await kept();
    const { line, end } = linkLine('{"event":"log","what":"continued","first":5}', before);
    await rewrite([...lines.slice(4), line.trimEnd()]);
    await forgeHead({ ...end, first: 5 });
    expect((await verifyLog(path, { expected: [before] })).problems).toEqual([
      expect.stringMatching(/^lines 1 to 4 are gone, and the line that says .*, 10, is newer than line 9/),
    ]);
    // A line cannot say that lines after it were removed.
    const later = linkLine('{"event":"log","what":"continued","first":15}', before);
    await rewrite([later.line.trimEnd()]);
    await forgeHead({ ...later.end, first: 15 });
    expect(await problems()).toEqual(["lines 1 to 9 are missing"]);
  });

  test("what ptc removed itself needs a head that was kept after that, and an older one is told as gone", async () => {
    await rotated();
    const before = await kept();
    const early = { seq: 3, hash: before.hash };
    nowMs += 31 * DAY_MS;
    await open(500).append(numbered(1), false);
    expect((await verifyLog(path, { expected: [before] })).problems).toEqual([
      expect.stringContaining(`is newer than line ${before.seq}`),
    ]);
    const { problems, notes } = await verifyLog(path, { expected: [early, await kept()] });
    expect(problems).toEqual([]);
    expect(notes).toContain("line 3 is among them, and can no longer be compared");
  });

  test("a file that was made to look old is not removed, and one whose last line was edited neither", async () => {
    await rotated();
    const oldest = join(folder, "audit-000001.jsonl");
    await utimes(oldest, new Date(0), new Date(0));
    await open(500).append(numbered(1), false);
    expect(await files()).toContain("audit-000001.jsonl");
    await writeFile(oldest, (await readFile(oldest, "utf8")).replaceAll("2026-", "1999-"));
    await open(10).append(numbered(1), false);
    expect(await files()).toContain("audit-000001.jsonl");
    expect(await problems()).not.toEqual([]);
  });

  test("an end that was cut off with its head, by a head that was kept elsewhere and by nothing else", async () => {
    const lines = await written(6);
    const { hash } = await kept();
    await open().append(numbered(3, 7), false);
    const expected = [await kept()];
    await rewrite(lines);
    await forgeHead({ seq: 6, hash });
    expect(await verifyLog(path)).toMatchObject({ problems: [], notes: [UNPROVEN] });
    expect(await verifyLog(path, { expected })).toMatchObject({
      problems: ["lines 7 to 9 are missing"],
      notes: [],
    });
    await open().append(numbered(5, 17), false);
    expect((await verifyLog(path, { expected })).problems).toEqual(["line 9 was edited"]);
  });

  test("what came after a head that was kept elsewhere is told as not proven", async () => {
    await written(3);
    const expected = [await kept()];
    expect((await verifyLog(path, { expected })).notes).toEqual([]);
    await open().append(numbered(1, 4), false);
    expect((await verifyLog(path, { expected })).notes).toEqual([
      "no head that was kept elsewhere proves what came after line 3",
    ]);
  });

  test("a chain that was made anew, by a head that was kept elsewhere", async () => {
    await written(9);
    const expected = [await kept()];
    await open().append(numbered(1, 10), false);
    expect((await verifyLog(path, { expected })).problems).toEqual([]);
    for (const name of await readdir(folder)) await rm(join(folder, name));
    await open().append(numbered(10, 2), false);
    expect((await verifyLog(path)).problems).toEqual([]);
    expect((await verifyLog(path, { expected })).problems).toEqual(["line 9 was edited"]);
  });
});

test("a log of which no line is in a chain is told as that, and has no head", async () => {
  await writeFile(path, '{"event":"call"}\n{"event":"run"}\n');
  expect(await verifyLog(path)).toMatchObject({
    lines: 0,
    head: undefined,
    problems: [expect.stringContaining(":1: 33 bytes that are in no chain")],
  });
  await rename(path, join(folder, "older"));
  const lines = await written(3);
  const [moved, older] = [join(folder, "moved"), join(folder, "older")];
  await rewrite(lines.slice(0, 2), moved);
  await rewrite(lines.slice(2));
  await forgeHead({});
  // Files that were moved come in the order of their lines, however they are named; those without a chain come first.
  const also = [moved, older];
  for (const given of [also, also.toReversed()])
    expect(await verifyLog(path, { also: given })).toMatchObject({
      lines: 3,
      files: [older, moved, path],
      problems: [expect.stringContaining("older:1: 33 bytes that are in no chain")],
    });
});

test("a log without its head goes on from its last whole line, and accounts for half a line after that", async () => {
  await written(3);
  await rm(join(folder, "audit.head"));
  await appendFile(path, '{"event":"call","too');
  await open().append(numbered(2, 4), false);
  expect(await verifyLog(path)).toMatchObject({
    lines: 6,
    problems: [expect.stringContaining(":5: the head was missing")],
    notes: [expect.stringContaining(":4: 21 bytes that were in no chain when line 5 was written"), UNPROVEN],
  });
});

describe("what is no fault", () => {
  test("lines of before there were links, and half a line of a ptc that died, are accounted for", async () => {
    await writeFile(path, '{"event":"call"}\n{"event":"run"}\n');
    await open().append(numbered(2), false);
    await appendFile(path, '{"event":"call","too');
    await open().append(numbered(2, 3), false);
    const { problems, notes, lines } = await verifyLog(path);
    expect({ problems, lines }).toEqual({ problems: [], lines: 6 });
    expect(notes).toEqual([
      expect.stringContaining(":1: 33 bytes that were in no chain when line 3 was written"),
      expect.stringContaining(":6: 21 bytes that were in no chain when line 7 was written"),
      UNPROVEN,
    ]);
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replace('"too\n', '"tod\n'));
    expect((await verifyLog(path)).problems).toEqual([expect.stringContaining("that no line accounts for")]);
  });

  test("half a line at the end of a full file, which the file itself accounts for before another follows", async () => {
    await open(10).append(numbered(2), false);
    await appendFile(path, '{"event":"call","too');
    await open(10).append(numbered(1, 3), false);
    expect(await files()).toEqual(["audit.jsonl"]);
    await open(10).append(numbered(1, 4), false);
    expect(await files()).toEqual([...rotatedNames(1), "audit.jsonl"]);
    expect(await verifyLog(path)).toMatchObject({
      lines: 6,
      problems: [],
      notes: [
        expect.stringContaining(":3: 21 bytes that were in no chain when line 4 was written"),
        UNPROVEN,
      ],
    });
  });

  test("lines whose head could not be written", async () => {
    await written(3);
    const head = join(folder, "audit.head");
    const before = await readFile(head);
    await open().append(numbered(3, 4), false);
    await writeFile(head, before);
    await open().append(numbered(3, 7), false);
    expect(await verifyLog(path)).toMatchObject({ lines: 9, problems: [], notes: [UNPROVEN] });
  });

  test("a file that was moved, where it is named", async () => {
    await written(3);
    const moved = join(folder, "moved");
    await rename(path, moved);
    await open().append(numbered(3, 4), false);
    const [begun = ""] = (await readFile(path, "utf8")).split("\n");
    expect(JSON.parse(begun)).toMatchObject({ seq: 4, event: "log", what: "begun" });
    expect(await problems()).toEqual(["lines 1 to 3 are missing"]);
    expect((await verifyLog(path, { also: [moved] })).problems).toEqual([]);
  });
});

const WRITER = `
  import { ChainedFile } from ${JSON.stringify(join(import.meta.dirname, "../../../archive/audit/chain/chained-file.ts"))};
  const [path, name, count] = process.argv.slice(1);
  const file = new ChainedFile({ path, maxBytes: 20_000, keepMs: 1e12, wallMs: Date.now });
  for (let index = 0; index < Number(count); index++) {
    await file.append([JSON.stringify({ event: "call", tool: name + index }) + "\\n"], false);
    if (index === 5) console.log("writes");
  }`;

function writer(name: string, count: number): string[] {
  return ["--input-type=module", "-e", WRITER, path, name, String(count)];
}

test("several processes make one chain, across the files that they begin", async () => {
  const names = ["a", "b", "c"];
  await Promise.all(names.map((name) => promisify(execFile)(process.execPath, writer(name, 150))));
  const found = await verifyLog(path);
  expect(found.problems).toEqual([]);
  expect(found.files.length).toBeGreaterThan(2);
  const texts = await Promise.all(found.files.map((file) => readFile(file, "utf8")));
  const tools = texts.join("").match(/"tool":"[^"]+"/g) ?? [];
  expect(new Set(tools).size).toBe(450);
  expect(tools).toHaveLength(450);
});

test("a process that is killed at any moment breaks no chain and holds nobody up", async () => {
  for (let round = 0; round < 4; round++) {
    const dying = spawn(process.execPath, writer(`dying-${round}-`, 1e6), {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise((resolve) => dying.stdout.once("data", resolve));
    dying.kill("SIGKILL");
    await open().append(numbered(1), false);
  }
  await truncate(path, (await stat(path)).size);
  expect((await verifyLog(path)).problems).toEqual([]);
});
