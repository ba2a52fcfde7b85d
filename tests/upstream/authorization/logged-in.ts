import { readFileSync, writeFileSync } from "node:fs";
import { onTestFinished } from "vitest";
import type { RemoteServerConfiguration } from "../../../configuration/configuration.ts";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { beginLogin } from "../../../logins/log-in.ts";
import { loginKeyOf, loginServer, openLoginStore } from "../../../logins/logins.ts";
import { composeAuthorizations } from "../../../project/servers/upstreams.ts";
import type { Login } from "../../../upstream/authorization/login-store.ts";
import { connectMcpServer } from "../../../upstream/mcp/connect-mcp-server.ts";
import { ownLoginSecrets } from "../../../upstream/secret-sources.ts";
import { newFolder } from "../../temporary-folder.ts";
import { ScriptedBrowser } from "./servers/browser.ts";
import { type ProtectionRules, serveProtected, type TokenVerifier } from "./servers/protected-server.ts";

const PRINCIPAL = "local";

/** A server whose tokens are of an authorization server, and a user of it. @param settings of the server in ptc.yaml. */
export async function serveGuarded(
  authority: TokenVerifier & { issuer: string },
  rules: Partial<ProtectionRules> = {},
  settings: object = {},
) {
  const own = { authorizationServers: [authority.issuer], verifier: authority, scopes: ["read"] };
  const server = await serveProtected({ ...own, ...rules });
  return { server, user: useUser(server.url, settings) };
}

/** A user with a configuration of one server, `guarded`, and a state folder of their own. */
export function useUser(url: string, settings: object = {}, name = "guarded") {
  const folder = newFolder();
  const env = { XDG_STATE_HOME: folder, PTC_KEYRING: "off" };
  const text = JSON.stringify({ servers: [{ name, url, ...settings }] });
  const configuration = parseConfiguration(text, { file: "ptc.yaml", directory: "/", environment: {} });
  const told: string[] = [];
  const secrets = { ...ownLoginSecrets(env), onSecret: (secret: string) => void told.push(secret) };
  const open = () => composeAuthorizations(configuration, openLoginStore(env), secrets)(PRINCIPAL, name);
  const server = configuration.servers[0] as RemoteServerConfiguration;
  return {
    env,
    folder,
    configuration,
    server,
    principal: PRINCIPAL,
    /** The secrets that redaction has learned. */
    told,
    authorization: open,
    connect: (authorization = open()) =>
      connectMcpServer(server, { clientVersion: "0", authorization, connectTimeoutMs: 60_000 }).then(
        (connection) => {
          onTestFinished(() => connection.close());
          return connection;
        },
      ),
    begin: () => beginLogin(loginServer(configuration, name), PRINCIPAL, { env, secrets }),
    /** Changes what is kept of the login, behind its back. */
    async edit(change: (login: Login) => unknown) {
      const key = loginKeyOf(PRINCIPAL, server);
      const store = openLoginStore(env);
      const path = (await store.place(key)) ?? "";
      const before = readFileSync(path, "utf8");
      const { login, ...rest } = JSON.parse(before);
      writeFileSync(path, JSON.stringify({ ...rest, login: change(login) }));
      return { restore: async () => writeFileSync(path, before) };
    },
    /** Logs in with a browser. */
    async logIn(browser = new ScriptedBrowser()) {
      const waiting = await this.begin();
      if (waiting === undefined) throw new Error("no login is asked for");
      const ended = await browser.open(waiting.url);
      await waiting.done;
      return ended;
    },
  };
}
