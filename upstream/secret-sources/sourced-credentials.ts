import type { CredentialSource, ServerCredentials } from "../authorization/credentials.ts";
import { UpstreamError } from "../upstream-error.ts";
import { type SecretSource, SecretSourceError } from "./secret-source.ts";
import type { SecretSources } from "./secret-sources.ts";

/** The values of a server's `env` or `headers` that are read when it starts. */
export interface SourcedValues {
  readonly sources: Readonly<Record<string, SecretSource>>;
  /** Whether they are headers of HTTP, which hold fewer characters. */
  readonly areHeaders: boolean;
  /** Whether the server is used without those that cannot be read. Without it, it is not started then. */
  readonly areApart?: boolean;
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
    const why: Record<string, string> = {};
    const read = await Promise.all(
      Object.entries(own.sources).map(async ([key, source]) => {
        const secret = await this.#read(source, own.areHeaders, signal);
        if (typeof secret === "string") return [{ key, secret, value: source.prefix + secret }];
        const problem = `${source.place}: ${secret.message}`;
        if (own.areApart !== true || signal.aborted)
          throw new UpstreamError("start_failed", `server '${server}' is not started: ${problem}`, {
            cause: secret,
          });
        why[key] = problem;
        return [];
      }),
    );
    const values = read.flat();
    const again = (later: AbortSignal) => this.credentialsFor(principal, server, later);
    return {
      values: { ...others.values, ...Object.fromEntries(values.map(({ key, value }) => [key, value])) },
      secrets: [...new Set([...others.secrets, ...values.flatMap(({ secret, value }) => [secret, value])])],
      ...(Object.keys(why).length === 0 ? {} : { unread: { why, again } }),
    };
  }

  async #read(
    source: SecretSource,
    isHeader: boolean,
    signal: AbortSignal,
  ): Promise<string | SecretSourceError> {
    try {
      const secret = await this.#sources.read(source, signal);
      if (!isHeader || HEADER_VALUE.test(secret)) return secret;
      return new SecretSourceError("what was read holds a character that no HTTP header may");
    } catch (error) {
      if (error instanceof SecretSourceError) return error;
      throw error;
    }
  }
}

const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
