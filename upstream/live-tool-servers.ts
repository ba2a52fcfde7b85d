import { GrowingPause } from "../base/backoff.ts";
import { messageOf } from "../base/faults.ts";
import { orAborted } from "../base/waiting.ts";
import {
  type ConnectToolsOptions,
  notReadyInTime,
  type ToolServer,
  type ToolServers,
} from "./tool-servers.ts";
import type { Upstream, UpstreamListing } from "./upstream.ts";
import { UpstreamError } from "./upstream-error.ts";

export interface LiveServer {
  /** The server for one principal; always the same object. */
  upstreamFor(principal: string): Upstream | undefined;
  /** The time limit for connecting, listing and answering together. */
  callTimeoutMs: number;
}

/**
 * The observer of listings, and the principal whose listings it observes. The typed modules are the same for all principals, and
 * are generated from the listings of this one; the observer receives no others.
 */
export interface FollowedListings {
  readonly principal: string;
  readonly observer: ListingObserver;
}

/**
 * The configured servers, started on first use and shared by all runs of a principal. A server is listed once, and again when it
 * announces a change of its list, so that a changed tool is noticed before it is called.
 */
export class LiveToolServers implements ToolServers {
  #servers: ReadonlyMap<string, LiveServer>;
  readonly #listed = new WeakMap<Upstream, ListedTools>();
  readonly #digest: (definition: unknown) => string;
  readonly #digests = new WeakMap<object, string>();
  readonly #followed: FollowedListings | undefined;

  /** @param digest computes the digest that `ptc generate` would record for a definition. */
  constructor(
    servers: ReadonlyMap<string, LiveServer>,
    digest: (definition: unknown) => string,
    followed?: FollowedListings,
  ) {
    this.#servers = servers;
    this.#digest = digest;
    this.#followed = followed;
  }

  /** Replaces the servers. Open calls to an earlier server continue. */
  replace(servers: ReadonlyMap<string, LiveServer>): void {
    this.#servers = servers;
  }

  async connect(
    name: string,
    signal: AbortSignal,
    { principal, budget, call: asked, hasDrifted = false }: ConnectToolsOptions,
  ): Promise<ToolServer> {
    const server = this.#servers.get(name);
    const upstream = server?.upstreamFor(principal);
    if (server === undefined || upstream === undefined) {
      throw new UpstreamError("start_failed", `server '${name}' is not in the configuration`);
    }
    if (signal.aborted) throw runHasEnded();
    const { callTimeoutMs } = server;
    const tools = this.#toolsOf(upstream, principal);
    budget.limitTo(callTimeoutMs);
    const inTime = (listed: Upstream, listing: Promise<ListedDefinitions>) =>
      budget.wait(orAborted(listing, signal, runHasEnded), () =>
        notReadyInTime(name, budget.limitMs, listed.isConnected),
      );
    const definitionsOf = async (listed: Upstream, itsTools: ListedTools, isSuspect: boolean) => {
      // The listing reports a failure of the start.
      if (listed.startsApart === true && !listed.isConnected && itsTools.known === undefined)
        await orAborted(
          listed.startAhead().catch(() => {}),
          signal,
          runHasEnded,
        );
      if (isSuspect) return inTime(listed, itsTools.reconsider());
      return itsTools.known ?? (await inTime(listed, itsTools.definitions()));
    };
    const definitions = await definitionsOf(upstream, tools, hasDrifted);
    const digestIn = (listed: ListedDefinitions, tool: string) => {
      const definition = listed.get(tool);
      return definition === undefined ? undefined : this.#digestOf(definition);
    };
    const reached = upstream.reachedBy?.(asked?.arguments);
    let own: ListedDefinitions | undefined;
    const isStrange = (tool: string) =>
      own !== undefined && digestIn(own, tool) !== digestIn(definitions, tool);
    if (reached !== undefined) {
      const ownTools = this.#toolsOfReached(reached);
      own = await definitionsOf(reached, ownTools, false);
      if (hasDrifted && asked !== undefined && isStrange(asked.tool))
        own = await definitionsOf(reached, ownTools, true);
    }
    return {
      definitionDigest: (tool) => digestIn(definitions, tool),
      strangeAccount: (tool) => (isStrange(tool) ? reached?.account : undefined),
      call: (call) =>
        upstream.call({
          ...call,
          principal,
          timeoutMs: budget.limitMs,
          spentMs: budget.spentMs,
          definition: (own ?? definitions).get(call.tool),
        }),
    };
  }

