/** Where credentials go that ptc.yaml has for the security schemes of a description, and where they do not. */
import { spawnSync } from "node:child_process";
import dns from "node:dns";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { syncBuiltinESMExports } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { RemoteServer } from "../../../configuration/configuration.ts";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { openLoginStore } from "../../../logins/logins.ts";
import { composeAuthorizations } from "../../../project/servers/upstreams.ts";
import { Callers } from "../../../upstream/authorization/callers.ts";
import { openApi } from "../../../upstream/openapi/open-api.ts";
import { ownLoginSecrets } from "../../../upstream/secret-sources.ts";
import { CLIENT, serveExchanging } from "../authorization/servers/exchange-grants.ts";
import { type Answer, described, serveApi } from "./serve-api.ts";

const KEY = "k&y=with/odd characters";

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "ptc-api-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Opens an API as ptc does, by a description in a file. */
async function open(description: object, url: string, headers: Record<string, string> = {}) {
  const openapi = join(folder(), "api.json");
  writeFileSync(openapi, JSON.stringify(description));
  const { signal } = new AbortController();
  const target = { openapi, url, operations: {} };
  const options = { headers, authorization: undefined, version: "0", timeoutMs: 20_000, signal };
  const connection = await openApi(target, options);
  onTestFinished(() => connection.close());
  const call = (args: object = {}) =>
    connection.callTool({ tool: "op", arguments: args, signal, timeoutMs: 20_000 });
  return { connection, call };
}

const SCHEMES = {
  inQuery: { type: "apiKey", in: "query", name: "api key" },
  inHeader: { type: "apiKey", in: "header", name: "X-Key" },
  inCookie: { type: "apiKey", in: "cookie", name: "session" },
  basic: { type: "http", scheme: "basic" },
  bearer: { type: "http", scheme: "bearer" },
  login: { type: "oauth2", flows: {} },
  asHost: { type: "apiKey", in: "header", name: "Host" },
};
const components = { securitySchemes: SCHEMES };

async function sentBy(operation: object, credentials: Record<string, string>, answer?: () => Answer) {
  const api = await serveApi(answer);
  const values = Object.fromEntries(
    Object.entries(credentials).map(([name, value]) => [`credentials/${name}`, value]),
  );
  const { connection, call } = await open(described("/x", "get", operation, { components }), api.url, {
    ...values,
    Cookie: "a=b",
  });
  return { answered: await call({ q: "1", "api key": "theirs" }), asked: api.asked, connection };
}

test.each([
  ["inQuery", KEY, "/x?api%20key=k%26y%3Dwith%2Fodd%20characters", {}],
  ["inHeader", KEY, "/x", { "x-key": KEY }],
  ["inCookie", "s1", "/x", { cookie: "a=b; session=s1" }],
  ["basic", "user:pass:word", "/x", { authorization: `Basic ${btoa("user:pass:word")}` }],
  ["bearer", "t1", "/x", { authorization: "Bearer t1" }],
])(
  "The credential of the scheme %s is sent where the description says",
  async (scheme, value, url, headers) => {
    const { asked } = await sentBy({ security: [{ [scheme]: [] }] }, { [scheme]: value });
    expect(asked[0]).toMatchObject({ url, headers });
  },
);

test.each<[string, unknown, string[]]>([
  ["nothing", undefined, ["x-key", "authorization"]],
  ["none", [], []],
  ["one of two", [{ login: [] }, { bearer: [] }], ["authorization"]],
  ["two together, or one", [{ inHeader: [], login: [] }, { inHeader: [] }], ["x-key"]],
  ["both", [{ inHeader: [], bearer: [] }], ["x-key", "authorization"]],
])("An operation that asks for %s is sent no more than that", async (_, security, names) => {
  const { asked } = await sentBy({ security }, { inHeader: "k1", bearer: "t1" });
  const sent = ["x-key", "authorization"].filter((name) => asked[0]?.headers[name] !== undefined);
  expect(sent).toEqual(names);
});

