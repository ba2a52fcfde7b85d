import { definitionDigest } from "../../catalog/parse-tool.ts";
import type { Redactor } from "../../secrets/redaction.ts";
import { ConfiguredCredentials, type CredentialSource, tellingSecrets } from "../../upstream/credentials.ts";
import { redactListing } from "../../upstream/listing/redact-listing.ts";
import { type FollowedListings, LiveToolServers } from "../../upstream/live-tool-servers.ts";
import { withCredentials } from "../../upstream/mcp/mcp-server-target.ts";
import type { UpstreamSource } from "../../upstream/pool/pooled-upstream.ts";
import { type PoolOptions, UpstreamPool } from "../../upstream/pool/upstream-pool.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { version } from "../package.ts";
import { clock } from "../process-clock.ts";
import type { ProcessGroups } from "../processes/process-groups.ts";

/**
 * Upstream clients for every configured server. The MCP client is loaded when the first of them is used.
 *
 * @param groups where the process groups of servers are noted while they live.
 * @param options `credentials` are those of the configuration without it. `redactor` is told of every one that a server is
 * given.
 */
export function composeUpstreams(
  configuration: Configuration,
  groups: ProcessGroups,
  {
    redactor,
    credentials: source = configuredCredentials(configuration),
    ...options
  }: PoolOptions & { redactor: Redactor; credentials?: CredentialSource | undefined },
): UpstreamPool {
  const sources = configuration.servers.map(
    (server): UpstreamSource => ({
      name: server.name,
      off: server.off,
      async connect(signal, credentials) {
        const { connectMcpServer } = await import("../../upstream/mcp/client/connect-mcp-server.ts");
        const connection = await connectMcpServer(withCredentials(server, credentials.values), {
          clientVersion: version,
          connectTimeoutMs: server.connectTimeoutMs,
          secrets: [...configuration.secrets, ...credentials.secrets],
          signal,
          onSpawn: (pid) => groups.record(pid),
          onExit: (pid) => groups.forget(pid),
        });
        return redactListing(connection, redactor);
      },
    }),
  );
  const credentials = tellingSecrets(source, (secret) => redactor.add(secret));
  return new UpstreamPool(sources, credentials, clock, options);
}

function configuredCredentials({ servers }: Configuration): CredentialSource {
  const values = servers.map((server) => {
    return [server.name, server.transport === "stdio" ? server.env : server.headers] as const;
  });
  return new ConfiguredCredentials(new Map(values));
}

/** The servers of a pool as programs call them: each call is checked against what the server lists just now. */
export function composeServers(
  configuration: Configuration,
  pool: UpstreamPool,
  listings: FollowedListings | undefined,
): LiveToolServers {
  const servers = configuration.servers.map(({ name, callTimeoutMs }) => {
    const upstreamFor = (principal: string) => pool.get(principal, name);
    return [name, { upstreamFor, callTimeoutMs }] as const;
  });
  return new LiveToolServers(new Map(servers), definitionDigest, listings);
}
