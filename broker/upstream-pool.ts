import type {
  ToolsChange,
  Upstream,
  UpstreamCallOptions,
  UpstreamConnection,
  UpstreamListing,
} from "./upstream.ts";
import { UpstreamError } from "./upstream-error.ts";

export interface UpstreamSource {
  readonly name: string;
  /** @throws UpstreamError, also when the signal aborts. */
  connect(signal: AbortSignal): Promise<UpstreamConnection>;
}

export interface Clock {
  /** Milliseconds from any fixed point; never runs backwards. */
  now(): number;
}

export interface Backoff {
  firstMs: number;
  maxMs: number;
  /** A connection that lived this long has made up for the failures before it. */
  stableMs: number;
}

export interface PoolOptions {
  backoff?: Backoff;
  /** A connection that has not been used for so long is ended; without it, none is. */
  idleMs?: number;
}

const DEFAULT_BACKOFF: Backoff = { firstMs: 1_000, maxMs: 60_000, stableMs: 60_000 };

/**
 * The configured servers. Each is started when it is first used, at most once at a time, and shared by all who use it. One
 * that was lost is started again on its next use, at once after its first loss and then after growing pauses, in which
 * calls fail straight away.
 */
export class UpstreamPool {
  readonly #upstreams: ReadonlyMap<string, PooledUpstream>;

