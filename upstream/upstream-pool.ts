import { doublingPause } from "../base/backoff.ts";
import type { Clock } from "../base/clock.ts";
import { messageOf, withinBoundary } from "../base/faults.ts";
import { inTime, orAborted } from "../base/waiting.ts";
import { LOCAL_PRINCIPAL } from "../protocol/run-context.ts";
import { AccountsUpstream } from "./accounts.ts";
import type { CredentialSource, ServerCredentials } from "./authorization/credentials.ts";
import { CallGate, Circuit, type GateLimits } from "./call-gate.ts";
import { notReadyInTime } from "./tool-servers.ts";
import type {
  ServerNotice,
  ToolsChange,
  Upstream,
  UpstreamCall,
  UpstreamConnection,
  UpstreamListing,
} from "./upstream.ts";
import { UpstreamError } from "./upstream-error.ts";

export interface PoolOptions {
  backoff?: BackoffOptions;
  /** A connection that has been unused for this many milliseconds is ended; by default never. */
  idleMs?: number;
  /** Receives what servers say unasked. @param principal whose connection it is; `undefined` for everybody's. */
  onNotice?: ((server: string, principal: string | undefined, notice: ServerNotice) => void) | undefined;
}

/** Stands for all principals of a shared server. */
const EVERYBODY = Symbol("everybody");
type User = string | symbol;

/**
 * The configured servers of each principal. A connection uses the credentials of one principal and serves no other, except for
 * shared servers, which have no personal data. A server is started on first use, at most once at a time, and shared by all runs of
 * its principal. A lost server is started again on its next use, immediately after the first loss and then after growing pauses,
 * during which calls fail immediately. A server has a limited number of connections: the one that was unused the longest is ended
 * for a new one, and if all are in use, other principals have to try again later.
 */
export class UpstreamPool {
  #sources: ReadonlyMap<string, UpstreamSource>;
  /** The sources of all connections, by name. */
  #connectable: ReadonlyMap<string, UpstreamSource>;
  #credentials: CredentialSource;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #options: PoolOptions;
  /** Upstreams by principal, then by the server's name. */
  readonly #upstreams = new Map<User, Map<string, PooledUpstream>>();
  /** Servers with accounts, by what their first account uses. */
  readonly #accounts = new WeakMap<Upstream, { names: readonly string[]; upstream: AccountsUpstream }>();
  /** Upstreams of servers that were removed or changed, which may still have open calls. */
  readonly #retired = new Set<PooledUpstream>();
  /** Upstreams that are in use or connected, the most recently used last. */
  readonly #live = new Set<PooledUpstream>();
  readonly #gates = new Map<string, CallGate>();
  #isClosed = false;

  constructor(
    sources: readonly UpstreamSource[],
    credentials: CredentialSource,
    clock: Pick<Clock, "monotonicMs">,
    options: PoolOptions = {},
  ) {
    this.#sources = new Map(sources.map((source) => [source.name, source]));
    this.#connectable = everySource(sources);
    this.#credentials = credentials;
    this.#clock = clock;
    this.#options = options;
  }

  /**
   * A server for one principal; the same object as long as it is in use or connected. `undefined` if no server of that name is
   * configured.
   */
  get(principal: string, server: string): Upstream | undefined {
    const source = this.#sources.get(server);
    if (source === undefined) return undefined;
    if (source.accounts !== undefined) return this.#accountsOf(principal, source, source.accounts);
    return this.#one(principal, source);
  }

