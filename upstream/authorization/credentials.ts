import { RecentlyUsed } from "../../base/recently-used.ts";
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

/**
 * The `env` and `headers` of `ptc.yaml`, which are the same for every principal.
 *
 * @param byServer by configured name. Their secrets are already known from the configuration.
 */
export function configuredCredentials(
  byServer: ReadonlyMap<string, Readonly<Record<string, string>>>,
): CredentialSource {
  return { credentialsFor: async (_, server) => ({ values: byServer.get(server) ?? {}, secrets: [] }) };
}

/** Wraps a source so that every secret is passed to `tell`, such as to a redactor, before its credentials are returned. */
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

/** Logins that are kept open for the next connection. */
const MAX_LOGINS = 10_000;

/**
 * Adds to the credentials of another source the logins of principals. All connections of a principal share its login.
 *
 * @param open has the login of a principal at a server; `undefined` for a server that is not logged in to.
 */
export function loginCredentials(
  others: CredentialSource,
  open: (principal: string, server: string) => Authorization | undefined,
): CredentialSource {
  const opened = new RecentlyUsed<string, { authorization: Authorization | undefined }>({
    maxEntries: MAX_LOGINS,
  });
  return {
    async credentialsFor(principal, server, signal) {
      const rest = await others.credentialsFor(principal, server, signal);
      const key = JSON.stringify([principal, server]);
      const login = opened.get(key) ?? { authorization: open(principal, server) };
      opened.set(key, login);
      const { authorization } = login;
      return authorization === undefined ? rest : { ...rest, authorization };
    },
  };
}
