import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { matchesPattern } from "../../../protocol/tool-names.ts";
import { type AuditFields, isUnwanted, parseAuditLine } from "../audit-line.ts";
import { linesOfLog } from "../chain/log-files.ts";

/** One line of the log, as text and parsed. */
export interface AuditEntry {
  /** Without its line feed. */
  line: string;
  fields: AuditFields;
}

/** Selects the lines that meet all conditions. */
export interface AuditFilter {
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
  events?: readonly string[] | undefined;
  server?: string | undefined;
  /** A pattern over namespaced names. */
  tool?: string | undefined;
  /** The beginning of a run's id. */
  run?: string | undefined;
  principal?: string | undefined;
  /** The account, by its name. */
  user?: string | undefined;
  /** The machine. */
  host?: string | undefined;
  /** The name that a client gives itself, or the command of ptc. */
  client?: string | undefined;
  /** The beginning of the client's name for its conversation. */
  clientSession?: string | undefined;
  decision?: string | undefined;
  /** Only lines about refusals and failures. */
  isUnwanted?: boolean | undefined;
}

const POLL_MS = 250;
const PIECE_BYTES = 64 * 1024;
const LONGEST_LINE_BYTES = 256 * 1024;

function matchesFilter(fields: AuditFields, filter: AuditFilter): boolean {
  const at = Date.parse(String(fields.time));
  const is = (wanted: string | undefined, member: string) =>
    wanted === undefined || fields[member] === wanted;
  return (
    (filter.sinceMs === undefined || at >= filter.sinceMs) &&
    (filter.untilMs === undefined || at < filter.untilMs) &&
    (filter.events === undefined || filter.events.includes(String(fields.event))) &&
    is(filter.server, "server") &&
    is(filter.principal, "principal") &&
    is(filter.user, "user") &&
    is(filter.host, "host") &&
    is(filter.client, "client") &&
    is(filter.decision, "decision") &&
    (filter.tool === undefined ||
      (typeof fields.tool === "string" && matchesPattern(filter.tool, fields.tool))) &&
    (filter.clientSession === undefined ||
      String(fields.client_session ?? "").startsWith(filter.clientSession)) &&
    (filter.run === undefined || String(fields.run_id ?? "").startsWith(filter.run)) &&
    (filter.isUnwanted !== true || isUnwanted(fields))
  );
}

/**
 * Yields the matching lines of a log and of its earlier files, oldest first. Skips everything that is not a line of the log. Does
 * not check whether lines were changed (chain/verify-log.ts does).
 *
 * @throws Error when a file cannot be read.
 */
export function readLog(current: string, filter: AuditFilter): AsyncGenerator<AuditEntry> {
  return matchingLines(linesOfLog(current), filter);
}

/** Yields the lines that match. Skips everything that is not a line of a log. */
export async function* matchingLines(
  lines: AsyncIterable<{ bytes: Buffer }>,
  filter: AuditFilter,
): AsyncGenerator<AuditEntry> {
  for await (const { bytes } of lines) {
    const entry = entryOf(bytes, filter);
    if (entry !== undefined) yield entry;
  }
}

/** Yields matching lines as they are written from now on, to this file or later ones. Ends when the signal is aborted. */
export async function* followLog(
  current: string,
  filter: AuditFilter,
  signal: AbortSignal,
): AsyncGenerator<AuditEntry> {
  let tail = await Tail.open(current, "end");
  try {
    while (!signal.aborted) {
      // Opens the next file before it reads the rest of this one, so that it misses no line between them.
      const next =
        tail === undefined || (await tail.isReplaced(current))
          ? await Tail.open(current, "start")
          : undefined;
      for (const bytes of (await tail?.read()) ?? []) {
        const entry = entryOf(bytes, filter);
        if (entry !== undefined) yield entry;
      }
      if (next !== undefined) {
        await tail?.close();
        tail = next;
        continue;
      }
      await delay(POLL_MS, undefined, { signal }).catch(() => {});
    }
  } finally {
    await tail?.close();
  }
}

function entryOf(bytes: Buffer, filter: AuditFilter): AuditEntry | undefined {
  const fields = parseAuditLine(bytes);
  return fields !== undefined && matchesFilter(fields, filter)
    ? { line: bytes.toString("utf8"), fields }
    : undefined;
}

/** Reads what is added to a file, even after the file was renamed. */
class Tail {
  readonly #file: FileHandle;
  readonly #inode: bigint;
  #at: number;
  #held: Buffer = Buffer.alloc(0);

  private constructor(file: FileHandle, inode: bigint, at: number) {
    this.#file = file;
    this.#inode = inode;
    this.#at = at;
  }

  /** Opens a file, or returns `undefined` when there is no such file. */
  static async open(path: string, from: "start" | "end"): Promise<Tail | undefined> {
    const file = await open(path, "r").catch(() => undefined);
    if (file === undefined) return undefined;
    const { ino, size } = await file.stat({ bigint: true });
    return new Tail(file, ino, from === "end" ? Number(size) : 0);
  }

  async isReplaced(path: string): Promise<boolean> {
    const other = await Tail.open(path, "start");
    await other?.close();
    return other !== undefined && other.#inode !== this.#inode;
  }

  /** The lines that were completed since the last call. */
  async read(): Promise<Buffer[]> {
    const lines: Buffer[] = [];
    for (;;) {
      const { buffer, bytesRead } = await this.#file.read(
        Buffer.alloc(PIECE_BYTES),
        0,
        PIECE_BYTES,
        this.#at,
      );
      if (bytesRead === 0) return lines;
      this.#at += bytesRead;
      const piece = Buffer.concat([this.#held, buffer.subarray(0, bytesRead)]);
      const last = piece.lastIndexOf("\n");
      for (let start = 0; start <= last; ) {
        const end = piece.indexOf("\n", start);
        lines.push(piece.subarray(start, end));
        start = end + 1;
      }
      const rest = piece.subarray(last + 1);
      this.#held = rest.length > LONGEST_LINE_BYTES ? Buffer.alloc(0) : rest;
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
