import type { Clock } from "../../base/clock.ts";
import type { CredentialSource } from "../credentials.ts";
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
  readonly #sources: ReadonlyMap<string, UpstreamSource>;
  readonly #credentials: CredentialSource;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #options: PoolOptions;
  /** Upstreams by principal, then by the server's name. */
  readonly #upstreams = new Map<string, Map<string, PooledUpstream>>();
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
    const all = [...this.#upstreams.values()].flatMap((own) => [...own.values()]);
    await Promise.all(all.map((upstream) => upstream.shutDown()));
  }
}
