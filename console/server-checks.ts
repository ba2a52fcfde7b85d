/**
 * Checks of servers: whether each answers, since when, and how its tools differ from the generated ones, which give programs their
 * types. Opening a page starts no server. A viewer requests a check, which continues after the response. Only that viewer sees its
 * outcome, because each viewer has their own logins.
 */
import type { Viewer } from "./viewer.ts";

/** How the tools of a server differ from the generated ones. Tools have their protocol names. */
export interface ServerDifference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Lines that begin with `- `, `+ ` or two spaces. */
  readonly changed: readonly { readonly tool: string; readonly diff: readonly string[] }[];
}

/** The outcome of asking one server for its tools. */
export interface CheckedServer {
  /** Its configured name. */
  readonly server: string;
  /** Why it does not answer, in one line; `undefined` where it does. */
  readonly why?: string | undefined;
  /** `undefined` if its tools match the generated ones, or it does not answer. */
  readonly difference?: ServerDifference | undefined;
}

/** Asks every server for its tools, as the viewer. Resolves with why none could be asked, in one line. Never rejects. */
export type CheckServers = (
  viewer: Viewer,
  signal: AbortSignal,
) => Promise<readonly CheckedServer[] | { readonly why: string }>;

/** A server at its last check. Times are milliseconds since 1970. */
export interface KnownServer extends CheckedServer {
  /** The time of the first of the latest checks that all found the same: that it answers, or that it does not. */
  readonly since: number;
}

/** The last check of a viewer. */
export interface LastCheck {
  readonly isUnderWay: boolean;
  /** When it ended; `undefined` before the first check has ended. */
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

  /** Begins a check, unless one of this viewer is in progress. Returns false if too many others are. */
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