  /** The accounts of a server, as one: the same object as long as that of the first account, and its accounts, stay. */
  #accountsOf(
    principal: string,
    { name }: UpstreamSource,
    accounts: Readonly<Record<string, UpstreamSource>>,
  ): Upstream | undefined {
    const names = Object.keys(accounts);
    const open = (account: string) => {
      const current = this.#sources.get(name)?.accounts ?? {};
      const source = Object.hasOwn(current, account) ? current[account] : undefined;
      if (source === undefined)
        throw new UpstreamError("disconnected", `server '${name}' has no account '${account}' any longer`);
      return this.#one(principal, source);
    };
    const first = open(names[0] ?? "");
    const known = this.#accounts.get(first);
    if (known?.names.join() === names.join()) return known.upstream;
    const isCurrent = () =>
      this.#accounts.get(first)?.upstream === upstream &&
      Object.keys(this.#sources.get(name)?.accounts ?? {}).join() === names.join();
    const upstream = new AccountsUpstream(name, names, { open, isCurrent });
    this.#accounts.set(first, { names, upstream });
    return upstream;
  }

  #one(principal: string, source: UpstreamSource): PooledUpstream {
    const { name: server } = source;
    const user = source.isShared === true ? EVERYBODY : principal;
    const own = this.#upstreams.get(user) ?? new Map<string, PooledUpstream>();
    this.#upstreams.set(user, own);
    const upstream = own.get(server) ?? this.#add(user, source);
    own.set(server, upstream);
    return upstream;
  }

  /**
   * Replaces the servers. Unchanged servers keep their connections. Others end after their open calls, and start again on their next
   * use if they are still configured.
   */
  replace(sources: readonly UpstreamSource[], credentials: CredentialSource): void {
    const next = new Map(sources.map((source) => [source.name, source]));
    const after = everySource(sources);
    for (const upstream of this.#retired) if (!upstream.isInUse) this.#retired.delete(upstream);
    const known = [...this.#live, ...[...this.#upstreams.values()].flatMap((own) => [...own.values()])];
    for (const upstream of new Set(known)) {
      const { name } = upstream;
      const source = after.get(name);
      if (source !== undefined && source.identity === this.#connectable.get(name)?.identity) continue;
      this.#drop(upstream);
      this.#retired.add(upstream);
      upstream.retire(
        source === undefined
          ? "it is no longer configured"
          : "its configuration has just been changed; call it again",
      );
    }
    this.#sources = next;
    this.#connectable = after;
    this.#credentials = credentials;
  }

  #add(user: User, source: UpstreamSource): PooledUpstream {
    const { backoff = DEFAULT_BACKOFF, idleMs, onNotice } = this.#options;
    const principal = typeof user === "string" ? user : LOCAL_PRINCIPAL;
    const upstream: PooledUpstream = new PooledUpstream({
      source,
      principal,
      credentials: (signal) => this.#credentials.credentialsFor(principal, source.name, signal),
      clock: this.#clock,
      backoff,
      idleMs,
      gate: this.#gateOf(source.name),
      makeRoom: () => this.#makeRoom(upstream),
      onUse: () => {
        this.#live.delete(upstream);
        this.#live.add(upstream);
      },
      onUnused: () => {
        this.#live.delete(upstream);
      },
      onNotice: (notice) => {
        if (source.isAccount === true) return;
        onNotice?.(source.name, source.isShared === true ? undefined : principal, notice);
      },
      onIdle: () => {
        this.#live.delete(upstream);
        this.#drop(upstream, user);
      },
    });
    if (this.#isClosed) void upstream.shutDown();
    return upstream;
  }

  #gateOf(server: string): CallGate {
    const gate =
      this.#gates.get(server) ?? new CallGate(server, () => this.#connectable.get(server)?.use ?? UNBOUNDED);
    this.#gates.set(server, gate);
    return gate;
  }

  /** If the number of connections to a server is at its limit, ends the one that was unused the longest. */
  #makeRoom({ name }: PooledUpstream): void {
    const most = this.#connectable.get(name)?.use?.maxConnections ?? Number.POSITIVE_INFINITY;
    const connected = [...this.#live].filter((each) => each.name === name && each.isConnecting);
    if (connected.length < most) return;
    const unused = connected.find((each) => !each.isInUse);
    if (unused === undefined)
      throw new UpstreamError(
        "busy",
        `server '${name}' is not started: ${most} connections, the most at a time, are in use; try again later`,
      );
    unused.endIdle();
  }

  #drop(upstream: PooledUpstream, user?: User): void {
    const users = user === undefined ? [...this.#upstreams.keys()] : [user];
    for (const each of users) {
      const own = this.#upstreams.get(each);
      if (own?.get(upstream.name) !== upstream) continue;
      own.delete(upstream.name);
      if (own.size === 0) this.#upstreams.delete(each);
    }
  }

  /** Ends every server, including those being started. No server is started after that. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const kept = [...this.#upstreams.values()].flatMap((own) => [...own.values()]);
    const all = new Set([...this.#retired, ...this.#live, ...kept]);
    await Promise.all([...all].map((upstream) => upstream.shutDown()));
  }
}

/** The sources of all connections, by name: of a server with accounts those of its accounts. */
function everySource(sources: readonly UpstreamSource[]): ReadonlyMap<string, UpstreamSource> {
  const all = sources.flatMap((source) => Object.values(source.accounts ?? { source }));
  return new Map(all.map((source) => [source.name, source]));
}

const UNBOUNDED: GateLimits = {
  maxParallelCalls: Number.POSITIVE_INFINITY,
  maxQueuedCalls: Number.POSITIVE_INFINITY,
};

export interface UpstreamSource {
  readonly name: string;
  /** Its accounts by name, if it has some. It is then connected through them alone. */
  readonly accounts?: Readonly<Record<string, UpstreamSource>> | undefined;
  /** Whether it is one account of a server. Accounts offer no resources and prompts, so notices are dropped. */
  readonly isAccount?: boolean | undefined;
  /** Why the server is off, if it is. It is never connected then, and calls fail at once. */
  readonly off?: string | undefined;
  /** Why its start may take long, if it may. */
  readonly whySlow?: string | undefined;
  /** Changes whenever the server must be started or reached differently. */
  readonly identity?: string | undefined;
  /** Whether all principals share one connection, because it has no personal data. */
  readonly isShared?: boolean | undefined;
  /** Limits on concurrent use; by default unlimited. */
  readonly use?: (GateLimits & { readonly maxConnections: number }) | undefined;
  /**
   * Starts or reaches the server.
   *
   * @param principal the principal on whose behalf it is called over this connection.
   * @throws UpstreamError, also if the signal aborts.
   */
  connect(
    signal: AbortSignal,
    credentials: ServerCredentials,
    principal: string,
  ): Promise<UpstreamConnection>;
}

export interface PooledUpstreamOptions {
  source: UpstreamSource;
  /** The principal whose calls take turns with others. */
  principal: string;
  /** The credentials for the next connection. @throws UpstreamError */
  credentials: (signal: AbortSignal) => Promise<ServerCredentials>;
  clock: Pick<Clock, "monotonicMs">;
  backoff: BackoffOptions;
  /** A connection that has been unused for this long is ended; `undefined` for never. */
  idleMs: number | undefined;
  /** The calls of the server, of all principals. */
  gate: CallGate;
  /** Called before it connects. @throws UpstreamError if there is no room for another connection. */
  makeRoom: () => void;
  /** Called when it is used; `onUnused` when it is no longer used and has no connection, or its idle connection has ended. */
  onUse: () => void;
  onUnused: () => void;
  onIdle: () => void;
  /** Receives what the server says unasked. */
  onNotice?: ((notice: ServerNotice) => void) | undefined;
}

/** One server for one principal: its connection, the uses of it, and the pauses between its starts. */
export class PooledUpstream implements Upstream {
  readonly name: string;
  readonly #options: PooledUpstreamOptions;
  readonly #backoff: RestartBackoff;
  readonly #circuit: Circuit;
  readonly #listeners = new Set<(change: ToolsChange) => void>();
  /** How many uses of each connection are in progress. */
  readonly #uses = new Map<UpstreamConnection, number>();
  /** Connections that are ended after their last use. */
  readonly #retired = new Set<UpstreamConnection>();
  #active = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  /** `isAwaited` is set once a user of the connection waits for it. */
  #connecting:
    | { promise: Promise<UpstreamConnection>; abort: AbortController; isAwaited: boolean }
    | undefined;
  #connection: UpstreamConnection | undefined;
  /** Why the server is no longer used. */
  #refusal: string | undefined;

  constructor(options: PooledUpstreamOptions) {
    this.name = options.source.name;
    this.#options = options;
    this.#backoff = new RestartBackoff(options.clock, options.backoff);
    this.#circuit = new Circuit(options.source.name, options.clock);
  }

  get isShared(): boolean {
    return this.#options.source.isShared === true;
  }

  get startsApart(): boolean {
    return this.#options.source.whySlow !== undefined;
  }

  /** Whether it is connected or connecting. */
  get isConnecting(): boolean {
    return this.#connection !== undefined || this.#connecting !== undefined;
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  async startAhead(): Promise<void> {
    await this.#use(
      () => this.#connect(undefined, { isAhead: true }),
      async () => {},
    );
  }

  async list(signal?: AbortSignal): Promise<UpstreamListing> {
    const list = () =>
      this.#use(
        () => this.#connect(signal),
        (connection) => connection.list(signal),
      );
    return list().catch((error: unknown) => {
      if (!(error instanceof UpstreamError) || error.code !== "session_ended") throw error;
      return list();
    });
  }

  async call(call: UpstreamCall): Promise<unknown> {
    const { timeoutMs, spentMs = 0, signal } = call;
    const { clock, source, gate, principal } = this.#options;
    const began = clock.monotonicMs();
    const spent = () => spentMs + clock.monotonicMs() - began;
    const connect = () =>
      this.isConnected
        ? this.#connect(signal)
        : inTime(this.#connect(signal), timeoutMs - spent(), () =>
            notReadyInTime(this.name, timeoutMs, false, source.whySlow),
          );
    return this.#circuit.through(() =>
      gate.pass(call.principal ?? principal, { patienceMs: timeoutMs - spentMs, signal }, () =>
        this.#use(connect, (connection) => connection.callTool({ ...call, spentMs: spent() })),
      ),
    );
  }

  onToolsChanged(listener: (change: ToolsChange) => void): () => void {
    // A listener that is added twice needs two entries, which are removed separately.
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
    else endQuietly(connection);
  }

  async close(): Promise<void> {
    clearTimeout(this.#idleTimer);
    const { promise, abort } = this.#connecting ?? {};
    const connections = [this.#connection, ...this.#retired];
    this.#connecting = undefined;
    this.#connection = undefined;
    this.#retired.clear();
    abort?.abort();
    // If a connection is made despite the abort, `#start` closes it.
    await Promise.allSettled([promise, ...connections.map((connection) => connection?.close())]);
  }

  async shutDown(): Promise<void> {
    this.#refusal ??= "ptc is ending";
    await this.close();
  }

  /** Makes every later use fail. The connection is ended as soon as it is idle. @param refusal why it is no longer used. */
  retire(refusal: string): void {
    this.#refusal = refusal;
    clearTimeout(this.#idleTimer);
    this.#connecting?.abort.abort();
    this.#connecting = undefined;
    this.renew();
  }

  /** Whether it is in use. */
  get isInUse(): boolean {
    return this.#active > 0;
  }

  /** Marks the connection as in use, so that it is not ended as idle. */
  async #use<T>(
    connect: () => Promise<UpstreamConnection>,
    work: (connection: UpstreamConnection) => Promise<T>,
  ): Promise<T> {
    clearTimeout(this.#idleTimer);
    this.#active++;
    this.#options.onUse();
    let connection: UpstreamConnection | undefined;
    try {
      connection = await connect();
      this.#uses.set(connection, (this.#uses.get(connection) ?? 0) + 1);
      return await work(connection);
    } catch (error) {
      if (error instanceof UpstreamError && error.code === "session_ended") this.#replaceSession(connection);
      throw error;
    } finally {
      if (connection !== undefined) this.#release(connection);
      this.#active--;
      const { idleMs } = this.#options;
      if (this.#active === 0 && idleMs !== undefined) {
        this.#awaitIdle(idleMs);
      }
      if (this.#active === 0 && !this.isConnecting) this.#options.onUnused();
    }
  }

  /** Makes the next use begin a new session, in which the server may be another version. Other calls of the ended one go on. */
  #replaceSession(connection: UpstreamConnection | undefined): void {
    if (connection === undefined || this.#connection !== connection) return;
    this.renew();
    this.#announce("disconnected");
  }

  #release(connection: UpstreamConnection): void {
    const others = (this.#uses.get(connection) ?? 1) - 1;
    if (others > 0) {
      this.#uses.set(connection, others);
      return;
    }
    this.#uses.delete(connection);
    if (this.#retired.delete(connection)) endQuietly(connection);
  }

  #awaitIdle(idleMs: number): void {
    this.#idleTimer = setTimeout(() => {
      if (this.#connection?.isFollowed?.() === true) this.#awaitIdle(idleMs);
      else this.endIdle();
    }, idleMs).unref();
  }

  /** Ends the unused connection. */
  endIdle(): void {
    if (this.#connection === undefined) return;
    void this.close();
    this.#announce("disconnected");
    this.#options.onIdle();
  }

  #announce(change: ToolsChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  async #connect(signal: AbortSignal | undefined, { isAhead = false } = {}): Promise<UpstreamConnection> {
    if (signal?.aborted) throw this.#cancelled();
    if (this.#refusal !== undefined)
      throw new UpstreamError("cancelled", `server '${this.name}' is not used: ${this.#refusal}`);
    if (this.#options.source.off !== undefined)
      throw new UpstreamError("off", `server '${this.name}' is off: ${this.#options.source.off}`);
    if (this.#connection !== undefined) return this.#connection;
    if (this.#connecting === undefined) {
      this.#backoff.refuseDuringPause(this.name, isAhead);
      this.#options.makeRoom();
      const abort = new AbortController();
      this.#connecting = { promise: this.#start(abort.signal), abort, isAwaited: false };
    }
    if (!isAhead) this.#connecting.isAwaited = true;
    return this.#wait(this.#connecting.promise, signal);
  }

  async #start(signal: AbortSignal): Promise<UpstreamConnection> {
    let connection: UpstreamConnection | undefined;
    const faulted = new AbortController();
    const onFault = (fault: unknown): boolean => {
      faulted.abort(this.#faultOf(fault));
      return connection === undefined || this.#end(connection, this.#faultOf(fault));
    };
    try {
      const either = AbortSignal.any([signal, faulted.signal]);
      connection = await withinBoundary(onFault, () => this.#open(either));
      if (faulted.signal.aborted) {
        await connection.close();
        throw faulted.signal.reason;
      }
    } catch (error) {
      const reason: unknown = faulted.signal.aborted ? faulted.signal.reason : error;
      if (!signal.aborted) {
        const isTold = this.#connecting?.isAwaited;
        this.#connecting = undefined;
        this.#backoff.failed(reason, isTold);
      }
      throw reason;
    }
    if (signal.aborted) {
      await connection.close();
      throw this.#cancelled();
    }
    const connected = connection;
    this.#connecting = undefined;
    this.#connection = connected;
    this.#backoff.connected();
    connected.onLost((reason) => this.#onLost(connected, reason));
    connected.onNotice?.((notice) => {
      if (this.#connection === connected) this.#options.onNotice?.(notice);
    });
    if (this.#listeners.size > 0) this.#follow(connected);
    return connected;
  }

  async #open(signal: AbortSignal): Promise<UpstreamConnection> {
    const { source, principal } = this.#options;
    return source.connect(signal, await this.#credentialsNow(signal), principal);
  }

  async #credentialsNow(signal: AbortSignal): Promise<ServerCredentials> {
    try {
      return await orAborted(this.#options.credentials(signal), signal, () => this.#cancelled());
    } catch (error) {
      if (error instanceof UpstreamError) throw error;
      const message = `server '${this.name}' is not started: there are no credentials for it (${messageOf(error)})`;
      throw new UpstreamError("start_failed", message, { cause: error });
    }
  }

  /** The error of a server in whose boundary a fault was caught. */
  #faultOf(fault: unknown): UpstreamError {
    const reason = messageOf(fault);
    const message = `server '${this.name}' was ended: ptc could not go on with it (${reason})`;
    return new UpstreamError("disconnected", message, { cause: fault });
  }

  /** Ends a connection after a fault in ptc. Returns false when it has already ended. */
  #end(connection: UpstreamConnection, reason: UpstreamError): boolean {
    const isLive = this.#connection === connection || this.#retired.has(connection);
    if (!isLive) return false;
    this.#onLost(connection, reason);
    this.#retired.delete(connection);
    connection.close().catch(() => {});
    return true;
  }

  #follow(connection: UpstreamConnection): void {
    connection.onToolsChanged(() => {
      if (this.#connection === connection) this.#announce("announced");
    });
  }

  #onLost(connection: UpstreamConnection, reason: UpstreamError): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#backoff.lost(reason);
    this.#announce("disconnected");
  }

  /** Waits for a start, which other callers may share and which continues if this caller gives up. */
  async #wait(
    promise: Promise<UpstreamConnection>,
    signal: AbortSignal | undefined,
  ): Promise<UpstreamConnection> {
    promise.catch(() => {});
    return orAborted(promise, signal, () => this.#cancelled());
  }

  #cancelled(): UpstreamError {
    return new UpstreamError("cancelled", `server '${this.name}' was not called: the call is cancelled`);
  }
}

/** Ends a connection in the background and drops errors. */
function endQuietly(connection: UpstreamConnection): void {
  connection.close().catch(() => {});
}

export interface BackoffOptions {
  firstMs: number;
  maxMs: number;
  /** A connection that lasts this long clears earlier failures. */
  stableMs: number;
}

const DEFAULT_BACKOFF: BackoffOptions = { firstMs: 1_000, maxMs: 60_000, stableMs: 60_000 };

/** Decides when a failed server may be started again: immediately after its first loss, then after growing pauses. */
export class RestartBackoff {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #options: BackoffOptions;
  #connectedAt = 0;
  #failures = 0;
  #lastFailure: UpstreamError | undefined;
  /** Whether a caller waited for the last failed attempt. */
  #isTold = true;
  #retryAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, "monotonicMs">, options: BackoffOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** A connection has been made. */
  connected(): void {
    this.#connectedAt = this.#clock.monotonicMs();
  }

  /** An established connection has ended on its own. */
  lost(reason: UpstreamError): void {
    if (this.#clock.monotonicMs() - this.#connectedAt >= this.#options.stableMs) this.#failures = 0;
    this.#fail(reason, 1);
  }

  /** A connection could not be made. @param isTold whether a caller waited for it. */
  failed(reason: unknown, isTold = true): void {
    // A person may log in at any moment, and should not have to wait then.
    if (reason instanceof UpstreamError && reason.code === "login_required") return;
    this.#fail(reason, 0);
    this.#isTold = isTold;
  }

  /**
   * @param isAhead whether no caller waits.
   * @throws UpstreamError during a pause, with the failure that caused the pause; the first waiting caller gets that failure itself.
   */
  refuseDuringPause(server: string, isAhead = false): void {
    const waitMs = this.#retryAt - this.#clock.monotonicMs();
    if (waitMs <= 0) return;
    const last = this.#lastFailure;
    if (!this.#isTold && !isAhead && last !== undefined) {
      this.#isTold = true;
      throw last;
    }
    const seconds = Math.ceil(waitMs / 1_000);
    const reason = last === undefined ? `server '${server}' failed` : last.message;
    throw new UpstreamError("backing_off", `${reason}; it will be tried again in ${seconds} s`, {
      cause: last,
      retryable: true,
    });
  }

  /** @param free the number of failures that cause no pause. */
  #fail(reason: unknown, free: number): void {
    const { firstMs, maxMs } = this.#options;
    this.#failures++;
    this.#isTold = true;
    this.#lastFailure = reason instanceof UpstreamError ? reason : undefined;
    const doublings = this.#failures - 1 - free;
    const pauseMs = doublings < 0 ? 0 : doublingPause({ firstMs, longestMs: maxMs }, doublings);
    this.#retryAt = this.#clock.monotonicMs() + pauseMs;
  }
}
