/**
 * ptc as a client of the conformance suite: lists the tools of a server and calls each once, and logs in by a browser when it is
 * told to, as a person would with `ptc auth login`. The last argument is the server's URL.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RemoteServerConfiguration } from "../../../configuration/configuration.ts";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { beginLogin } from "../../../logins/log-in.ts";
import { openLoginStore } from "../../../logins/logins.ts";
import { composeAuthorizations } from "../../../project/servers/upstreams.ts";
import { connectMcpServer } from "../../../upstream/mcp/connect-mcp-server.ts";
import { ownLoginSecrets } from "../../../upstream/secret-sources.ts";
import type { UpstreamConnection } from "../../../upstream/upstream.ts";
import { UpstreamError } from "../../../upstream/upstream-error.ts";
import { ScriptedBrowser } from "../../upstream/authorization/servers/browser.ts";

/** How often a person would do as they are told. */
const MAX_LOGINS = 3;
const PRINCIPAL = "local";

const url = process.argv.at(-1) ?? "";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const folder = mkdtempSync(join(tmpdir(), "ptc-conformance-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const env = { XDG_STATE_HOME: folder, PTC_KEYRING: "off" };

const text = JSON.stringify({
  servers: [{ name: "guarded", url, ...(await authOf(process.env.MCP_CONFORMANCE_SCENARIO ?? "")) }],
});
const configuration = parseConfiguration(text, { file: "ptc.yaml", directory: "/", environment: {} });
const server = configuration.servers[0] as RemoteServerConfiguration;
const authorization = composeAuthorizations(
  configuration,
  openLoginStore(env),
  ownLoginSecrets(env),
)(PRINCIPAL, "guarded");

/** What a user would write under `auth` for what they were given. */
async function authOf(scenario: string): Promise<object> {
  const { client_id, client_secret, private_key_pem: private_key, signing_algorithm } = context;
  if (scenario === "auth/basic-cimd")
    return {
      auth: { type: "oauth", client_metadata_url: "https://conformance-test.local/client-metadata.json" },
    };
  if (scenario === "auth/client-credentials-jwt")
    return { auth: { type: "client_credentials", client_id, private_key, signing_algorithm } };
  if (scenario === "auth/client-credentials-basic")
    return { auth: { type: "client_credentials", client_id, client_secret, issuer: await issuerOf(url) } };
  if (client_id === undefined) return {};
  return { auth: { type: "oauth", client_id, client_secret, issuer: await issuerOf(url) } };
}

/** The authorization server that gave out the credentials, which a user knows, and the suite does not say. */
async function issuerOf(server: string): Promise<string | undefined> {
  const { origin, pathname } = new URL(server);
  for (const path of [pathname, ""]) {
    const answer = await fetch(`${origin}/.well-known/oauth-protected-resource${path}`);
    if (!answer.ok) continue;
    const { authorization_servers } = (await answer.json()) as { authorization_servers?: string[] };
    return authorization_servers?.[0];
  }
  return undefined;
}

/** Does some work, and logs in whenever that is asked for. */
async function withLogins<T>(work: () => Promise<T>): Promise<T> {
  for (let logins = 0; ; logins++) {
    try {
      return await work();
    } catch (error) {
      const isAsked = error instanceof UpstreamError && error.code === "login_required";
      if (!isAsked || logins === MAX_LOGINS) throw error;
      const waiting = await beginLogin(server, PRINCIPAL, { env });
      if (waiting === undefined) throw error;
      const ended = await new ScriptedBrowser().open(waiting.url);
      if (!ended.url.startsWith(waiting.redirectUri)) waiting.cancel(`the browser ended up at ${ended.url}`);
      await waiting.done;
    }
  }
}

const connection: UpstreamConnection = await withLogins(() =>
  connectMcpServer(server, { clientVersion: "0.1.0", authorization, connectTimeoutMs: 20_000 }),
);
const { tools } = await withLogins(() => connection.list());
const { signal } = new AbortController();
for (const { name } of tools as { name: string }[]) {
  const call = { tool: name, arguments: { a: 1, b: 2 }, timeoutMs: 20_000, signal };
  await withLogins(() => connection.callTool(call));
}
await connection.close();
process.exit(0);
