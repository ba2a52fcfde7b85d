/** The lines of an audit log in files, taken over into PostgreSQL. */
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { NO_LINE } from "../../../archive/audit/chain/chain-head.ts";
import { ChainedFile } from "../../../archive/audit/chain/chained-file.ts";
import { type AuditSource, auditFiles } from "../../../archive/audit/reading/audit-source.ts";
import { openAuditChain, openAuditSource } from "../../../archive/open-archive.ts";
import { takeOverAudit } from "../../../archive/postgres/maintenance.ts";
import { usePostgres, WITHOUT_POSTGRES } from "./server.ts";

const DAY_MS = 86_400_000;
const T0 = Date.UTC(2030, 0, 1);

describe.skipIf(WITHOUT_POSTGRES !== "")(`with PostgreSQL${WITHOUT_POSTGRES}`, () => {
  const server = usePostgres();
  let folder = "";
  let path = "";
  let url = "";
  let nowMs = T0;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "ptc-take-over-"));
    path = join(folder, "audit.jsonl");
    url = server().url();
    nowMs = T0;
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Small files, so that a log of some lines has several. */
  const log = (maxBytes = 2_000, keepMs = 1e12) =>
    new ChainedFile({ path, maxBytes, keepMs, wallMs: () => nowMs });
  const database = async () => url;
  const kept = (): AuditSource => openAuditSource("", database);
  const lineOf = (n: number) =>
    `{"time":"${new Date(T0 + n * DAY_MS).toISOString()}","event":"run","run_id":"r${n}","what":"höflich \\u0000"}\n`;
  const linesFrom = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => lineOf(from + i));
  async function textOf(source: AuditSource): Promise<string[]> {
    const lines: string[] = [];
    for await (const { line } of source.entries({})) lines.push(line);
    return lines;
  }
  const headOf = async (source: AuditSource) => {
    const { seq, hash } = (await source.head()) ?? NO_LINE;
    return `${seq}:${hash}`;
  };

  it("are the same lines with the same head, whatever file they were in, and more follow them", async () => {
    for (let n = 0; n < 60; n += 5) await log().append(linesFrom(n, 5), true);
    const files = auditFiles(path);
    const head = await headOf(files);
    const end = (await files.head()) ?? NO_LINE;
    const all = await textOf(files);
    expect((await files.verify({})).files.length).toBeGreaterThan(2);
    const shown: [number, number][] = [];
    const taken = await takeOverAudit(url, path, (done, of) => void shown.push([done, of]));
    expect(taken).toMatchObject({ taken: all.length, head });
    expect(shown).toEqual([[all.length, all.length]]);
    expect(await textOf(kept())).toEqual(all);
    await openAuditChain(database, { keepMs: 1e12, wallMs: () => nowMs }).append([lineOf(60)], true);
    const verified = await kept().verify({ expected: [end] });
    expect(verified).toMatchObject({ lines: all.length + 1, problems: [] });
    expect(await textOf(files)).toEqual(all);
  });

  it("are taken once, and those that came since afterwards", async () => {
    await log(1e9).append(linesFrom(0, 20), true);
    expect(await takeOverAudit(url, path)).toMatchObject({ taken: 20 });
    expect(await takeOverAudit(url, path)).toMatchObject({ taken: 0, head: await headOf(auditFiles(path)) });
    await log(1e9).append(linesFrom(20, 2_100), true);
    const shown: [number, number][] = [];
    const taken = await takeOverAudit(url, path, (done, of) => void shown.push([done, of]));
    expect(taken).toMatchObject({ taken: 2_100, head: await headOf(kept()) });
    expect(shown.map(([done]) => done)).toEqual([1_020, 2_020, 2_120]);
    expect(await kept().verify({})).toMatchObject({ lines: 2_120, problems: [] });
    // Lines of a ptc that uses the database follow, and the log is there as a whole all the same.
    await openAuditChain(database, { keepMs: 1e12, wallMs: () => nowMs }).append([lineOf(3_000)], true);
    expect(await takeOverAudit(url, path)).toMatchObject({ taken: 0 });
    await log(1e9).append([lineOf(4_000)], true);
    await expect(takeOverAudit(url, path)).rejects.toMatchObject({ code: "conflict" });
    expect(await kept().verify({})).toMatchObject({ lines: 2_121, problems: [] });
  });

  it("keep their times, by which old ones are removed", async () => {
    await log().append(linesFrom(0, 10), true);
    await takeOverAudit(url, path);
    nowMs = T0 + 12 * DAY_MS;
    await openAuditChain(database, { keepMs: 7.5 * DAY_MS, wallMs: () => nowMs }).append([lineOf(12)], true);
    const runs = (await textOf(kept())).filter((line) => line.includes('"event":"run"'));
    expect(runs.map((line) => JSON.parse(line).run_id)).toEqual(["r5", "r6", "r7", "r8", "r9", "r12"]);
    expect(await kept().verify({})).toMatchObject({ problems: [] });
  });

  it("may begin late, where ptc has removed old ones", async () => {
    for (let n = 0; n < 40; n += 5) {
      nowMs = T0 + n * DAY_MS;
      await log(2_000, 10 * DAY_MS).append(linesFrom(n, 5), true);
    }
    const all = await textOf(auditFiles(path));
    expect(JSON.parse(all[0] ?? "").seq).toBeGreaterThan(1);
    await takeOverAudit(url, path);
    expect(await textOf(kept())).toEqual(all);
    expect(await kept().verify({})).toMatchObject({ problems: [], head: await headOf(auditFiles(path)) });
  });

  it("are not taken where the log differs from what was written, and none of them is there then", async () => {
    await log().append(linesFrom(0, 3), true);
    const written = readFileSync(path, "utf8");
    writeFileSync(path, written.replace('"r1"', '"r9"'));
    await expect(takeOverAudit(url, path)).rejects.toMatchObject({
      code: "tampered",
      message: expect.stringMatching(/edited.*`ptc audit verify`.*nothing of .*audit\.jsonl is taken over/),
    });
    expect(await textOf(kept())).toEqual([]);
    // A line that was cut off in the middle by a crash is in no chain.
    writeFileSync(path, written);
    appendFileSync(path, '{"time":"20');
    expect(await takeOverAudit(url, path)).toMatchObject({ taken: 3 });
  });

  it("are not mixed with others, of this database or another log", async () => {
    await openAuditChain(database, { keepMs: 1e12, wallMs: () => nowMs }).append(linesFrom(50, 2), true);
    await log().append(linesFrom(0, 3), true);
    const refused = { code: "conflict", message: expect.stringContaining("that are not from") };
    await expect(takeOverAudit(url, path)).rejects.toMatchObject(refused);
    // Shorter than what the database has, and longer.
    rmSync(path);
    rmSync(join(folder, "audit.head"));
    await log().append(linesFrom(0, 1), true);
    await expect(takeOverAudit(url, path)).rejects.toMatchObject(refused);
    expect(await textOf(kept())).toHaveLength(2);
  });

  it("are none where there is no log", async () => {
    expect(existsSync(path)).toBe(false);
    expect(await takeOverAudit(url, path)).toMatchObject({ taken: 0, head: undefined });
  });
});
