import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { openOtlp } from "../../archive/audit/sinks/open-sinks.ts";
import { outgoingFetch, ProxyError, proxyFor, requestOptionsFor } from "../../system/outgoing.ts";
import { openTelemetry } from "../../telemetry/open-telemetry.ts";
import { AddressGuard, buildGuardedFetch } from "../../upstream/authorization/guarded-fetch.ts";
import { askEndpoint } from "../../upstream/model/model-connection.ts";
import { rowsBeside } from "../rows.ts";
import { serveStreamable } from "../upstream/mcp/upstream-http-servers.ts";
import { connect, toolCall } from "../upstream/upstream-fixtures.ts";
import { ELSEWHERE, openProxiedWorld, type ProxiedWorld } from "./proxied-world.ts";

const rows = rowsBeside(import.meta.filename);

/** Variables of the person who runs the tests. */
const OWN = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"].flatMap((name) => [
  name,
  name.toUpperCase(),
]);

describe("the proxy of an address", () => {
  type Row = [what: string, url: string, env: Record<string, string>, proxy?: string | undefined];
  const BOTH = { http_proxy: "http://plain:3128", HTTPS_PROXY: "secure:8080" };
  it.each([
    ...rows<Row>("proxies beside http_proxy and HTTPS_PROXY").map(
      ([what, url, env, proxy]): Row => [what, url, { ...BOTH, ...env }, proxy],
    ),
    ...rows<Row>("other proxies"),
  ])("%s", (_, url, env, proxy) => expect(proxyFor(new URL(url), env)?.href).toBe(proxy));

  it.each(["socks5://user:hunter2@proxy:1080", "http://"])(
    "is an HTTP proxy, and not %s, which is not shown",
    (value) => {
      const find = () => proxyFor(new URL("https://hub.example/"), { HTTPS_PROXY: value });
      expect(find).toThrow(ProxyError);
      expect(find).toThrow(
        "HTTPS_PROXY in the environment is not the URL of an HTTP proxy, such as http://proxy:3128",
      );
    },
  );
});

describe("ptc's own connections, behind a proxy and with a private authority", () => {
  const seen = { headers: [] as IncomingMessage["headers"][], started: 0, aborted: 0 };
  const bodies: string[] = [];
  let world: ProxiedWorld;

  beforeAll(async () => {
    const mcp = serveStreamable(seen).listener;
    world = await openProxiedWorld(async (request, response) => {
      if (request.url === "/mcp") return mcp(request, response);
      for await (const chunk of request) bodies.push(String(chunk));
      response.setHeader("content-type", "application/json");
      response.end('{"answered":true}');
    });
  });
  afterAll(() => world.close());
  beforeEach(() => {
    for (const name of OWN) vi.stubEnv(name, undefined);
    vi.stubEnv("HTTPS_PROXY", world.proxy);
    vi.stubEnv("http_proxy", world.proxy);
    vi.stubEnv("SSL_CERT_FILE", world.ca);
    vi.stubEnv("SSL_CERT_DIR", undefined);
    world.asked.length = 0;
  });
  afterEach(() => vi.unstubAllEnvs());

  const user = () => `ptc:${world.password}`;

  it.each([
    ["https", () => [`CONNECT ${ELSEWHERE}:443`]],
    ["http", () => [`POST http://${ELSEWHERE}/mcp`]],
  ])("reach MCP servers over %s", async (scheme, lines) => {
    const url = `${scheme}://${ELSEWHERE}/mcp`;
    const connection = await connect({ name: "x", transport: "http", url, headers: {} });
    const result = await connection.callTool(toolCall("echo", { text: "through" }));
    expect(result).toMatchObject({ content: [{ type: "text", text: "through" }] });
    expect(world.asked).toEqual(expect.arrayContaining(lines().map((line) => ({ line, user: user() }))));
    await connection.close();
  });

  it("reach what the metadata of logins names by way of the proxy, and no address that it may not lead to", async () => {
    const fetch = buildGuardedFetch({ guard: new AddressGuard(`https://${ELSEWHERE}/`) });
    for (const scheme of ["https", "http"]) {
      const answer = await fetch(`${scheme}://${ELSEWHERE}/token`, { method: "POST", body: "grant" });
      expect(await answer.json()).toEqual({ answered: true });
    }
    const lines = [443, 80].map((port) => ({ line: `CONNECT ${ELSEWHERE}:${port}`, user: user() }));
    expect(world.asked).toEqual(lines);
    await expect(fetch("https://10.0.0.1/token")).rejects.toThrow(/is a private network \(10\.0\.0\.1\)/);
    await expect(fetch("https://169.254.169.254/token")).rejects.toThrow(/is no public host/);
    expect(world.asked).toEqual(lines);
  });

  it("ask models, and send the audit log", async () => {
    const { signal } = new AbortController();
    expect(await askEndpoint(`https://${ELSEWHERE}/v1/chat`, {}, { q: 1 }, signal)).toEqual({
      answered: true,
    });
    bodies.length = 0;
    const otlp = { url: `https://${ELSEWHERE}/v1/logs`, headers: {}, version: "0", wallMs: () => 0 };
    await openOtlp(otlp).deliver([]);
    expect(bodies.join("")).toContain("resourceLogs");
  });

  it("send telemetry", async () => {
    vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `https://${ELSEWHERE}`);
    vi.stubEnv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
    const warnings: string[] = [];
    const onWarning = (line: string) => void warnings.push(line);
    const telemetry = await openTelemetry(process.env, { version: "0", onWarning });
    telemetry?.queued()();
    bodies.length = 0;
    await telemetry?.close(60_000);
    expect(warnings).toEqual([]);
    expect(bodies.join("")).toContain("resourceMetrics");
    expect(world.asked).toContainEqual({ line: `CONNECT ${ELSEWHERE}:443`, user: user() });
  });

  it("trust the authorities of a folder too, by the names that OpenSSL gives them, and no others", async () => {
    vi.stubEnv("SSL_CERT_FILE", undefined);
    const failing = outgoingFetch(`https://${ELSEWHERE}/`).catch((error: Error) => String(error.cause));
    expect(await failing).toMatch(/certificate/);
    const folder = mkdtempSync(join(tmpdir(), "ptc-authorities-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, "certificates"));
    symlinkSync(world.ca, join(folder, "certificates/0a1b2c3d.0"));
    vi.stubEnv("SSL_CERT_DIR", `/nowhere:${join(folder, "certificates")}`);
    expect(await (await outgoingFetch(`https://${ELSEWHERE}/`)).json()).toEqual({ answered: true });
  });

  it("go straight to this machine, and to what NO_PROXY names", async () => {
    const server = createServer((_, response) => void response.end("straight"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect(await (await outgoingFetch(`http://127.0.0.1:${port}/`)).text()).toBe("straight");
    vi.stubEnv("NO_PROXY", ELSEWHERE);
    const { agent } = requestOptionsFor(new URL(`https://${ELSEWHERE}/`));
    expect([agent, world.asked]).toEqual([undefined, []]);
  });
});
