import type { Authorization } from "./authorization.ts";

/** The credentials with which ptc uses a server. */
export interface ServerCredentials {
  /** All environment variables of a server on stdio, or all headers for a remote server. Nothing is added. */
  readonly values: Readonly<Record<string, string>>;
  /**
   * The secret parts of the values that are not in the configuration, such as a fetched token. They are redacted from all
   * texts that leave ptc afterwards.
   */
  readonly secrets: readonly string[];
  /** Values that could not be read, where the server is used without them. */
  readonly unread?: UnreadValues | undefined;
  /** The login of the principal at a remote server, whose tokens change while a connection lives. */
  readonly authorization?: Authorization;
}

/** Values of a server that could not be read. */
export interface UnreadValues {
  /** Why each of them could not, in one line, by its name. */
  readonly why: Readonly<Record<string, string>>;
  /** Reads all credentials anew. */
  again(signal: AbortSignal): Promise<ServerCredentials>;
}

/**
 * Knows which credentials a server is used with on behalf of each principal. A connection serves all sessions of its
 * principal, so credentials depend on the principal only.
 */
export interface CredentialSource {
  /**
   * Is called for each new connection, so credentials may change between connections.
   *
   * @param server its configured name.
   * @param signal aborts when the connection is no longer needed.
   * @throws UpstreamError when there are none for this principal; the server is not started then.
   */
  credentialsFor(principal: string, server: string, signal: AbortSignal): Promise<ServerCredentials>;
}

const NONE: ServerCredentials = { values: {}, secrets: [] };

/** The `env` and `headers` of `ptc.yaml`, which are the same for every principal. */
export class ConfiguredCredentials implements CredentialSource {
  readonly #byServer: ReadonlyMap<string, ServerCredentials>;

  /** @param values by configured name. Their secrets are already known from the configuration. */
  constructor(values: ReadonlyMap<string, Readonly<Record<string, string>>>) {
    this.#byServer = new Map([...values].map(([server, own]) => [server, { values: own, secrets: [] }]));
  }

  async credentialsFor(_principal: string, server: string): Promise<ServerCredentials> {
    return this.#byServer.get(server) ?? NONE;
  }
}

/** Wraps a source so that every secret is passed to `tell`, as of a redactor, before its credentials are returned. */
export function tellingSecrets(source: CredentialSource, tell: (secret: string) => void): CredentialSource {
  const pass = (credentials: ServerCredentials): ServerCredentials => {
    for (const secret of credentials.secrets) tell(secret);
    const { unread } = credentials;
    if (unread === undefined) return credentials;
    return {
      ...credentials,
      unread: { ...unread, again: async (signal) => pass(await unread.again(signal)) },
    };
  };
  return {
    credentialsFor: async (principal, server, signal) =>
      pass(await source.credentialsFor(principal, server, signal)),
  };
}

/** Adds to the credentials of another source the logins of principals. All connections of a principal share its login. */
export class LoginCredentials implements CredentialSource {
  readonly #others: CredentialSource;
  readonly #open: (principal: string, server: string) => Authorization | undefined;
  readonly #authorizations = new Map<string, Authorization | undefined>();

  /** @param open has the login of a principal at a server; `undefined` for a server that is not logged in to. */
  constructor(
    others: CredentialSource,
    open: (principal: string, server: string) => Authorization | undefined,
  ) {
    this.#others = others;
    this.#open = open;
  }

  async credentialsFor(principal: string, server: string, signal: AbortSignal): Promise<ServerCredentials> {
    const others = await this.#others.credentialsFor(principal, server, signal);
    const key = JSON.stringify([principal, server]);
    if (!this.#authorizations.has(key)) this.#authorizations.set(key, this.#open(principal, server));
    const authorization = this.#authorizations.get(key);
    return authorization === undefined ? others : { ...others, authorization };
  }
}
