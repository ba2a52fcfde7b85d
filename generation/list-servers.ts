import { GrowingPause } from "../base/backoff.ts";
import { ownSignal } from "../base/waiting.ts";
import { countTools, type ServerListing, type Warning } from "../catalog/parse-tool.ts";
import type { ServerConfiguration } from "../configuration/configuration.ts";
import type { Upstream, UpstreamListing } from "../upstream/upstream.ts";
import { UpstreamError, type UpstreamErrorCode } from "../upstream/upstream-error.ts";

/** The configured servers by name. Each is started on first use. */
export interface ConfiguredServers {
  get(name: string): Pick<Upstream, "list" | "onToolsChanged"> | undefined;
}

interface ListedServers {
  listings: ServerListing[];
  /** The servers that could not be listed, each with the reason in one line. */
  failures: { server: string; code: UpstreamErrorCode; message: string }[];
  /** The parts of listings that could not be read. */
  problems: Warning[];
}

/** The outcome of listing one server, as soon as it is known. */
export interface ListOutcome {
  server: string;
  /** How many tools it listed; `undefined` when it could not be listed. */
  tools: number | undefined;
}

/**
 * Lists servers, all at the same time. The failure of one does not affect the others. Every server is among the listings or
 * among the failures.
 */
export async function listServers(
  servers: readonly ServerConfiguration[],
  upstreams: ConfiguredServers,
  signal: AbortSignal,
  onOutcome: (outcome: ListOutcome) => void = () => {},
): Promise<ListedServers> {
  const listed: ListedServers = { listings: [], failures: [], problems: [] };
  await Promise.all(
    servers.map(async (server) => {
      try {
        const upstream = upstreams.get(server.name);
        if (upstream === undefined)
          throw new UpstreamError("start_failed", `server '${server.name}' is not in use here`);
        const listing = await upstream.list(ownSignal(signal));
        listed.listings.push(describeListing(server, listing));
        onOutcome({ server: server.name, tools: countTools(listing.tools) });
        for (const problem of listing.problems ?? [])
          listed.problems.push({ server: server.name, ...problem });
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        listed.failures.push({ server: server.name, code: error.code, message: error.message });
        onOutcome({ server: server.name, tools: undefined });
      }
    }),
  );
  return listed;
}

/** Combines what a server listed with its description in the configuration. */
export function describeListing(
  { name, description }: ServerConfiguration,
  { implementation, protocolVersion, tools }: UpstreamListing,
): ServerListing {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    implementation,
    protocolVersion,
    tools,
  };
}

/** The pause before servers that could not be listed are listed again. Starting a server may take longer. */
const RETRY_MS = 2_000;

/** Notes when the tools of servers may have changed, also between calls of `next`. */
export class ToolChanges {
  #changed = false;
  #wake = () => {};

  constructor(servers: ConfiguredServers, selected: readonly { name: string }[]) {
    for (const { name } of selected) {
      servers.get(name)?.onToolsChanged(() => {
        this.#changed = true;
        this.#wake();
      });
    }
  }

  /**
   * Waits for a change since the last call, at most `timeoutMs`, or until `stop` is aborted. Resolves with whether there
   * was one.
   */
  async next(stop: AbortSignal, timeoutMs?: number): Promise<boolean> {
    if (!this.#changed && !stop.aborted) {
      await new Promise<void>((resolve) => {
        const timer = timeoutMs === undefined ? undefined : setTimeout(() => this.#wake(), timeoutMs);
        this.#wake = () => {
          clearTimeout(timer);
          stop.removeEventListener("abort", this.#wake);
          resolve();
        };
        stop.addEventListener("abort", this.#wake);
      });
    }
    const hasChanged = this.#changed;
    this.forget();
    return hasChanged;
  }

  /** Forgets the changes so far, for a caller that is about to list the servers. */
  forget(): void {
    this.#changed = false;
  }
}

/**
 * Runs `again` after every change, one at a time, until `stop` is aborted. `again` returns false when a server could not be
 * listed; it is then also repeated at intervals. The pauses grow while changes follow each other closely, so that a
 * server that announces changes without end costs little.
 *
 * @param complete whether all servers could be listed before.
 */
export async function watchTools(
  changes: ToolChanges,
  stop: AbortSignal,
  complete: boolean,
  again: () => Promise<boolean>,
): Promise<void> {
  const pause = new GrowingPause();
  let whole = complete;
  while (!stop.aborted) {
    const hasChanged = await changes.next(stop, whole ? undefined : RETRY_MS);
    if (hasChanged) await pauseFor(pause.waitMs(), stop);
    if (stop.aborted) return;
    // The next run lists the servers anyway, so changes during the pause need no separate run.
    changes.forget();
    if (hasChanged) pause.begin();
    whole = await again();
    if (hasChanged) pause.restart();
  }
}

/** Waits for `ms`, or until `stop` is aborted. */
async function pauseFor(ms: number, stop: AbortSignal): Promise<void> {
  if (ms <= 0 || stop.aborted) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      stop.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    stop.addEventListener("abort", end);
  });
}
