/** Shows, follows and verifies the audit log of a project. */
import { AUDIT_EVENTS, type AuditFields, isUnwanted } from "../archive/audit/audit-line.ts";
import { renderOcsf } from "../archive/audit/reading/ocsf.ts";
import type { AuditEntry, AuditFilter } from "../archive/audit/reading/read-log.ts";
import { jsonLine } from "../base/json.ts";
import { version } from "../system/package.ts";
import type { Project } from "./open-project.ts";
import { Refusal } from "./refusal.ts";

/** The names of events, for people. */
export const KNOWN_EVENTS = AUDIT_EVENTS.join(", ");

/** How many lines come together. */
const BATCH = 200;

/** A line of the audit log. Anybody may have written it. */
export interface ShownAuditLine {
  /** The line as it is in the file. */
  readonly json: string;
  readonly fields: AuditFields;
  /** Whether it says that something was refused or has failed. */
  readonly isUnwanted: boolean;
  /** The line as an event of the Open Cybersecurity Schema Framework. */
  ocsf(): string;
}

export interface ShownAudit {
  /** Names the log in messages. */
  readonly place: string;
  /** The matching lines, oldest first, in batches. */
  readonly written: AsyncIterable<ShownAuditLine[]>;
  /** Matching lines as they are written from now on. */
  readonly following: AsyncIterable<ShownAuditLine>;
}

/** Reads the names of events, with commas between them. @throws Refusal */
export function parseEvents(text: string): string[] {
  const events = text.split(",").map((event) => event.trim());
  const unknown = events.find((event) => !(AUDIT_EVENTS as readonly string[]).includes(event));
  if (unknown === undefined) return events;
  throw new Refusal(`--event: '${unknown.slice(0, 40)}' is not one of ${KNOWN_EVENTS}`);
}

/**
 * The lines of the audit log that match.
 *
 * @param newest how many of the lines that were written before; may be infinite.
 * @param isFollowed whether lines are followed. Following starts at once, so that no line is missed while the existing lines are read.
 */
export function showAudit(
  project: Project,
  filter: AuditFilter,
  { newest, isFollowed }: { newest: number; isFollowed: boolean },
): ShownAudit {
  const source = project.readAudit();
  const following = isFollowed ? source.following(filter, new AbortController().signal) : undefined;
  const first = following?.next();
  return {
    place: source.place,
    written: newestOf(source.entries(filter), newest),
    following: (async function* () {
      if (following === undefined) return;
      for (let next = await first; next !== undefined && !next.done; next = await following.next())
        yield shown(next.value);
    })(),
  };
}

async function* newestOf(
  entries: AsyncIterable<AuditEntry>,
  limit: number,
): AsyncGenerator<ShownAuditLine[]> {
  let held: AuditEntry[] = [];
  for await (const entry of entries) {
    held.push(entry);
    if (limit === Number.POSITIVE_INFINITY && held.length >= BATCH) {
      yield held.map(shown);
      held = [];
    } else if (held.length >= 2 * limit) held = held.slice(-limit);
  }
  if (limit !== Number.POSITIVE_INFINITY) held = held.slice(-limit);
  if (held.length > 0) yield held.map(shown);
}

function shown({ line, fields }: AuditEntry): ShownAuditLine {
  return {
    json: line,
    fields,
    isUnwanted: isUnwanted(fields),
    ocsf: () => jsonLine(renderOcsf(fields, version)),
  };
}