test("A key in the query is no argument, is in no part of an answer, and goes along a redirect once", async () => {
  const parameters = [
    { name: "api key", in: "query", required: true, schema: { type: "string" } },
    { name: "q", in: "query", schema: { type: "string" } },
  ];
  let redirects = 0;
  const { answered, asked, connection } = await sentBy({ parameters }, { inQuery: KEY }, () =>
    redirects++ === 0
      ? { status: 302, headers: { location: "/y?q=2&api+key=old" } }
      : {
          headers: { "content-type": "application/pdf", link: "</x?api%20key=leak&q=3>; rel=next" },
          body: "%PDF",
        },
  );
  const [tool] = (await connection.list()).tools as { inputSchema: { properties: object } }[];
  expect(Object.keys(tool?.inputSchema.properties ?? {})).toEqual(["q"]);
  const key = "api%20key=k%26y%3Dwith%2Fodd%20characters";
  expect(asked.map(({ url }) => url)).toEqual([`/x?q=1&${key}`, `/y?q=2&${key}`]);
  expect(JSON.stringify(answered)).not.toMatch(/k%26y|leak|old/);
  expect(answered).toMatchObject({ _meta: { "ptc/next": { q: "3" } } });
});

test("A description that is opened again is read once, and its operations are those that each server has chosen", async () => {
  const description = described("/x", "get", {}, { components });
  const openapi = join(folder(), "api.json");
  writeFileSync(openapi, JSON.stringify(description));
  const { signal } = new AbortController();
  const list = async (operations: object, headers: Record<string, string> = {}) => {
    const options = { headers, authorization: undefined, version: "0", timeoutMs: 20_000, signal };
    const target = { openapi, url: "http://127.0.0.1:1", operations };
    return (await (await openApi(target, options)).list()).tools;
  };
  const first = await list({});
  expect((await list({}))[0]).toBe(first[0]);
  expect(await list({ exclude: [{ path: "*" }] })).toEqual([]);
  expect((await list({}, { "credentials/inQuery": "k" }))[0]).not.toBe(first[0]);
  writeFileSync(openapi, JSON.stringify({ ...description, paths: {} }));
  expect(await list({})).toEqual([]);
});

test.each([
  [
    "unknown",
    "x",
    /credentials\.unknown: the OpenAPI description has no such security scheme; it has inQuery, /,
  ],
  ["login", "x", /credentials\.login: it is of type oauth2; write `auth` for logins/],
  ["basic", "x", /credentials\.basic: it is HTTP basic; write `USER:PASSWORD`/],
  ["asHost", "x", /credentials\.asHost: .* under a name that no key may have/],
  ["__proto__", "x", /no such security scheme/],
])("A credential for the scheme %s is refused in one line", async (scheme, value, message) => {
  const headers = Object.fromEntries([[`credentials/${scheme}`, value]]);
  await expect(
    open(described("/x", "get", {}, { components }), "http://127.0.0.1:1", headers),
  ).rejects.toThrow(message);
});

test("A name that comes to stand for this machine or a private network is not connected to, where the description alone names it", async () => {
  const api = await serveApi();
  const { port } = new URL(api.url);
  const address = vi.fn(() => "127.0.0.1");
  const own = dns.lookup;
  dns.lookup = ((...args: unknown[]) => {
    const done = args.at(-1) as (error: null, found: object[]) => void;
    done(null, [{ address: address(), family: 4 }]);
  }) as unknown as typeof dns.lookup;
  syncBuiltinESMExports();
  onTestFinished(() => {
    dns.lookup = own;
    syncBuiltinESMExports();
  });
  const description = described("/x", "get", {}, { servers: [{ url: `http://api.example:${port}` }] });
  const { call } = await open(description, "");
  await expect(call()).rejects.toThrow(
    /is this machine \(127\.0\.0\.1\), where an OpenAPI description may not lead; say with base_url/,
  );
  address.mockReturnValue("10.0.0.1");
  await expect(call()).rejects.toThrow(/is a private network \(10\.0\.0\.1\)/);
  expect(api.asked).toEqual([]);
  address.mockReturnValue("127.0.0.1");
  const named = await open(description, `http://api.example:${port}`);
  expect(await named.call()).toMatchObject({ structuredContent: {} });
});

