/**
 * The audit log in PostgreSQL: rows of one line each, linked as the lines of a file are (../audit/chain/chain-head.ts). Whoever
 * appends holds the head for as long as one transaction takes, which does not wait for the disk (schema.ts); lines that are waited
 * for are flushed afterwards. A server that crashes loses what was not flushed, and says so to nobody: whoever flushes looks whether
 * its lines are still there, and writes them again if not.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod/mini";
import { messageOf } from "../../base/faults.ts";
import { ArchiveError } from "../archive-error.ts";
import { type AuditMembers, parseAuditLine, renderAuditLine } from "../audit/audit-line.ts";
import type { Appended, AuditChain } from "../audit/chain/audit-chain.ts";
import { type ChainEnd, linkLine, NO_LINE, parseLink } from "../audit/chain/chain-head.ts";
import { type LogLine, linesOfLog } from "../audit/chain/log-files.ts";
import {
  type LogVerification,
  type VerifyLogOptions,
  verifyLog,
  verifyParts,
} from "../audit/chain/verify-log.ts";
import type { AuditSource } from "../audit/reading/audit-source.ts";
import { type AuditEntry, type AuditFilter, matchingLines } from "../audit/reading/read-log.ts";
import { type PgDatabase, patiently, type Statements } from "./database.ts";
import { FLUSH } from "./schema.ts";

const HeadRow = z.object({ seq: z.int(), hash: z.string() });
const LineRow = z.object({ seq: z.int(), line: z.string() });
const BatchRow = z.object({ line: z.string() });
const GoneRow = z.object({ id: z.string() });
const FirstRow = z.object({ first: z.nullable(z.int()) });

/** How long to retry lines while the server cannot be reached. */
const PATIENCE_MS = 5_000;
/** Lines that were committed so long ago are on the disk of any server. */
const ON_DISK_AFTER_MS = 60_000;
const DAY_MS = 86_400_000;
/** How long the removal of a day's old lines may take. */
const TRIM_MS = 600_000;
const PAGE = 1_000;

/** The newest line, or `undefined` if none was written yet, or somebody has removed the head. */
async function readAuditHead(db: Statements): Promise<ChainEnd | undefined> {
  const head = await db.get(HeadRow, "SELECT seq, hash FROM audit_head");
  return head === undefined || head.seq === 0 ? undefined : head;
}

/** The lines after the line number `after`, in order. */
async function* readAuditLines(db: Statements, after = 0): AsyncGenerator<LogLine> {
  for (let last = after; ; ) {
    const page = await db.all(
      LineRow,
      "SELECT seq, line FROM audit_lines WHERE seq > $1 ORDER BY seq LIMIT $2",
      ...[last, PAGE],
    );
    for (const { seq, line } of page) yield { bytes: Buffer.from(line), hasLineFeed: true, number: seq };
    const end = page.at(-1);
    if (end === undefined) return;
    last = end.seq;
  }
}

interface Batch {
  id: string;
  lines: readonly string[];
}

/** A batch that was committed, with the place of its last line. */
interface CommittedBatch extends Batch {
  end: number;
  at: number;
}

export class PostgresAuditChain implements AuditChain {
  readonly place: string;
  readonly #db: PgDatabase;
  readonly #keepMs: number;
  readonly #wallMs: () => number;
  /** Lines that may or may not be written, because a connection was lost. */
  #unsure: Batch | undefined;
  /** What was committed and not flushed since, the oldest first. */
  #unflushed: CommittedBatch[] = [];
  #trimmedAt = 0;

  /** @param keepMs how long lines are kept. */
  constructor(db: PgDatabase, { keepMs, wallMs }: { keepMs: number; wallMs: () => number }) {
    this.#db = db;
    this.place = `in ${db.place}`;
    this.#keepMs = keepMs;
    this.#wallMs = wallMs;
  }

