import type { ServerConfiguration } from "../configuration/configuration.ts";
import { valuesOf } from "../configuration/configured-servers.ts";
import { type CredentialSource, configuredCredentials } from "../upstream/authorization/credentials.ts";
import { type SecretSources, type SourcedValues, sourcedCredentials } from "../upstream/secret-sources.ts";

/** The `env` and `headers` of servers: literal values, and values that ptc reads when a server starts. */
export function serverCredentials(
  servers: readonly ServerConfiguration[],
  secretSources: Pick<SecretSources, "read">,
): CredentialSource {
  const values = new Map(servers.map((server) => [server.name, valuesOf(server)]));
  const sourced = servers.map((server): [string, SourcedValues] => [
    server.name,
    {
      sources: server.secretSources,
      areHeaders: "headers" in server,
      // Each value belongs to one tool, and the other tools work without it.
      areApart: server.transport === "local",
    },
  ]);
  return sourcedCredentials(configuredCredentials(values), new Map(sourced), secretSources);
}
