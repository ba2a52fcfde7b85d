import type { ToolServer, ToolServers } from "./tool-servers.ts";
import type { Upstream, UpstreamListing } from "./upstream.ts";
import { UpstreamError } from "./upstream-error.ts";

/** Is told what a server lists, each time it is asked. */
export type ListingObserver = (server: string, listing: UpstreamListing) => void;

export interface LiveServer {
  upstream: Upstream;
  callTimeoutMs: number;
}

/**
 * The configured servers, started on first use and shared by all runs. What a server lists is asked once and again when
 * it says that its list has changed, so that a tool that is not what it was is noticed before it is called.
 */
export class LiveToolServers implements ToolServers {
  readonly #servers: ReadonlyMap<string, LiveServer>;
  readonly #digest: (definition: unknown) => string;
  readonly #onListed: ListingObserver;
  readonly #listings = new Map<string, Promise<ReadonlyMap<string, unknown>>>();

  /** @param digest the digest that `ptc generate` recorded of a definition. */
  constructor(
    servers: ReadonlyMap<string, LiveServer>,
    digest: (definition: unknown) => string,
    onListed: ListingObserver = () => {},
  ) {
    this.#servers = servers;
    this.#digest = digest;
    this.#onListed = onListed;
    for (const [name, { upstream }] of servers) upstream.onToolsChanged(() => this.#listings.delete(name));
  }

  async connect(name: string, signal: AbortSignal): Promise<ToolServer> {
    const server = this.#servers.get(name);
    if (server === undefined) {
      throw new UpstreamError("start_failed", `server '${name}' is not in the configuration`);
    }
    const definitions = await unlessAborted(this.#definitions(name, server.upstream), signal);
    const { upstream, callTimeoutMs } = server;
    return {
      definitionDigest: (tool) => {
        const definition = definitions.get(tool);
        return definition === undefined ? undefined : this.#digest(definition);
      },
      call: (tool, args, callSignal) =>
        upstream.call(tool, args, {
          timeoutMs: callTimeoutMs,
          signal: callSignal,
          definition: definitions.get(tool),
        }),
    };
  }

  /** Asks a server what it lists, unless that is known. @throws UpstreamError */
  async list(name: string): Promise<void> {
    const server = this.#servers.get(name);
    if (server !== undefined) await this.#definitions(name, server.upstream);
  }

  /** One listing serves all that wait for it; one that failed is asked again by the next. */
  #definitions(name: string, upstream: Upstream): Promise<ReadonlyMap<string, unknown>> {
    const known = this.#listings.get(name);
    if (known !== undefined) return known;
    const listing = upstream.list().then((listed) => {
      this.#onListed(name, listed);
      return byName(listed.tools);
    });
    this.#listings.set(name, listing);
    listing.catch(() => {
      if (this.#listings.get(name) === listing) this.#listings.delete(name);
    });
    return listing;
  }
}

/** Tools by protocol name; of two with one name the first counts, as in the generated modules. */
function byName(tools: readonly unknown[]): ReadonlyMap<string, unknown> {
  const definitions = new Map<string, unknown>();
  for (const tool of tools) {
    if (typeof tool !== "object" || tool === null || !("name" in tool) || typeof tool.name !== "string")
      continue;
    if (!definitions.has(tool.name)) definitions.set(tool.name, tool);
  }
  return definitions;
}

/** The run may end while it waits; what it waited for goes on, for others. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new UpstreamError("cancelled", "the run has ended"));
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    return undefined;
  });
}
