/** The logins and secrets of the person at this machine: at which servers there is a login, how it begins and ends, and what the keyring keeps. */
import type { Readable } from "node:stream";
import { oneLine } from "../base/visible-text.ts";
import { countTools } from "../catalog/parse-tool.ts";
import type { RemoteServer } from "../configuration/configuration.ts";
import { isRemote } from "../configuration/configured-servers.ts";
import { KEYRING_NAME, KEYRING_NAME_RULE } from "../configuration/settings/server-settings.ts";
import { beginLogin, type WaitingLogin } from "../logins/log-in.ts";
import { type LoginStatus, type Logout, loginServer, loginStatus, logOut } from "../logins/logins.ts";
import { UserSecrets } from "../secrets/user-secrets.ts";
import type { OnLogin } from "../upstream/authorization/authorization.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { LOCAL_USER } from "./local-user.ts";
import type { Project } from "./open-project.ts";
import { Refusal } from "./refusal.ts";
import { composeUpstreams } from "./servers/upstreams.ts";
import { readTextStream } from "./text-file.ts";

/** Why something is not so, in one line. */
export interface Why {
  why: string;
}

/** What came of a login. */
export interface LoggedIn {
  server: string;
  /** Where the person logged in; `undefined` if the server asks for no login. */
  issuer: string | undefined;
  /** How many tools the server lists now. */
  tools: number;
  /** Why it cannot be used all the same, in one line. */
  problem: string | undefined;
}

/**
 * Logs in to a server, and then lists its tools, so that a person notices at once if the login does not work. Every secret that is read
 * for it is redacted in the audit log.
 *
 * @param wait shows the person where to log in, and resolves when they have, or rejects.
 * @returns the outcome, or why there is no login.
 */
export async function logIn(
  project: Project,
  server: RemoteServer,
  wait: (waiting: WaitingLogin) => Promise<void>,
): Promise<LoggedIn | Why> {
  const { env, configuration } = project;
  const { principal } = LOCAL_USER;
  const { pool, secrets } = composeUpstreams(project);
  const onLogin: OnLogin = (event) => project.auditLogin(event);
  return orWhy(async () => {
    const waiting = await beginLogin(server, principal, { env, configuration, secrets, onLogin });
    if (waiting !== undefined) await wait(waiting);
    const listed = await orWhy(async () => pool.get(principal, server.name)?.list());
    const isUsable = listed === undefined || !("why" in listed);
    return {
      server: server.name,
      issuer: waiting?.issuer,
      tools: isUsable ? countTools(listed?.tools ?? []) : 0,
      problem: isUsable ? undefined : listed.why,
    };
  });
}

/** Forgets the login at a server. */
export async function logOutHere(
  project: Project,
  name: string,
): Promise<(Logout & { server: string }) | Why> {
  const { configuration, env } = project;
  return orWhy(async () => {
    const server = loginServer(configuration, name);
    const onLogin: OnLogin = (event) => project.auditLogin(event);
    const outcome = await logOut(server, LOCAL_USER.principal, env, onLogin, configuration);
    return { server: server.name, ...outcome };
  });
}

/** The logins at the servers, or at the named one; `undefined` if there is none of this name. */
export async function loginsHere(
  { configuration: { servers, storage }, env }: Project,
  name: string | undefined,
): Promise<LoginStatus[] | Why | undefined> {
  const asked = servers.filter(
    (server) => name === undefined || server.name === name || server.module === name,
  );
  if (name !== undefined && asked.length === 0) return undefined;
  return orWhy(() => loginStatus({ servers: asked, storage }, LOCAL_USER.principal, env));
}

/** Describes a login, phrased to follow its server's name. */
export function describeLogin(status: LoginStatus): string {
  const { server, state, issuer = "", scope, wantedScope, expiresAt, renews, place } = status;
  const again = `run \`ptc auth login ${server}\``;
  switch (state) {
    case "configured":
      return "has no login: its credentials, if any, are in ptc.yaml";
    case "caller":
      return "is used with the token of whoever calls ptc over HTTP";
    case "machine":
      return "gets its tokens by client_credentials in ptc.yaml";
    case "none":
      return `not logged in; if it asks for a login, ${again}`;
    case "ended":
      return `the login at ${issuer} has ended: ${again}`;
    case "logged_in": {
      const parts = [
        `logged in at ${oneLine(issuer, 200)}`,
        ...(scope === undefined ? [] : [`scopes ${oneLine(scope, 200)}`]),
        ...(renews === true ? ["renewed by itself"] : expiresAt === undefined ? [] : [`until ${expiresAt}`]),
        ...(place === undefined ? [] : [`kept in ${place}`]),
      ];
      const more =
        wantedScope === undefined ? "" : `; it wants more scopes (${oneLine(wantedScope, 200)}): ${again}`;
      return `${parts.join(", ")}${more}`;
    }
  }
}

/** The server to log in to: the named one, or the only one with a login. */
export async function serverToLogIn(
  { configuration }: Project,
  name: string | undefined,
): Promise<RemoteServer | Why> {
  if (name !== undefined) return orWhy(async () => loginServer(configuration, name));
  const able = configuration.servers.filter(
    (server): server is RemoteServer =>
      isRemote(server) && server.off === undefined && server.auth?.type === "oauth",
  );
  const [only] = able;
  if (only === undefined) return { why: "no server of the configuration has a login" };
  return able.length === 1
    ? only
    : { why: `name the server to log in to: ${able.map((server) => server.name).join(", ")}` };
}

/** Does some work. Resolves with the reason where a server or its login is at fault. */
async function orWhy<T>(work: () => Promise<T>): Promise<T | Why> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UpstreamError) return { why: error.message };
    throw error;
  }
}

const MAX_SECRET_BYTES = 64 * 1024;

/** The secrets of this user. @throws Refusal for a name that no secret can have. */
export function secretNamed(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): { keep(value: string): ReturnType<UserSecrets["set"]>; remove(): ReturnType<UserSecrets["delete"]> } {
  if (!KEYRING_NAME.test(name)) throw new Refusal(`a name in the keyring has ${KEYRING_NAME_RULE}`);
  const secrets = new UserSecrets(env);
  return { keep: (value) => secrets.set(name, value), remove: () => secrets.delete(name) };
}

/** A secret from a pipe, without the line feed at its end. @throws Refusal */
export async function readPipedSecret(stdin: Readable): Promise<string> {
  return (await readTextStream(stdin, "stdin", MAX_SECRET_BYTES)).replace(/\r?\n$/, "");
}

/** @throws Refusal for a value that no secret can have. */
export function refuseSecretValue(name: string, value: string): void {
  if (value === "") throw new Refusal(`nothing was given for '${name}'; nothing was changed`);
  if (value.includes("\0"))
    throw new Refusal(`the value of '${name}' has a NUL character; nothing was changed`);
  if (Buffer.byteLength(value) > MAX_SECRET_BYTES)
    throw new Refusal(`the value of '${name}' is larger than ${MAX_SECRET_BYTES} bytes; nothing was changed`);
}
