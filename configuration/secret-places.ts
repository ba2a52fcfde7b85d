import type { SecretSource } from "../upstream/secret-sources/secret-source.ts";
import type { ServerConfiguration } from "./configuration.ts";
import { authSecrets } from "./server-auth.ts";
import { isRemote } from "./server-values.ts";

/** Every value of a server that is read from elsewhere, with its key. */
export function secretSourcesOf(server: ServerConfiguration): { key: string; source: SecretSource }[] {
  const own = Object.entries(server.secretSources).map(([key, source]) => ({ key, source }));
  const ofAuth = isRemote(server) ? authSecrets(server.auth) : [];
  return [
    ...own,
    ...ofAuth.flatMap(({ key, secret }) => (typeof secret === "string" ? [] : [{ key, source: secret }])),
  ];
}

/** What a server is, for comparison: where in the file a secret stands does not matter. */
export function withoutPlaces(server: ServerConfiguration): object {
  const sources = secretSourcesOf(server).map(({ key, source }) => [key, { ...source, place: undefined }]);
  if (server.transport === "local") {
    const localTools = server.localTools.map((tool) => ({ ...tool, off: tool.off !== undefined }));
    return { ...server, localTools, secretSources: sources };
  }
  if (!isRemote(server) || server.auth === undefined) return { ...server, secretSources: sources };
  const plain = authSecrets(server.auth).flatMap(({ key, secret }) =>
    typeof secret === "string" ? [[key, secret]] : [],
  );
  const auth = { ...server.auth, clientSecret: undefined, privateKey: undefined };
  return { ...server, auth, secretSources: [...sources, ...plain] };
}
