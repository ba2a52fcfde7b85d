import type { CredentialSource, ServerCredentials } from "../credentials.ts";
import { UpstreamError } from "../upstream-error.ts";
import { type SecretSource, SecretSourceError } from "./secret-source.ts";
import type { SecretSources } from "./secret-sources.ts";

/** The values of a server's `env` or `headers` that are read when it starts. */
export interface SourcedValues {
  readonly sources: Readonly<Record<string, SecretSource>>;
  /** Whether they are headers of HTTP, which hold fewer characters. */
  readonly areHeaders: boolean;
}

/** Adds to the credentials of another source the values of `ptc.yaml` that are read when a server starts. */
export class SourcedCredentials implements CredentialSource {
  readonly #others: CredentialSource;
  readonly #byServer: ReadonlyMap<string, SourcedValues>;
  readonly #sources: Pick<SecretSources, "read">;

  /** @param byServer by configured name. */
  constructor(
    others: CredentialSource,
    byServer: ReadonlyMap<string, SourcedValues>,
    sources: Pick<SecretSources, "read">,
  ) {
    this.#others = others;
    this.#byServer = byServer;
    this.#sources = sources;
  }

  async credentialsFor(principal: string, server: string, signal: AbortSignal): Promise<ServerCredentials> {
    const others = await this.#others.credentialsFor(principal, server, signal);
    const own = this.#byServer.get(server);
    if (own === undefined) return others;
    const read = await Promise.all(
      Object.entries(own.sources).map(async ([key, source]) => {
        const secret = await this.#read(server, source, own.areHeaders, signal);
        return { key, secret, value: source.prefix + secret };
      }),
    );
    return {
      values: { ...others.values, ...Object.fromEntries(read.map(({ key, value }) => [key, value])) },
      secrets: [...new Set([...others.secrets, ...read.flatMap(({ secret, value }) => [secret, value])])],
    };
  }

  async #read(server: string, source: SecretSource, isHeader: boolean, signal: AbortSignal): Promise<string> {
    try {
      const secret = await this.#sources.read(source, signal);
      if (!isHeader || HEADER_VALUE.test(secret)) return secret;
      throw new SecretSourceError("what was read holds a character that no HTTP header may");
    } catch (error) {
      if (!(error instanceof SecretSourceError)) throw error;
      const message = `server '${server}' is not started: ${source.place}: ${error.message}`;
      throw new UpstreamError("start_failed", message, { cause: error });
    }
  }
}

const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