  constructor(sources: readonly UpstreamSource[], clock: Clock, options: PoolOptions = {}) {
    this.#upstreams = new Map(
      sources.map((source) => [source.name, new PooledUpstream(source, clock, options)]),
    );
  }

  get(name: string): Upstream | undefined {
    return this.#upstreams.get(name);
  }

  all(): Upstream[] {
    return [...this.#upstreams.values()];
  }

  /** Ends every server, also those that are being started. None is started again. */
  async close(): Promise<void> {
    await Promise.all([...this.#upstreams.values()].map((upstream) => upstream.shutDown()));
  }
}

class PooledUpstream implements Upstream {
  readonly name: string;
  readonly #source: UpstreamSource;
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #idleMs: number | undefined;
  readonly #listeners = new Set<(change: ToolsChange) => void>();
  /** How many uses of each connection are under way. */
  readonly #uses = new Map<UpstreamConnection, number>();
  /** Connections that end with their last use. */
  readonly #retired = new Set<UpstreamConnection>();
  #active = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #connecting: { promise: Promise<UpstreamConnection>; abort: AbortController } | undefined;
  #connection: UpstreamConnection | undefined;
  #connectedAt = 0;
  #failures = 0;
  #lastFailure: UpstreamError | undefined;
  #retryAt = Number.NEGATIVE_INFINITY;
  #shutDown = false;

  constructor(source: UpstreamSource, clock: Clock, { backoff = DEFAULT_BACKOFF, idleMs }: PoolOptions) {
    this.name = source.name;
    this.#source = source;
    this.#clock = clock;
    this.#backoff = backoff;
    this.#idleMs = idleMs;
  }

  async list(signal?: AbortSignal): Promise<UpstreamListing> {
    return this.#use(signal, async (connection) => {
      const tools = await connection.listTools(signal);
      const { implementation, protocolVersion } = connection;
      return { implementation, protocolVersion, tools };
    });
  }

  async call(tool: string, args: unknown, options: UpstreamCallOptions): Promise<unknown> {
    return this.#use(options.signal, (connection) => connection.callTool(tool, args, options));
  }

  onToolsChanged(listener: (change: ToolsChange) => void): () => void {
    // Each its own entry, should one listener be added twice.
    const entry = (change: ToolsChange) => listener(change);
    this.#listeners.add(entry);
    if (this.#listeners.size === 1 && this.#connection !== undefined) this.#follow(this.#connection);
    return () => {
      this.#listeners.delete(entry);
    };
  }

  renew(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection === undefined) return;
    if (this.#uses.has(connection)) this.#retired.add(connection);
    else void connection.close();
  }

  async close(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const { promise, abort } = this.#connecting ?? {};
    const connections = [this.#connection, ...this.#retired];
    this.#connecting = undefined;
    this.#connection = undefined;
    this.#retired.clear();
    abort?.abort();
    // Whoever started it takes care of one that is done too late to be aborted.
    await Promise.allSettled([promise, ...connections.map((connection) => connection?.close())]);
  }

  async shutDown(): Promise<void> {
    this.#shutDown = true;
    await this.close();
  }

  /** Keeps the connection from being ended as idle while it is in use. */
  async #use<T>(
    signal: AbortSignal | undefined,
    work: (connection: UpstreamConnection) => Promise<T>,
  ): Promise<T> {
    clearTimeout(this.#idleTimer);
    this.#active++;
    let connection: UpstreamConnection | undefined;
    try {
      connection = await this.#connect(signal);
      this.#uses.set(connection, (this.#uses.get(connection) ?? 0) + 1);
      return await work(connection);
    } finally {
      if (connection !== undefined) this.#release(connection);
      this.#active--;
      if (this.#active === 0 && this.#idleMs !== undefined) {
        this.#idleTimer = setTimeout(() => this.#endIdle(), this.#idleMs).unref();
      }
    }
  }

  #release(connection: UpstreamConnection): void {
    const others = (this.#uses.get(connection) ?? 1) - 1;
    if (others > 0) {
      this.#uses.set(connection, others);
      return;
    }
    this.#uses.delete(connection);
    if (this.#retired.delete(connection)) void connection.close();
  }

  #endIdle(): void {
    if (this.#connection === undefined) return;
    void this.close();
    this.#announce("disconnected");
  }

  #announce(change: ToolsChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  async #connect(signal: AbortSignal | undefined): Promise<UpstreamConnection> {
    if (signal?.aborted) throw this.#cancelled();
    if (this.#shutDown)
      throw new UpstreamError("cancelled", `server '${this.name}' is not used: ptc is ending`);
    if (this.#connection !== undefined) return this.#connection;
    if (this.#connecting === undefined) {
      this.#refuseDuringBackoff();
      const abort = new AbortController();
      this.#connecting = { promise: this.#start(abort.signal), abort };
    }
    return this.#wait(this.#connecting.promise, signal);
  }

  async #start(signal: AbortSignal): Promise<UpstreamConnection> {
    let connection: UpstreamConnection;
    try {
      connection = await this.#source.connect(signal);
    } catch (error) {
      if (!signal.aborted) {
        this.#connecting = undefined;
        this.#fail(error, 0);
      }
      throw error;
    }
    if (signal.aborted) {
      await connection.close();
      throw this.#cancelled();
    }
    this.#connecting = undefined;
    this.#connection = connection;
    this.#connectedAt = this.#clock.now();
    connection.onLost((reason) => this.#onLost(connection, reason));
    if (this.#listeners.size > 0) this.#follow(connection);
    return connection;
  }

  #follow(connection: UpstreamConnection): void {
    connection.onToolsChanged(() => {
      if (this.#connection === connection) this.#announce("announced");
    });
  }

  #onLost(connection: UpstreamConnection, reason: UpstreamError): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    if (this.#clock.now() - this.#connectedAt >= this.#backoff.stableMs) this.#failures = 0;
    this.#fail(reason, 1);
    this.#announce("disconnected");
  }

  /** Sets the pause before the next start; `free` failures have none. */
  #fail(error: unknown, free: number): void {
    this.#failures++;
    this.#lastFailure = error instanceof UpstreamError ? error : undefined;
    const doublings = this.#failures - 1 - free;
    const pauseMs = doublings < 0 ? 0 : Math.min(this.#backoff.maxMs, this.#backoff.firstMs * 2 ** doublings);
    this.#retryAt = this.#clock.now() + pauseMs;
  }

  #refuseDuringBackoff(): void {
    const waitMs = this.#retryAt - this.#clock.now();
    if (waitMs <= 0) return;
    const last = this.#lastFailure;
    const seconds = Math.ceil(waitMs / 1_000);
    const reason = last === undefined ? `server '${this.name}' failed` : last.message;
    throw new UpstreamError("backing_off", `${reason}; it will be tried again in ${seconds} s`, {
      cause: last,
      retryable: true,
    });
  }

  /** Waits for a start that others may be waiting for as well, and which goes on without this caller. */
  async #wait(
    promise: Promise<UpstreamConnection>,
    signal: AbortSignal | undefined,
  ): Promise<UpstreamConnection> {
    promise.catch(() => {});
    if (signal === undefined) return promise;
    let onAbort = () => {};
    const aborted = new Promise<never>((_, reject) => {
      onAbort = () => reject(this.#cancelled());
      signal.addEventListener("abort", onAbort, { once: true });
    });
    try {
      return await Promise.race([promise, aborted]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #cancelled(): UpstreamError {
    return new UpstreamError("cancelled", `server '${this.name}' was not called: the call is cancelled`);
  }
}