test("An API is shown the certificate of ptc.yaml, also with a form of several parts", async () => {
  const at = folder();
  const openssl = (...args: string[]) => {
    const { status, stderr } = spawnSync("openssl", args, { cwd: at, encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  };
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  for (const name of ["server", "client"])
    openssl(
      ...[
        "req",
        "-x509",
        ...key,
        "-keyout",
        `${name}-key.pem`,
        "-out",
        `${name}.pem`,
        "-subj",
        `/CN=${name}`,
      ],
      ...["-addext", "subjectAltName=IP:127.0.0.1"],
    );
  const file = (name: string) => readFileSync(join(at, name), "utf8");
  const bodies: string[] = [];
  const server = createServer(
    {
      key: file("server-key.pem"),
      cert: file("server.pem"),
      ca: file("client.pem"),
      requestCert: true,
      rejectUnauthorized: true,
    },
    async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      bodies.push(Buffer.concat(chunks).toString());
      response.writeHead(200, { "content-type": "application/json" }).end('{"ok":true}');
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  vi.stubEnv("SSL_CERT_FILE", join(at, "server.pem"));
  onTestFinished(() => void vi.unstubAllEnvs());
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const schema = { type: "object", properties: { note: { type: "string" } } };
  const requestBody = { content: { "multipart/form-data": { schema } } };
  const description = described("/x", "post", { requestBody });
  const shown = { "certificate/cert": file("client.pem"), "certificate/key": file("client-key.pem") };
  const { call } = await open(description, url, shown);
  expect(await call({ body: { note: "hello" } })).toMatchObject({ structuredContent: { ok: true } });
  expect(bodies[0]).toContain('name="note"\r\n\r\nhello\r\n');
  const without = await open(description, url);
  await expect(without.call({ body: { note: "x" } })).rejects.toThrow(/cannot be reached/);
  expect(bodies).toHaveLength(1);
  await expect(open(description, url, { ...shown, "certificate/key": "none" })).rejects.toThrow(
    /client_certificate: cert and key must be a certificate and its key, in PEM/,
  );
});

test("A machine's login gets a token for the API from the issuer that ptc.yaml names, and another when it is refused", async () => {
  const idp = await serveExchanging();
  let taken = "";
  const api = await serveApi(({ headers }) =>
    headers.authorization === undefined || headers.authorization === `Bearer ${taken}`
      ? { status: 401, headers: { "www-authenticate": "Bearer" } }
      : { headers: { "content-type": "application/json" }, body: '{"ok":true}' },
  );
  const directory = folder();
  writeFileSync(join(directory, "api.json"), JSON.stringify(described("/x", "get", {})));
  const auth = { type: "client_credentials", issuer: idp.issuer };
  const client = { client_id: CLIENT.id, client_secret: CLIENT.secret };
  const server = { name: "billing", openapi: "api.json", base_url: api.url, auth: { ...auth, ...client } };
  const configuration = parseConfiguration(JSON.stringify({ servers: [server] }), {
    ...{ file: join(directory, "ptc.yaml"), directory, environment: {} },
  });
  const env = { XDG_STATE_HOME: folder(), PTC_KEYRING: "off" };
  const secrets = { ...ownLoginSecrets(env), onSecret() {} };
  const open = composeAuthorizations(configuration, openLoginStore(env), secrets, () => {}, new Callers());
  const { signal } = new AbortController();
  const connection = await openApi(
    configuration.servers[0] as Extract<RemoteServer, { transport: "openapi" }>,
    {
      ...{ headers: {}, authorization: open("local", "billing"), version: "0", timeoutMs: 20_000, signal },
    },
  );
  onTestFinished(() => connection.close());
  const call = async () => {
    const answered = await connection.callTool({ tool: "op", arguments: {}, signal, timeoutMs: 20_000 });
    const token = api.asked.at(-1)?.headers.authorization?.replace("Bearer ", "") ?? "";
    return { answered, token };
  };
  const first = await call();
  expect(first.answered).toMatchObject({ structuredContent: { ok: true } });
  expect(await idp.verify(first.token)).toMatchObject({ audience: expect.stringContaining(api.url) });
  expect(connection.secrets()).toContain(first.token);
  taken = first.token;
  const second = await call();
  expect(second.answered).toMatchObject({ structuredContent: { ok: true } });
  expect(second.token).not.toBe(first.token);
});
