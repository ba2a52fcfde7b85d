import { AuthorizationError } from "../authorization/authorization.ts";
import { type ConfiguredSecret, SecretSourceError } from "./secret-source.ts";
import type { SecretSources } from "./secret-sources.ts";

/** Reads the secrets of a server's `auth` when they are needed, which is when a token is asked for. */
export class AuthSecrets {
  readonly #sources: Pick<SecretSources, "read">;
  readonly #onSecret: (secret: string) => void;

  /** @param onSecret is told of every secret before it is used. */
  constructor(sources: Pick<SecretSources, "read">, onSecret: (secret: string) => void) {
    this.#sources = sources;
    this.#onSecret = onSecret;
  }

  /** @throws AuthorizationError that names the place in the configuration; the signal's reason when it aborts. */
  async read(secret: ConfiguredSecret | undefined, signal?: AbortSignal): Promise<string | undefined> {
    if (secret === undefined || typeof secret === "string") return secret;
    try {
      const text = await this.#sources.read(secret, signal ?? new AbortController().signal);
      const value = secret.prefix + text;
      for (const each of new Set([text, value])) this.#onSecret(each);
      return value;
    } catch (error) {
      if (!(error instanceof SecretSourceError)) throw error;
      throw new AuthorizationError(`gets no token: ${secret.place}: ${error.message}`);
    }
  }
}