  /** A listed definition is immutable, so its digest is cached. */
  #digestOf(definition: unknown): string {
    if (typeof definition !== "object" || definition === null) return this.#digest(definition);
    const digest = this.#digests.get(definition) ?? this.#digest(definition);
    this.#digests.set(definition, digest);
    return digest;
  }

  /** Lists a server for a principal, unless the listing is known. @throws UpstreamError */
  async list(name: string, principal: string): Promise<void> {
    const upstream = this.#servers.get(name)?.upstreamFor(principal);
    if (upstream !== undefined) await this.#toolsOf(upstream, principal).definitions();
  }

  async startAhead(name: string, principal: string): Promise<void> {
    const upstream = this.#servers.get(name)?.upstreamFor(principal);
    if (upstream === undefined) return;
    const tools = this.#toolsOf(upstream, principal);
    const ready = upstream.startAhead().then(() => tools.definitions());
    await ready.catch(() => {});
  }

  #toolsOf(upstream: Upstream, principal: string): ListedTools {
    const isFollowed = principal === this.#followed?.principal || upstream.isShared === true;
    const observer = isFollowed ? this.#followed?.observer : undefined;
    const tools = this.#listed.get(upstream) ?? new ListedTools(upstream, observer);
    this.#listed.set(upstream, tools);
    return tools;
  }

  #toolsOfReached(reached: Upstream): ListedTools {
    const tools = this.#listed.get(reached) ?? new ListedTools(reached, OF_ACCOUNT);
    this.#listed.set(reached, tools);
    return tools;
  }
}

/**
 * The observer of an account whose listings nothing is generated from. Where its definitions are not those of the types, it may be a
 * process that was started before these were generated.
 */
const OF_ACCOUNT: ListingObserver = { listed: async () => {}, failed() {}, isSuperseded: () => true };

function runHasEnded(): UpstreamError {
  return new UpstreamError("cancelled", "the run has ended");
}

/** Receives what servers list. */
export interface ListingObserver {
  /** Processes a listing. The server is not listed again before this resolves. Never rejects. */
  listed(server: string, listing: UpstreamListing): Promise<void>;
  /** Called if a server announced a change of its tools but then could not be listed. */
  failed(server: string, error: UpstreamError): void;
  /**
   * Whether another process has listed the server since then, so that the typed modules are newer than the last listing here.
   */
  isSuperseded(server: string): boolean;
}

/** A server's listed definitions, by protocol name. */
type ListedDefinitions = ReadonlyMap<string, unknown>;

/** The shortest validity of a listing, whatever its server says: many say 0 without a reason. */
const MIN_TTL_MS = 60_000;

/**
 * The tools of one server, listed on first use, and again when they may have changed or the listing has expired. At most one listing
 * is in progress and one more is due. The pauses between listings grow if they follow each other closely; meanwhile the last listing
 * is used. So a server that constantly announces changes costs little.
 */
class ListedTools {
  readonly #upstream: Upstream;
  readonly #observer: ListingObserver | undefined;
  #listing: Promise<ListedDefinitions> | undefined;
  /** The result of `#listing`. */
  #listed: ListedDefinitions | undefined;
  /** Resolves when the listing in progress has been received and processed. */
  #atWork: Promise<void> | undefined;
  #changed = false;
  /** When the listing expires, on the clock of `performance.now()`. */
  #staleAt = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  readonly #listings = new GrowingPause();
  readonly #renewals = new GrowingPause();

