import { ownSignal } from "../base/waiting.ts";
import { countTools, type ServerListing, type Warning } from "../catalog/parse-tool.ts";
import type { ServerConfiguration } from "../configuration/configuration.ts";
import type { Upstream, UpstreamListing } from "../upstream/upstream.ts";
import { UpstreamError, type UpstreamErrorCode } from "../upstream/upstream-error.ts";

/** The configured servers by name. Each is started on first use. */
export interface ConfiguredServers {
  get(name: string): Pick<Upstream, "list" | "onToolsChanged"> | undefined;
}

export interface ListedServers {
  listings: ServerListing[];
  /** The servers that could not be listed, each with the reason in one line. */
  failures: { server: string; code: UpstreamErrorCode; message: string }[];
  /** The parts of listings that could not be read. */
  problems: Warning[];
}

/** What became of one server, as soon as it is known. */
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
