import { orAborted } from "../base/or-aborted.ts";
import { notReadyInTime } from "./call-budget.ts";
import { type ListedDefinitions, ListedTools, type ListingObserver } from "./listing/listed-tools.ts";
import type { ConnectToolsOptions, ToolServer, ToolServers } from "./tool-servers.ts";
import type { Upstream } from "./upstream.ts";
import { UpstreamError } from "./upstream-error.ts";

export interface LiveServer {
  /** The server for one principal; always the same object. */
  upstreamFor(principal: string): Upstream | undefined;
  /** The time for connecting, listing and answering together. */
  callTimeoutMs: number;
}

/**
 * Who follows what servers list, and to whom. The typed modules are the same for everybody, and made of what the servers list
 * to this principal: the observer hears of no other listing.
 */
export interface FollowedListings {
  readonly principal: string;
  readonly observer: ListingObserver;
}

/**
 * The configured servers, started on first use and shared by all runs of a principal. What a server lists is asked once and
 * again when it says that its list has changed, so that a tool that is not what it was is noticed before it is called.
 */
export class LiveToolServers implements ToolServers {
  #servers: ReadonlyMap<string, LiveServer>;
  readonly #listed = new WeakMap<Upstream, ListedTools>();
  readonly #digest: (definition: unknown) => string;
  readonly #digests = new WeakMap<object, string>();
  readonly #followed: FollowedListings | undefined;

  /** @param digest the digest that `ptc generate` would record of a definition. */
  constructor(
    servers: ReadonlyMap<string, LiveServer>,
    digest: (definition: unknown) => string,
    followed?: FollowedListings,
  ) {
    this.#servers = servers;
    this.#digest = digest;
    this.#followed = followed;
  }

  /** Takes the place of the servers by others. What is under way with one of before goes on. */
  replace(servers: ReadonlyMap<string, LiveServer>): void {
    this.#servers = servers;
  }

  async connect(
    name: string,
    signal: AbortSignal,
    { principal, budget, hasDrifted = false }: ConnectToolsOptions,
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
    const inTime = (listing: Promise<ListedDefinitions>) =>
      budget.wait(orAborted(listing, signal, runHasEnded), () =>
        notReadyInTime(name, budget.limitMs, upstream.isConnected),
      );
    const definitions = hasDrifted
      ? await inTime(tools.reconsider())
      : (tools.known ?? (await inTime(tools.definitions())));
    return {
      definitionDigest: (tool) => {
        const definition = definitions.get(tool);
        return definition === undefined ? undefined : this.#digestOf(definition);
      },
      call: (tool, args, callSignal, ask, meta, onProgress) =>
        upstream.call(tool, args, {
          timeoutMs: budget.limitMs,
          spentMs: budget.spentMs,
          signal: callSignal,
          ask,
          meta,
          onProgress,
          definition: definitions.get(tool),
        }),
    };
  }

  /** A listed definition does not change; another listing has others. */
  #digestOf(definition: unknown): string {
    if (typeof definition !== "object" || definition === null) return this.#digest(definition);
    const digest = this.#digests.get(definition) ?? this.#digest(definition);
    this.#digests.set(definition, digest);
    return digest;
  }

  /** Asks a server what it lists to a principal, unless that is known. @throws UpstreamError */
  async list(name: string, principal: string): Promise<void> {
    const upstream = this.#servers.get(name)?.upstreamFor(principal);
    if (upstream !== undefined) await this.#toolsOf(upstream, principal).definitions();
  }

  #toolsOf(upstream: Upstream, principal: string): ListedTools {
    const observer = principal === this.#followed?.principal ? this.#followed.observer : undefined;
    const tools = this.#listed.get(upstream) ?? new ListedTools(upstream, observer);
    this.#listed.set(upstream, tools);
    return tools;
  }
}

function runHasEnded(): UpstreamError {
  return new UpstreamError("cancelled", "the run has ended");
}
