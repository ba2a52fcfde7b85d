import type { Clock } from "../../base/clock.ts";
import type { CredentialSource } from "../authorization/credentials.ts";
import type { Upstream } from "../upstream.ts";
import { PooledUpstream, type UpstreamSource } from "./pooled-upstream.ts";
import { type BackoffOptions, DEFAULT_BACKOFF } from "./restart-backoff.ts";

export interface PoolOptions {
  backoff?: BackoffOptions;
  /** A connection that has been unused for this many milliseconds is ended; by default none is. */
  idleMs?: number;
}

/**
 * The configured servers of each principal. A connection uses the credentials of one principal and serves no other. A
 * server is started on first use, at most once at a time, and shared by all runs of its principal. A lost server is started
 * again on its next use, at once after its first loss and then after growing pauses, during which calls fail at once.
 */
export class UpstreamPool {
  #sources: ReadonlyMap<string, UpstreamSource>;
  #credentials: CredentialSource;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #options: PoolOptions;
  /** Upstreams by principal, then by the server's name. */
  readonly #upstreams = new Map<string, Map<string, PooledUpstream>>();
  /** Upstreams of servers that are not configured any more, or in another way, with calls under way. */
  readonly #retired = new Set<PooledUpstream>();
  #isClosed = false;

  constructor(
    sources: readonly UpstreamSource[],
    credentials: CredentialSource,
    clock: Pick<Clock, "monotonicMs">,
    options: PoolOptions = {},
  ) {
    this.#sources = new Map(sources.map((source) => [source.name, source]));
    this.#credentials = credentials;
    this.#clock = clock;
    this.#options = options;
  }

  /** A server for one principal; always the same object. `undefined` when no server of that name is configured. */
  get(principal: string, server: string): Upstream | undefined {
    const source = this.#sources.get(server);
    if (source === undefined) return undefined;
    const own = this.#upstreams.get(principal) ?? new Map<string, PooledUpstream>();
    this.#upstreams.set(principal, own);
    const upstream = own.get(server) ?? this.#add(principal, source);
    own.set(server, upstream);
    return upstream;
  }

  /**
   * Takes the place of the servers by others. Servers that are the same go on. The others end when the calls under way are
   * over, and are started anew where they are still configured.
   */
  replace(sources: readonly UpstreamSource[], credentials: CredentialSource): void {
    const next = new Map(sources.map((source) => [source.name, source]));
    for (const upstream of this.#retired) if (!upstream.isInUse) this.#retired.delete(upstream);
    for (const own of this.#upstreams.values()) {
      for (const [name, upstream] of own) {
        const source = next.get(name);
        if (source !== undefined && source.identity === this.#sources.get(name)?.identity) continue;
        own.delete(name);
        this.#retired.add(upstream);
        upstream.retire(
          source === undefined
            ? "it is not configured any more"
            : "its configuration has just been changed; call it again",
        );
      }
    }
    this.#sources = next;
    this.#credentials = credentials;
  }

  #add(principal: string, source: UpstreamSource): PooledUpstream {
    const { backoff = DEFAULT_BACKOFF, idleMs } = this.#options;
    const upstream = new PooledUpstream({
      source,
      credentials: (signal) => this.#credentials.credentialsFor(principal, source.name, signal),
      clock: this.#clock,
      backoff,
      idleMs,
    });
    if (this.#isClosed) void upstream.shutDown();
    return upstream;
  }

  /** Ends every server, including those being started. None is started again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#retired, ...[...this.#upstreams.values()].flatMap((own) => [...own.values()])];
    await Promise.all(all.map((upstream) => upstream.shutDown()));
  }
}
