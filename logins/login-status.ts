import { clock } from "../base/clock.ts";
import type { Configuration, RemoteServerConfiguration } from "../configuration/configuration.ts";
import { isRemote } from "../configuration/configured-servers.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { OnLogin } from "../upstream/authorization/login-event.ts";
import type { Login } from "../upstream/authorization/logins/login-record.ts";
import { faultOf } from "./log-in.ts";
import { loginKeyOf, openLoginStore } from "./open-logins.ts";

/** How a server is authorized, and what is known of its login without asking anybody. */
export interface LoginStatus {
  server: string;
  /**
   * `logged_in`: there is a token, or one can be had without a person. `ended`: there was a login. `none`: there was none, and
   * the server may not need one. `machine`: ptc.yaml has client credentials. `configured`: credentials are in headers or `env`,
   * as far as there are any.
   */
  state: "logged_in" | "ended" | "none" | "machine" | "configured";
  issuer?: string;
  scope?: string;
  /** The scopes that the server has wanted beside those. */
  wantedScope?: string;
  /** In ISO 8601. */
  expiresAt?: string;
  /** Whether an expired token is renewed without a person. */
  renews?: boolean;
  /** Where it is kept: a keyring, or a file. */
  place?: string;
}

/** @throws UpstreamError when a login cannot be read. */
export async function loginStatus(
  { servers }: Pick<Configuration, "servers">,
  principal: string,
  env: EnvironmentVariables,
): Promise<LoginStatus[]> {
  const store = openLoginStore(env);
  const all: LoginStatus[] = [];
  for (const server of servers) {
    const { name } = server;
    if (!isRemote(server) || server.auth === undefined) all.push({ server: name, state: "configured" });
    else if (server.auth.type === "client_credentials") all.push({ server: name, state: "machine" });
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

/** What became of a logout. */
export interface Logout {
  /** Whether there was a login. */
  wasLoggedIn: boolean;
  /** Whether the authorization server forgot the tokens; `undefined` when it does not offer that, or there was none. */
  isRevoked: boolean | undefined;
  /** Why it did not. */
  problem: string | undefined;
}

/** Forgets a login here, and has the authorization server forget its tokens where it offers that. @throws UpstreamError */
export async function logOut(
  server: RemoteServerConfiguration,
  principal: string,
  env: EnvironmentVariables,
  onLogin?: OnLogin,
): Promise<Logout> {
  const store = openLoginStore(env);
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
    const { revokeLogin } = await import("../upstream/mcp/client/auth/revoke.ts");
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
