import type { ServerConfiguration } from "../configuration/configuration.ts";
import { valuesOf } from "../configuration/configured-servers.ts";
import { ConfiguredCredentials, type CredentialSource } from "../upstream/authorization/credentials.ts";
import type { SecretSources } from "../upstream/secret-sources/secret-sources.ts";
import { SourcedCredentials } from "../upstream/secret-sources/sourced-credentials.ts";

/** The `env` and `headers` of servers: those that are written out, and those that are read when a server starts. */
export function serverCredentials(
  servers: readonly ServerConfiguration[],
  secretSources: Pick<SecretSources, "read">,
): CredentialSource {
  const values = servers.map((server) => {
    return [server.name, valuesOf(server)] as const;
  });
  const sourced = servers.map((server) => {
    return [
      server.name,
      {
        sources: server.secretSources,
        areHeaders: "headers" in server,
        // Each value is one tool's, and the others do without it.
        areApart: server.transport === "local",
      },
    ] as const;
  });
  return new SourcedCredentials(new ConfiguredCredentials(new Map(values)), new Map(sourced), secretSources);
}
