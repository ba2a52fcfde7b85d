import { ownSignal } from "../../base/own-signal.ts";
import type { ServerListing, Warning } from "../../catalog/server-listing.ts";
import type { Upstream, UpstreamListing } from "../../upstream/upstream.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import type { ServerConfiguration } from "../configuration/configuration.ts";

/** The configured servers by name. Each is started on first use. */
export interface ConfiguredServers {
  get(name: string): Pick<Upstream, "list" | "onToolsChanged"> | undefined;
}

export interface ListedServers {
  listings: ServerListing[];
  /** The servers that could not be listed, each with the reason in one line. */
  failures: { server: string; message: string }[];
  /** The parts of listings that could not be read. */
  problems: Warning[];
}

/** Lists servers, all at the same time. The failure of one does not affect the others. */
export async function listServers(
  servers: readonly ServerConfiguration[],
  upstreams: ConfiguredServers,
  signal: AbortSignal,
): Promise<ListedServers> {
  const listed: ListedServers = { listings: [], failures: [], problems: [] };
  await Promise.all(
    servers.map(async (server) => {
      try {
        const listing = await upstreams.get(server.name)?.list(ownSignal(signal));
        if (listing === undefined) return;
        listed.listings.push(describeListing(server, listing));
        for (const problem of listing.problems ?? [])
          listed.problems.push({ server: server.name, ...problem });
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        listed.failures.push({ server: server.name, message: error.message });
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
