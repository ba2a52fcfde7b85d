/** The logins of a user: their storage, their state, the servers that can have one, and logging out. */
import { homedir } from "node:os";
import { join } from "node:path";
import { clock } from "../base/clock.ts";
import { messageOf } from "../base/faults.ts";
import type { Configuration, RemoteServer } from "../configuration/configuration.ts";
import { isRemote } from "../configuration/configured-servers.ts";
import { openKeyring } from "../secrets/keyring.ts";
import { openSharedDocuments, sharedStorage } from "../storage/storage.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { AuthorizationError, type OnLogin } from "../upstream/authorization/authorization.ts";
import {
  FileLoginStore,
  type Login,
  type LoginKey,
  type LoginStore,
} from "../upstream/authorization/login-store.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { SharedLogins } from "./shared-logins.ts";

/**
 * Opens this user's logins, or those that several ptc share if the configuration has a storage. It reads and creates nothing
 * before the first lookup.
 */
export function openLoginStore(
  env: EnvironmentVariables,
  configuration: Partial<Pick<Configuration, "storage">> = {},
): LoginStore {
  const documents = openSharedDocuments(configuration, env);
  const shared = sharedStorage(configuration, env);
  if (documents !== undefined && shared !== undefined)
    return new SharedLogins(documents, async () => (await shared()).keys);
  const folder = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local/state");
  return new FileLoginStore({ folder: join(folder, "ptc/logins"), keyring: () => openKeyring({ env }) });
}

/** The key of the login of a principal at a server. */
export function loginKeyOf(principal: string, { name, url, auth }: RemoteServer): LoginKey {
  return { principal, server: name, url, clientId: auth?.clientId };
}

/** The server of that name, at which people can log in. @throws UpstreamError that says why they cannot. */
export function loginServer({ servers }: Configuration, name: string): RemoteServer {
  const server = servers.find((each) => each.name === name || each.module === name);
  const refuse = (why: string) => new UpstreamError("start_failed", `server '${name}' ${why}`);
  if (server === undefined) {
    const known = servers.map((each) => each.name).join(", ");
    throw refuse(`is not in the configuration${known === "" ? "" : `; there are ${known}`}`);
  }
  if (server.off !== undefined) throw refuse(`is off: ${server.off}`);
  if (!isRemote(server))
    throw refuse(
      server.transport === "model"
        ? "is the model of `extract`: it has no login, but its `key`"
        : "is a program on this machine: it has no login, but its `env`",
    );
  if (server.auth === undefined) throw refuse("has its credentials in ptc.yaml: it has no login");
  if (server.auth.type === "client_credentials")
    throw refuse("has client_credentials in ptc.yaml: it gets its tokens without a login");
  if (server.auth.type === "caller")
    throw refuse("is used with the token of the caller over HTTP: it has no login of its own");
  return server;
}

/** The error of a server for a failed login. @throws any other error, unchanged. */
export function faultOf(server: string, error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error;
  if (!(error instanceof AuthorizationError)) throw error;
  return new UpstreamError("handshake_failed", `server '${server}' ${messageOf(error)}`, { cause: error });
}

/** How a server is authorized, and what ptc knows about the login without a request. */
export interface LoginStatus {
  server: string;
  /**
   * `logged_in`: there is a token, or ptc can get one without a person. `ended`: there was a login. `none`: there was none, and
   * the server may not need one. `caller`: each caller over HTTP brings a token. `machine`: ptc.yaml has client credentials. `configured`: credentials, if any,
   * are in headers or `env`.
   */
  state: "logged_in" | "ended" | "none" | "machine" | "caller" | "configured";
  issuer?: string;
  scope?: string;
  /** Further scopes that the server has asked for. */
  wantedScope?: string;
  /** In ISO 8601. */
  expiresAt?: string;
  /** Whether ptc can renew an expired token without a person. */
  renews?: boolean;
  /** Where the login is stored: a keyring, or a file. */
  place?: string;
}

/** @throws UpstreamError if a login cannot be read. */
export async function loginStatus(
  { servers, ...configuration }: Pick<Configuration, "servers"> & Partial<Pick<Configuration, "storage">>,
  principal: string,
  env: EnvironmentVariables,
): Promise<LoginStatus[]> {
  const store = openLoginStore(env, configuration);
  const all: LoginStatus[] = [];
  for (const server of servers) {
    const { name } = server;
    if (!isRemote(server) || server.auth === undefined) all.push({ server: name, state: "configured" });
    else if (server.auth.type === "client_credentials") all.push({ server: name, state: "machine" });
    else if (server.auth.type === "caller") all.push({ server: name, state: "caller" });
    else {
      const key = loginKeyOf(principal, server);
      try {
        all.push(describe(name, await store.read(key), await store.place(key)));
      } catch (error) {
        throw faultOf(name, error);
      }
    }
  }
  return all;
}

function describe(server: string, login: Login | undefined, place: string | undefined): LoginStatus {
  if (login === undefined) return { server, state: "none" };
  const { issuer, scope, wantedScope, accessToken, refreshToken, expiresAt } = login;
  const hasExpired = expiresAt !== undefined && expiresAt <= clock.wallMs() && refreshToken === undefined;
  return {
    server,
    state: accessToken === undefined || hasExpired ? "ended" : "logged_in",
    issuer,
    ...(scope === undefined ? {} : { scope }),
    ...(wantedScope === undefined ? {} : { wantedScope }),
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
    ...(accessToken === undefined ? {} : { renews: refreshToken !== undefined }),
    ...(place === undefined ? {} : { place }),
  };
}

/** The outcome of a logout. */
export interface Logout {
  /** Whether there was a login. */
  wasLoggedIn: boolean;
  /** Whether the authorization server revoked the tokens; `undefined` if it offers no revocation, or there was no login. */
  isRevoked: boolean | undefined;
  /** Why it did not revoke them. */
  problem: string | undefined;
}

/** Removes a login here, and revokes its tokens if the authorization server offers that. @throws UpstreamError */
export async function logOut(
  server: RemoteServer,
  principal: string,
  env: EnvironmentVariables,
  onLogin?: OnLogin,
  configuration: Partial<Pick<Configuration, "storage">> = {},
): Promise<Logout> {
  const store = openLoginStore(env, configuration);
  const key = loginKeyOf(principal, server);
  try {
    const login = await store.withLock(key, async () => {
      const found = await store.read(key).catch(() => undefined);
      const isRemoved = await store.remove(key);
      return isRemoved ? (found ?? "unreadable") : undefined;
    });
    if (login === undefined) return { wasLoggedIn: false, isRevoked: undefined, problem: undefined };
    onLogin?.({ principal, server: server.name, event: "logged_out" });
    if (login === "unreadable") return { wasLoggedIn: true, isRevoked: undefined, problem: undefined };
    const { revokeLogin } = await import("../upstream/authorization/oauth/login-tokens.ts");
    try {
      const isRevoked = (await revokeLogin(login)) || undefined;
      return { wasLoggedIn: true, isRevoked, problem: undefined };
    } catch (error) {
      return { wasLoggedIn: true, isRevoked: false, problem: faultOf(server.name, error).message };
    }
  } catch (error) {
    throw faultOf(server.name, error);
  }
}
