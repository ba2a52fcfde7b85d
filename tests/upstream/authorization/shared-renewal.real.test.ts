import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { clock } from "../../../base/clock.ts";
import type { RemoteServerConfiguration } from "../../../configuration/configuration.ts";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { beginLogin } from "../../../logins/log-in.ts";
import { openLoginStore } from "../../../logins/logins.ts";
import { composeAuthorizations } from "../../../project/servers/upstreams.ts";
import { configuredCredentials, loginCredentials } from "../../../upstream/authorization/credentials.ts";
import { connectMcpServer } from "../../../upstream/mcp/connect-mcp-server.ts";
import { ownLoginSecrets } from "../../../upstream/secret-sources.ts";
import { UpstreamPool } from "../../../upstream/upstream-pool.ts";
import { usePostgres, WITHOUT_POSTGRES } from "../../archive/postgres/server.ts";
import { newFolder } from "../../temporary-folder.ts";
import { ScriptedBrowser } from "./servers/browser.ts";
import { serveProtected } from "./servers/protected-server.ts";
import { serveRouter } from "./servers/router-server.ts";

const REPLICAS = 20;
const PRINCIPAL = "https://login.example.com#ada";

describe.skipIf(WITHOUT_POSTGRES !== "")(`a login that replicas share${WITHOUT_POSTGRES}`, () => {
  const postgres = usePostgres(["fsync=off", "max_connections=250"]);

  test(`is renewed once for ${REPLICAS} replicas whose calls need it at the same time`, async () => {
    const router = await serveRouter();
    const server = await serveProtected({
      ...{ authorizationServers: [router.issuer], verifier: router, scopes: ["read"] },
    });
    const url = postgres().url();
    const key = randomBytes(32).toString("base64");
    // Another name of the same database is another replica's connections.
    const replica = (n: number) => {
      const text = JSON.stringify({
        servers: [{ name: "guarded", url: server.url, auth: "oauth" }],
        storage: { url: `${url}&fallback_application_name=replica-${n}`, encryption_key: key },
      });
      const env = { XDG_STATE_HOME: newFolder(), PTC_KEYRING: "off" };
      const configuration = parseConfiguration(text, { file: "ptc.yaml", directory: "/", environment: {} });
      const target = configuration.servers[0] as RemoteServerConfiguration;
      const secrets = { ...ownLoginSecrets(env), onSecret() {} };
      const open = composeAuthorizations(configuration, openLoginStore(env, configuration), secrets);
      const source = {
        name: "guarded",
        connect: (signal: AbortSignal, { authorization }: Parameters<UpstreamSourceConnect>[1]) =>
          connectMcpServer(target, { clientVersion: "0", authorization, connectTimeoutMs: 60_000, signal }),
      };
      const credentials = loginCredentials(configuredCredentials(new Map()), open);
      return { env, configuration, target, pool: new UpstreamPool([source], credentials, clock) };
    };
    const replicas = Array.from({ length: REPLICAS }, (_, n) => replica(n));
    const [first] = replicas;
    if (first === undefined) throw new Error("there is none");
    const waiting = await beginLogin(first.target, PRINCIPAL, first);
    await new ScriptedBrowser().open(waiting?.url ?? "");
    await waiting?.done;
    router.expireAll();
    const listed = await Promise.all(replicas.map(({ pool }) => pool.get(PRINCIPAL, "guarded")?.list()));
    expect(listed.map((each) => each?.tools.length)).toEqual(Array(REPLICAS).fill(3));
    expect(router.grants).toMatchObject({ code: 1, refresh: 1 });
    await Promise.all(replicas.map(({ pool }) => pool.close()));
  });
});

type UpstreamSourceConnect = ConstructorParameters<typeof UpstreamPool>[0][number]["connect"];
