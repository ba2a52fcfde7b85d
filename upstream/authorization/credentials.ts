import { RecentlyUsed } from "../../base/recently-used.ts";
import type { Authorization } from "./authorization.ts";

/** The credentials with which ptc uses a server. */
export interface ServerCredentials {
  /** All environment variables of a server on stdio, or all headers for a remote server. Nothing is added. */
  readonly values: Readonly<Record<string, string>>;
  /**
   * The secret parts of the values that are not in the configuration, such as a fetched token. They are redacted from all texts that
   * leave ptc from then on.
   */
  readonly secrets: readonly string[];
  /** Values that could not be read, if the server is used without them. */
  readonly unread?: UnreadValues | undefined;
  /** The principal's login at a remote server, whose tokens change during a connection. */
  readonly authorization?: Authorization;
}

/** Values of a server that could not be read. */
export interface UnreadValues {
  /** For each name, why the value could not be read, in one line. */
  readonly why: Readonly<Record<string, string>>;
  /** Reads all credentials again. */
  again(signal: AbortSignal): Promise<ServerCredentials>;
}

/**
 * Provides the credentials with which a server is used on behalf of each principal. A connection serves all sessions of its
 * principal, so credentials depend only on the principal.
 */
export interface CredentialSource {
  /**
   * Called for each new connection, so credentials may change between connections.
   *
   * @param server its configured name.
   * @param signal aborts when the connection is no longer needed.
   * @throws UpstreamError if there are none for this principal; the server is then not started.
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

/** Wraps a source so that every secret is passed to `tell`, for example to a redactor, before its credentials are returned. */
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

/** The maximum number of logins that are kept for the next connection. */
const MAX_LOGINS = 10_000;

/**
 * Adds the logins of principals to the credentials of another source. All connections of a principal share its login.
 *
 * @param open returns a principal's login at a server; `undefined` for a server without login.
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
