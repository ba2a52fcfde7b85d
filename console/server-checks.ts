/**
 * What is known of servers since somebody asked them: whether each answers, since when, and how its tools differ from those that programs
 * are typed by. Opening a page starts no server. A check is asked for, goes on after the answer, and counts for its viewer alone, as
 * each has their own logins.
 */
import type { Viewer } from "./viewer.ts";

/** How the tools of a server differ from those that were generated. Tools are named by their protocol names. */
export interface ServerDifference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Lines that begin with `- `, `+ ` or two spaces. */
  readonly changed: readonly { readonly tool: string; readonly diff: readonly string[] }[];
}

/** What asking one server for its tools has shown. */
export interface CheckedServer {
  /** Its configured name. */
  readonly server: string;
  /** Why it does not answer, in one line; `undefined` where it does. */
  readonly why?: string | undefined;
  /** `undefined` where its tools are as they were generated, or it does not answer. */
  readonly difference?: ServerDifference | undefined;
}

/** Asks every server for its tools, as the viewer. Resolves with why none could be asked, in one line. Never rejects. */
export type CheckServers = (
  viewer: Viewer,
  signal: AbortSignal,
) => Promise<readonly CheckedServer[] | { readonly why: string }>;

/** A server at its last check. Times are milliseconds since 1970. */
export interface KnownServer extends CheckedServer {
  /** The first of the checks in a row that found the same: that it answers, or that it does not. */
  readonly since: number;
}

/** The last check of a viewer. */
export interface LastCheck {
  readonly isUnderWay: boolean;
  /** When it ended; `undefined` before the first has. */
  readonly at: number | undefined;
  readonly servers: ReadonlyMap<string, KnownServer>;
  /** Why no server could be asked. */
  readonly why: string | undefined;
}

const MAX_UNDER_WAY = 4;
const MAX_VIEWERS = 200;
const NEVER: LastCheck = { isUnderWay: false, at: undefined, servers: new Map(), why: undefined };

export class ServerChecks {
  readonly #check: CheckServers;
  readonly #now: () => number;
  readonly #last = new Map<string, LastCheck>();

  /** @param now milliseconds since 1970. */
  constructor(check: CheckServers, now: () => number) {
    this.#check = check;
    this.#now = now;
  }

  of({ principal }: Viewer): LastCheck {
    return this.#last.get(principal) ?? NEVER;
  }

  /** Begins a check, unless one of this viewer is under way. False where too many others are. */
  begin(viewer: Viewer, signal: AbortSignal): boolean {
    const before = this.of(viewer);
    if (before.isUnderWay) return true;
    if ([...this.#last.values()].filter(({ isUnderWay }) => isUnderWay).length >= MAX_UNDER_WAY) return false;
    this.#keep(viewer, { ...before, isUnderWay: true });
    void this.#check(viewer, signal).then((found) => {
      const at = this.#now();
      if ("why" in found) return this.#keep(viewer, { ...before, isUnderWay: false, at, why: found.why });
      const servers = found.map((each): [string, KnownServer] => {
        const known = before.servers.get(each.server);
        const isSame = known !== undefined && (known.why === undefined) === (each.why === undefined);
        return [each.server, { ...each, since: isSame ? known.since : at }];
      });
      this.#keep(viewer, { isUnderWay: false, at, servers: new Map(servers), why: undefined });
    });
    return true;
  }

  #keep({ principal }: Viewer, last: LastCheck): void {
    this.#last.delete(principal);
    this.#last.set(principal, last);
    for (const [oldest, { isUnderWay }] of this.#last) {
      if (this.#last.size <= MAX_VIEWERS) break;
      if (!isUnderWay) this.#last.delete(oldest);
    }
  }
}
