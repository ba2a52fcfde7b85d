import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { SecretSources } from "../upstream/secret-sources/secret-sources.ts";
import { UserSecrets } from "./user-secrets.ts";

/** What a login reads the secrets of a configuration with. */
export interface LoginSecrets {
  readonly sources: Pick<SecretSources, "read">;
  /** Is told of every secret before it is used. */
  onSecret(secret: string): void;
}

/** Reads secrets for a login that nothing else shares, and whose texts go to the person who logs in alone. */
export function ownLoginSecrets(env: EnvironmentVariables): LoginSecrets {
  const sources = new SecretSources({
    env,
    keyring: new UserSecrets(env),
    redact: (text) => text,
    onSpawn() {},
    onExit() {},
  });
  return { sources, onSecret() {} };
}