  async append(lines: readonly string[], flush: boolean): Promise<Appended> {
    let problem: string | undefined;
    const written = await patiently(async () => {
      const earlier = await this.#settle();
      const left = withoutWritten(lines, earlier);
      const linked = left.length === 0 ? [] : await this.#write(left);
      return [...earlier, ...linked];
    }, PATIENCE_MS);
    const again: string[] = [];
    if (flush) {
      try {
        await patiently(() => this.#flush(again), PATIENCE_MS);
      } catch (error) {
        problem = messageOf(error);
      }
    }
    await this.#trim().catch(() => {});
    return { written: lines.length, lines: [...written, ...again], problem };
  }

  /** Resolves when everything is on the disk. @param again receives what the server had lost and was written again. */
  async #flush(again: string[]): Promise<void> {
    for (;;) {
      await this.#db.exec(FLUSH);
      const recent = this.#unflushed.filter(({ at }) => performance.now() - at < ON_DISK_AFTER_MS);
      const gone = await this.#db.all(
        GoneRow,
        `SELECT id FROM unnest($1::text[], $2::bigint[]) AS given(id, seq)
         WHERE NOT EXISTS (SELECT FROM audit_lines WHERE audit_lines.seq = given.seq AND batch = id)`,
        ...[recent.map(({ id }) => id), recent.map(({ end }) => end)],
      );
      const ids = new Set(gone.map(({ id }) => id));
      const lost = recent.filter(({ id }) => ids.has(id));
      this.#unflushed = this.#unflushed.filter((batch) => !recent.includes(batch) || lost.includes(batch));
      if (lost.length === 0) return;
      again.push(...(await this.#write(lost.flatMap(({ lines }) => lines))));
      this.#unflushed = this.#unflushed.filter((batch) => !lost.includes(batch));
    }
  }

  /** The lines of an earlier batch that were written after all. */
  async #settle(): Promise<string[]> {
    const unsure = this.#unsure;
    if (unsure === undefined) return [];
    const found = await this.#db.all(
      BatchRow,
      "SELECT line FROM audit_lines WHERE batch = $1 AND seq > (SELECT seq FROM audit_head) - 100000 ORDER BY seq",
      unsure.id,
    );
    this.#unsure = undefined;
    return found.map(({ line }) => `${line}\n`);
  }

  async #write(lines: readonly string[]): Promise<string[]> {
    const batch = { id: randomUUID(), lines };
    this.#unsure = batch;
    const appended = await this.#db.transaction(
      (tx) => appendLines(tx, lines, { batch: batch.id, nowMs: this.#wallMs() }),
      "BEGIN; SET LOCAL synchronous_commit = off",
    );
    this.#unsure = undefined;
    this.#unflushed.push({ ...batch, end: appended.end, at: performance.now() });
    while ((this.#unflushed[0]?.at ?? Number.POSITIVE_INFINITY) < performance.now() - ON_DISK_AFTER_MS)
      this.#unflushed.shift();
    return appended.lines;
  }

  /** Removes old lines once a day. A line of the chain says so first. */
  async #trim(): Promise<void> {
    const nowMs = this.#wallMs();
    if (nowMs - this.#trimmedAt < DAY_MS) return;
    this.#trimmedAt = nowMs;
    await trimAudit(this.#db.within(TRIM_MS), nowMs - this.#keepMs, nowMs);
  }
}

/** The lines that are not among `written`, whose lines also have their links. */
function withoutWritten(lines: readonly string[], written: readonly string[]): string[] {
  const bodies = new Set(written.map((line) => line.replace(/,"seq":\d+,"prev":"[^"]*"\}\n$/, "}\n")));
  return lines.filter((line) => !bodies.has(line));
}

/** Appends lines. Returns them as they are kept, with the place of the last one. Must be called in a transaction. */
async function appendLines(
  tx: Statements,
  lines: readonly string[],
  { batch, nowMs }: { batch: string; nowMs: number },
): Promise<{ lines: string[]; end: number }> {
  const [head] = await tx.all(HeadRow, "SELECT seq, hash FROM audit_head FOR UPDATE");
  let end: ChainEnd = head ?? NO_LINE;
  const own: string[] = head === undefined ? [line({ event: "log", what: "head_missing" }, nowMs)] : [];
  const all = [...own, ...lines].map((each) => {
    const linked = linkLine(each, end);
    end = linked.end;
    return { seq: end.seq, line: linked.line };
  });
  await insertLines(
    tx,
    all.map((each) => ({ seq: each.seq, at: nowMs, line: each.line.slice(0, -1) })),
    { batch, end },
  );
  return { lines: all.map((each) => each.line), end: end.seq };
}

interface KeptLine {
  seq: number;
  /** Milliseconds since 1970. */
  at: number;
  /** Without its line feed. */
  line: string;
}

/** Writes lines that are linked already, of which `end` is the last. */
async function insertLines(
  tx: Statements,
  lines: readonly KeptLine[],
  { batch, end }: { batch: string; end: ChainEnd },
): Promise<void> {
  await tx.run(
    "INSERT INTO audit_lines (seq, at, batch, line) SELECT seq, at, $4, line FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS given(seq, at, line)",
    ...[lines.map(({ seq }) => seq), lines.map(({ at }) => at), lines.map(({ line }) => line), batch],
  );
  await tx.run(
    "INSERT INTO audit_head VALUES (true, $1, $2) ON CONFLICT (is_only) DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
    ...[end.seq, end.hash],
  );
}

/**
 * Takes the lines of a log in files over, as they are, so that earlier heads of the log prove as much as before. Checks the whole
 * log first. Skips lines that were taken earlier. Bytes that are in no chain stay in the files.
 *
 * @param onProgress receives the number of the last line that is there, and of the last one of the log.
 * @returns how many lines were taken, and the last one of the log, or `undefined` for a log without lines.
 * @throws ArchiveError `conflict` if the database has lines that are not from this log, and `tampered` for a log that differs from
 *   what was written.
 */
export async function takeOverLog(
  db: PgDatabase,
  path: string,
  onProgress: (done: number, of: number) => void,
): Promise<{ taken: number; head: string | undefined }> {
  const { problems, head } = await verifyLog(path);
  if (problems[0] !== undefined)
    throw new ArchiveError(
      "tampered",
      `${problems[0]}: \`ptc audit verify\` without storage.url shows more; nothing of ${path} is taken over`,
    );
  if (head === undefined) return { taken: 0, head };
  const last = Number(head.split(":")[0]);
  let at = (await readAuditHead(db)) ?? NO_LINE;
  if (at.seq > 0 && !(await haveLine(db, path, Math.min(at.seq, last)))) throw hasOwnLines(db, path);
  let taken = 0;
  const write = async (lines: readonly KeptLine[], end: ChainEnd) => {
    await db.transaction(async (tx) => {
      const [now = NO_LINE] = await tx.all(HeadRow, "SELECT seq, hash FROM audit_head FOR UPDATE");
      if (now.seq !== at.seq || now.hash !== at.hash) throw hasOwnLines(db, path);
      await insertLines(tx, lines, { batch: `take-over ${randomUUID()}`, end });
    });
    taken += lines.length;
    at = end;
    onProgress(at.seq, last);
  };
  let group: KeptLine[] = [];
  let end = at;
  for await (const { bytes } of linesOfLog(path)) {
    const link = parseLink(bytes);
    // Another process may append to the log meanwhile.
    if (link === undefined || link.seq <= end.seq || link.seq > last) continue;
    const written = Date.parse(String(parseAuditLine(bytes)?.time));
    group.push({ seq: link.seq, at: Number.isNaN(written) ? 0 : written, line: bytes.toString("utf8") });
    end = link.end;
    if (group.length < PAGE) continue;
    await write(group, end);
    group = [];
  }
  if (group.length > 0) await write(group, end);
  await db.exec(FLUSH);
  return { taken, head };
}

/** Whether the line of a number is the same in the database as in a log. */
async function haveLine(db: PgDatabase, path: string, seq: number): Promise<boolean> {
  const kept = await db.get(BatchRow, "SELECT line FROM audit_lines WHERE seq = $1", seq);
  if (kept === undefined) return false;
  for await (const { bytes } of linesOfLog(path))
    if (parseLink(bytes)?.seq === seq) return Buffer.from(kept.line).equals(bytes);
  return false;
}

function hasOwnLines({ place }: PgDatabase, path: string): ArchiveError {
  const message = `${place} already has lines of an audit log that are not from ${path}: only a database without any can take a log over; \`ptc audit\` reads the files where storage.url is not set`;
  return new ArchiveError("conflict", message);
}

/** Removes the lines at the beginning that are older than `beforeMs`, and says so in the chain first. */
async function trimAudit(db: PgDatabase, beforeMs: number, nowMs: number): Promise<void> {
  const oldest = "SELECT at AS first FROM audit_lines ORDER BY seq LIMIT 1";
  if (((await db.get(FirstRow, oldest))?.first ?? nowMs) >= beforeMs) return;
  await db.transaction(async (tx) => {
    await tx.run("SELECT FROM audit_head FOR UPDATE");
    const kept = "SELECT min(seq) AS first FROM audit_lines WHERE at >= $1";
    const first = (await tx.get(FirstRow, kept, Math.round(beforeMs)))?.first;
    const head = await readAuditHead(tx);
    const oldestKept = first ?? (head?.seq ?? 0) + 1;
    const said = line({ event: "log", what: "continued", first: oldestKept }, nowMs);
    await appendLines(tx, [said], { batch: randomUUID(), nowMs });
    await tx.run("DELETE FROM audit_lines WHERE seq < $1", oldestKept);
  });
}

function line(members: AuditMembers, nowMs: number): string {
  return renderAuditLine({ time: new Date(nowMs).toISOString(), ...members });
}

const POLL_MS = 500;
const UNPROVEN =
  "nothing in the database can show whether lines were cut off and the head written anew, or all of it: compare with a head that was kept elsewhere (`ptc audit head`, --head)";

/** Reads the audit log in PostgreSQL. */
export class PostgresAuditSource implements AuditSource {
  readonly place: string;
  readonly #db: PgDatabase;

  constructor(db: PgDatabase) {
    this.#db = db;
    this.place = `the audit log in ${db.place}`;
  }

  entries(filter: AuditFilter): AsyncGenerator<AuditEntry> {
    return matchingLines(readAuditLines(this.#db), filter);
  }

  async *following(filter: AuditFilter, signal: AbortSignal): AsyncGenerator<AuditEntry> {
    let last = (await readAuditHead(this.#db))?.seq ?? 0;
    while (!signal.aborted) {
      const lines: LogLine[] = [];
      for await (const each of readAuditLines(this.#db, last)) lines.push(each);
      last = lines.at(-1)?.number ?? last;
      yield* matchingLines(each(lines), filter);
      await delay(POLL_MS, undefined, { signal }).catch(() => {});
    }
  }

  head(): Promise<ChainEnd | undefined> {
    return readAuditHead(this.#db);
  }

  /** Reads all lines of one state of the database. */
  async verify({ also = [], expected }: VerifyLogOptions): Promise<LogVerification> {
    if (also.length > 0)
      throw new Error(
        "files of an audit log are not part of the one in PostgreSQL: verify them without storage.url",
      );
    return this.#db.snapshot(async (tx) => {
      const head = await tx.get(HeadRow, "SELECT seq, hash FROM audit_head");
      const parts = [{ name: this.place, lines: () => readAuditLines(tx) }];
      const known = head?.seq === 0 ? undefined : head;
      const found = await verifyParts(parts, { head: known, expected, unproven: UNPROVEN });
      return { ...found, files: [] };
    });
  }
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