  constructor(upstream: Upstream, observer: ListingObserver | undefined) {
    this.#upstream = upstream;
    this.#observer = observer;
    upstream.onToolsChanged((change) => (change === "announced" ? this.#announced() : this.#forget()));
  }

  /** The current definitions, if they are already known. */
  get known(): ListedDefinitions | undefined {
    return this.#isStale ? undefined : this.#listed;
  }

  get #isStale(): boolean {
    return this.#atWork === undefined && performance.now() >= this.#staleAt;
  }

  /** The current definitions. Concurrent callers share one listing. A failed listing is repeated. @throws UpstreamError */
  definitions(): Promise<ListedDefinitions> {
    return this.#isStale ? this.#list() : (this.#listing ?? this.#list());
  }

  /**
   * The current definitions, for a caller that found one to differ from its generated types. Resolves when the observer has processed
   * the last listing. If the types come from a newer listing by another process, restarts and lists the server.
   *
   * @throws UpstreamError
   */
  async reconsider(): Promise<ListedDefinitions> {
    // Several calls of a program may find a drift at the same time. They share the listing of the first.
    while (this.#atWork !== undefined) await this.#settled();
    const { name } = this.#upstream;
    if (this.#observer?.isSuperseded(name) === true && this.#renewals.waitMs() <= 0) {
      // The pause keeps two processes whose servers differ from rewriting each other's modules with every program.
      this.#renewals.begin();
      this.#upstream.renew();
      const listing = this.#list();
      await this.#settled();
      this.#renewals.restart();
      return listing;
    }
    return this.definitions();
  }

  async #settled(): Promise<void> {
    while (this.#atWork !== undefined) await this.#atWork;
  }

  #list(): Promise<ListedDefinitions> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#changed = false;
    this.#staleAt = Number.POSITIVE_INFINITY;
    const answer = this.#upstream.list().catch((error: unknown) => {
      throw toUpstreamError(this.#upstream.name, error);
    });
    const listing = answer.then(({ tools }) => byName(tools));
    const work = this.#receive(answer);
    this.#listing = listing;
    this.#listed = undefined;
    this.#atWork = work;
    listing.then(
      (definitions) => {
        if (this.#listing === listing) this.#listed = definitions;
      },
      () => {
        if (this.#listing === listing) this.#listing = undefined;
      },
    );
    void work.then(() => {
      if (this.#atWork !== work) return;
      this.#atWork = undefined;
      this.#listings.restart();
      if (this.#changed) this.#schedule();
    });
    return listing;
  }

  async #receive(answer: Promise<UpstreamListing>): Promise<void> {
    try {
      const listing = await answer;
      if (listing.ttlMs !== undefined)
        this.#staleAt = performance.now() + Math.max(listing.ttlMs, MIN_TTL_MS);
      await this.#observer?.listed(this.#upstream.name, listing);
    } catch {
      // The caller that asked for the listing gets the error.
    }
  }

  #announced(): void {
    this.#changed = true;
    if (this.#atWork === undefined && this.#timer === undefined) this.#schedule();
  }

  #schedule(): void {
    const waitMs = this.#listings.waitMs();
    if (waitMs <= 0) this.#listAgain();
    else this.#timer = setTimeout(() => this.#listAgain(), waitMs).unref();
  }

  #listAgain(): void {
    this.#listings.begin();
    this.#list().catch((error: unknown) => {
      const fault = toUpstreamError(this.#upstream.name, error);
      // A listing is cancelled when its server is no longer needed, so that is not reported.
      if (fault.code !== "cancelled") this.#observer?.failed(this.#upstream.name, fault);
    });
  }

  /** Discards the listing, because the next connection may reach another version of the server. */
  #forget(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#changed = false;
    this.#listing = undefined;
    this.#listed = undefined;
  }
}

/** Turns any failure of a listing into an UpstreamError, the only error that callers expect. */
function toUpstreamError(server: string, error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error;
  const reason = messageOf(error);
  return new UpstreamError("protocol_error", `server '${server}' cannot be listed: ${reason}`, {
    cause: error,
  });
}

/** Tools by protocol name. Of two with the same name the first counts, as in the generated modules. */
function byName(tools: readonly unknown[]): ListedDefinitions {
  const definitions = new Map<string, unknown>();
  for (const tool of tools) {
    if (typeof tool !== "object" || tool === null || !("name" in tool) || typeof tool.name !== "string")
      continue;
    if (!definitions.has(tool.name)) definitions.set(tool.name, tool);
  }
  return definitions;
}
