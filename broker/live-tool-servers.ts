import { ListedTools, type ListingObserver } from "./listed-tools.ts";
import type { ConnectToolsOptions, ToolServer, ToolServers } from "./tool-servers.ts";
import type { Upstream } from "./upstream.ts";
import { UpstreamError } from "./upstream-error.ts";

export interface LiveServer {
  upstream: Upstream;
  callTimeoutMs: number;
}

/**
 * The configured servers, started on first use and shared by all runs. What a server lists is asked once and again when
 * it says that its list has changed, so that a tool that is not what it was is noticed before it is called.
 */
export class LiveToolServers implements ToolServers {
  readonly #servers: ReadonlyMap<string, LiveServer & { tools: ListedTools }>;
  readonly #digest: (definition: unknown) => string;

  /** @param digest the digest that `ptc generate` recorded of a definition. */
  constructor(
    servers: ReadonlyMap<string, LiveServer>,
    digest: (definition: unknown) => string,
    observer?: ListingObserver,
  ) {
    this.#servers = new Map(
      [...servers].map(([name, server]) => [
        name,
        { ...server, tools: new ListedTools(server.upstream, observer) },
      ]),
    );
    this.#digest = digest;
  }

  async connect(
    name: string,
    signal: AbortSignal,
    { hasDrifted = false }: ConnectToolsOptions = {},
  ): Promise<ToolServer> {
    const server = this.#servers.get(name);
    if (server === undefined) {
      throw new UpstreamError("start_failed", `server '${name}' is not in the configuration`);
    }
    const { upstream, callTimeoutMs, tools } = server;
    const listing = hasDrifted ? tools.reconsider() : tools.definitions();
    const definitions = await unlessAborted(listing, signal);
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
    await this.#servers.get(name)?.tools.definitions();
  }
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
