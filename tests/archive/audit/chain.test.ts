import { execFile, spawn } from "node:child_process";
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
import { ChainedFile } from "../../../archive/audit/chain/chained-file.ts";
import { verifyLog } from "../../../archive/audit/chain/verify-log.ts";

const DAY_MS = 86_400_000;

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ptc-chain-"));
  path = join(folder, "audit.jsonl");
});

afterEach(() => rm(folder, { recursive: true }));

function open(maxBytes = 1e9): ChainedFile {
  return new ChainedFile({ path, maxBytes, keepMs: 30 * DAY_MS, wallMs: Date.now });
}

function numbered(count: number, from = 1): string[] {
  return Array.from({ length: count }, (_, index) => `{"event":"call","tool":"tool-${from + index}"}\n`);
}

async function written(count: number): Promise<string[]> {
  await open().append(numbered(count), false);
  return (await readFile(path, "utf8")).split("\n").slice(0, -1);
}

const rewrite = (lines: readonly string[]) => writeFile(path, lines.map((line) => `${line}\n`).join(""));
const problems = async () => (await verifyLog(path)).problems;

describe("a log that nobody touched", () => {
  test("verifies, and tells its last line", async () => {
    for (let from = 1; from < 100; from += 10) await open().append(numbered(10, from), from === 1);
    const found = await verifyLog(path);
    expect(found).toMatchObject({ lines: 100, problems: [], notes: [] });
    expect(found.head).toMatch(/^100:sha256:[0-9a-f]{64}$/);
    expect((await stat(join(folder, "audit.head"))).mode & 0o777).toBe(0o600);
  });

  test("verifies across files, of which the outdated are removed", async () => {
    for (let from = 1; from <= 40; from += 10) await open(500).append(numbered(10, from), false);
    const files = async () => (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));
    expect(await files()).toEqual([
      "audit-000001.jsonl",
      "audit-000002.jsonl",
      "audit-000003.jsonl",
      "audit.jsonl",
    ]);
    expect(await verifyLog(path)).toMatchObject({ lines: 43, problems: [] });
    const long = new Date(Date.now() - 31 * DAY_MS);
    await utimes(join(folder, "audit-000001.jsonl"), long, long);
    await utimes(join(folder, "audit-000003.jsonl"), long, long);
    await open(500).append(numbered(1), false);
    expect(await files()).toEqual([
      "audit-000002.jsonl",
      "audit-000003.jsonl",
      "audit-000004.jsonl",
      "audit.jsonl",
    ]);
    expect(await problems()).toEqual([]);
    await rm(join(folder, "audit-000002.jsonl"));
    expect(await problems()).toEqual([expect.stringMatching(/^lines 11 to 21 are missing$/)]);
  });
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
      notes: [expect.stringContaining("unfinished")],
    });
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

  test("a chain that was made anew, by a head that was kept elsewhere", async () => {
    await written(9);
    const { head = "" } = await verifyLog(path);
    const [seq = "", ...hash] = head.split(":");
    const expected = [{ seq: Number(seq), hash: hash.join(":") }];
    await open().append(numbered(1, 10), false);
    expect((await verifyLog(path, { expected })).problems).toEqual([]);
    for (const name of await readdir(folder)) await rm(join(folder, name));
    await open().append(numbered(10, 2), false);
    expect((await verifyLog(path)).problems).toEqual([]);
    expect((await verifyLog(path, { expected })).problems).toEqual(["line 9 was edited"]);
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
    ]);
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replace('"too\n', '"tod\n'));
    expect((await verifyLog(path)).problems).toEqual([expect.stringContaining("that no line accounts for")]);
  });

  test("lines whose head could not be written any more", async () => {
    await written(3);
    const head = join(folder, "audit.head");
    const before = await readFile(head);
    await open().append(numbered(3, 4), false);
    await writeFile(head, before);
    await open().append(numbered(3, 7), false);
    expect(await verifyLog(path)).toMatchObject({ lines: 9, problems: [], notes: [] });
  });

  test("a file that was moved, where it is named", async () => {
    await written(3);
    const moved = join(folder, "moved");
    await rename(path, moved);
    await open().append(numbered(3, 4), false);
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
