/** What an HTTP server does about certificates that are renewed, proxies in front of it, and clients that are slow or stuck. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Authenticator } from "../../../identity/caller.ts";
import { executed, serviceOf, valued } from "../mcp/served.ts";
import { ALL_SCOPES, modern, post, serveHttpHere } from "./served-http.ts";

const one = () => serviceOf(async () => executed({ data: 1 }));
const LIST = modern("tools/list");
const RUN = modern("tools/call", { name: "execute_program", arguments: { code: "1" } });

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "ptc-http-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a certificate and its key, for the loopback, in the place of those of before. */
function writeCertificate(folder: string, name: string): { cert: string; key: string } {
  const files = { cert: join(folder, "tls.crt"), key: join(folder, "tls.key") };
  const { status, stderr } = spawnSync(
    "openssl",
    [
      ...[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
      ],
      ...["-keyout", files.key, "-out", files.cert, "-subj", `/CN=${name}`],
    ],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`openssl: ${stderr}`);
  return files;
}

/** The name in the certificate that a server shows to a new connection. */
async function shownName({ port }: URL): Promise<string> {
  const socket: TLSSocket = tlsConnect({ port: Number(port), host: "127.0.0.1", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return String(CN);
}

describe("an HTTP server with a certificate of its own", () => {
  test("shows the new one to new connections once its files have changed", async () => {
    const folder = temporaryFolder();
    const { url, warnings } = await serveHttpHere(one(), { tls: writeCertificate(folder, "first") });
    expect([url.protocol, await shownName(url)]).toEqual(["https:", "first"]);
    writeCertificate(folder, "second");
    await expect.poll(() => shownName(url)).toBe("second");
    expect(warnings.filter((each) => !each.includes("key values mismatch"))).toEqual([]);
  });

  test("goes on with the earlier one, and says so, where the new one cannot be used", async () => {
    const folder = temporaryFolder();
    const tls = writeCertificate(folder, "first");
    const { url, warnings } = await serveHttpHere(one(), { tls });
    writeFileSync(tls.cert, "not a certificate");
    await expect.poll(() => warnings.join()).toContain("the certificate of before stays in use");
    expect(await shownName(url)).toBe("first");
    rmSync(tls.key);
    await expect.poll(() => warnings.join()).toContain("http.tls.key");
    expect(await shownName(url)).toBe("first");
  });

  test("does not begin without one, and names the setting", async () => {
    const tls = { cert: join(temporaryFolder(), "absent.crt"), key: "absent.key" };
    await expect(serveHttpHere(one(), { tls })).rejects.toThrow(/^http\.tls\.cert: .*absent\.crt.*ENOENT/);
  });
});

const PUBLIC = "https://ptc.example.com/mcp";

/** Lets everybody in. */
const everybody: Authenticator = {
  authenticate: async () => ({ context: { principal: "i#ada", source: "serve" }, scopes: ALL_SCOPES }),
  resourceMetadata: {},
  requestedScopes: [],
};

describe("an HTTP server behind a proxy", () => {
  const reachable = { listen: { host: "127.0.0.1", port: 0, isLoopback: false }, publicUrl: PUBLIC };
  const behind = async (trustedProxies: string[]) => {
    const { server } = await serveHttpHere(one(), { ...reachable, authenticator: everybody, trustedProxies });
    return server.port;
  };
  /** Asks as a proxy does that has an address of its own on the loopback. */
  const askFrom = async (localAddress: string, port: number, headers: Record<string, string>) => {
    const body = JSON.stringify(LIST);
    const { method } = LIST;
    const asked = request({
      ...{ host: "127.0.0.1", port, localAddress, path: "/mcp", method: "POST" },
      headers: {
        ...{ "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
        ...{ "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, Host: "10.0.0.7:8080" },
        ...headers,
      },
    });
    asked.end(body);
    const [response] = await once(asked, "response");
    response.resume();
    return response.statusCode as number;
  };
  const FORWARDED = {
    "X-Forwarded-Host": "ptc.example.com",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-For": "192.0.2.9",
  };

  test("believes what a trusted proxy says of the host that was asked for", async () => {
    const port = await behind(["127.0.0.2", "127.0.1.0/24"]);
    expect(await askFrom("127.0.0.2", port, FORWARDED)).toBe(200);
    expect(await askFrom("127.0.1.77", port, FORWARDED)).toBe(200);
    const elsewhere = { ...FORWARDED, "X-Forwarded-Host": "evil.example" };
    expect(await askFrom("127.0.0.2", port, elsewhere)).toBe(403);
  });

  test("goes by the value that the nearest proxy has added", async () => {
    const port = await behind(["127.0.0.2"]);
    const added = { "X-Forwarded-Host": "evil.example, ptc.example.com" };
    expect(await askFrom("127.0.0.2", port, added)).toBe(200);
    const claimed = { "X-Forwarded-Host": "ptc.example.com, evil.example" };
    expect(await askFrom("127.0.0.2", port, claimed)).toBe(403);
  });

  test("takes nothing from another address, whatever that says of itself", async () => {
    const port = await behind(["127.0.0.2"]);
    expect(await askFrom("127.0.0.3", port, FORWARDED)).toBe(403);
    expect(await askFrom("127.0.0.3", port, { Host: "ptc.example.com" })).toBe(403);
    expect(await askFrom("127.0.0.3", port, { ...FORWARDED, Forwarded: "for=127.0.0.2" })).toBe(403);
  });

  test("shows no metrics to whoever comes through a proxy of this machine without a login for them", async () => {
    const runner: Authenticator = {
      ...everybody,
      authenticate: async () => ({
        context: { principal: "i#ada", source: "serve" },
        scopes: new Set(["ptc:run"] as const),
      }),
    };
    const options = { authenticator: runner, trustedProxies: ["127.0.0.1"], metrics: async () => "m 1\n" };
    const { url } = await serveHttpHere(one(), options);
    const metrics = new URL("/metrics", url);
    const statusWith = async (headers: Record<string, string>) => (await fetch(metrics, { headers })).status;
    expect(await statusWith({})).toBe(200);
    expect(await statusWith({ "X-Forwarded-For": "192.0.2.9" })).toBe(403);
    expect(await statusWith({ Forwarded: "for=192.0.2.9" })).toBe(403);
  });
});

/** A connection to a server, with what came back on it. */
function open({ port, hostname }: URL): { socket: Socket; came: () => string } {
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  let came = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    came += chunk;
  });
  socket.on("error", () => {});
  return { socket, came: () => came };
}

/** More than the buffers of the system hold. */
const LARGE = "x".repeat(12_000_000);
const QUICK = { headersMs: 300, requestMs: 600, stuckMs: 300, lookMs: 50 };

/** Others are answered, if not at once on a busy machine, where the times may be over before this process has sent anything. */
async function expectServed(url: URL): Promise<void> {
  await expect.poll(async () => (await post(url, LIST)).status).toBe(200);
}

describe("an HTTP server with slow clients", () => {
  test("cuts off headers that never end, and answers others meanwhile", async () => {
    const { url } = await serveHttpHere(one(), { times: QUICK });
    const { socket, came } = open(url);
    const closed = once(socket, "close");
    socket.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\n");
    const dripping = setInterval(() => socket.write("X-More: 1\r\n"), 20);
    onTestFinished(() => clearInterval(dripping));
    await expectServed(url);
    await closed;
    expect(came()).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("cuts off a body that stops", async () => {
    const { url } = await serveHttpHere(one(), { times: QUICK });
    const { socket, came } = open(url);
    const closed = once(socket, "close");
    const head = ["POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json"];
    const more = ["Accept: text/event-stream", "Content-Length: 1000", "", '{"jsonrpc":'];
    socket.write([...head, ...more].join("\r\n"));
    await closed;
    expect(came()).not.toMatch(/ 200 /);
    await expectServed(url);
  });

  test("cuts off whoever reads nothing of an answer, holding no more than the answer", async () => {
    const service = serviceOf(async () => executed({ data: LARGE }));
    const { url, server } = await serveHttpHere(service, { times: QUICK });
    const { socket } = open(url);
    socket.pause();
    const closed = once(socket, "close");
    const body = JSON.stringify(RUN);
    const head = [
      ...["POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json"],
      ...["Accept: text/event-stream, application/json", "MCP-Protocol-Version: 2026-07-28"],
      ...["Mcp-Method: tools/call", "Mcp-Name: execute_program", `Content-Length: ${body.length}`, "", body],
    ];
    socket.write(head.join("\r\n"));
    await expect.poll(() => server.unfinished).toBe(1);
    await expect.poll(() => server.unfinished).toBe(0);
    socket.resume();
    await closed;
    await expectServed(url);
  });

  test("keeps whoever reads slowly, but reads", async () => {
    const service = serviceOf(async () => executed({ data: LARGE }));
    // All of it takes longer than one that reads nothing is waited for.
    const times = { headersMs: 60_000, requestMs: 60_000, stuckMs: 3_000, lookMs: 50 };
    const { url } = await serveHttpHere(service, { times });
    const response = await post(url, RUN);
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(bytes).toBeGreaterThan(LARGE.length);
  });
});

const INITIALIZE = {
  ...{ jsonrpc: "2.0", id: 0, method: "initialize" },
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } },
};
const OLD = { "MCP-Protocol-Version": "2025-11-25" };

/** Reads a stream of events until one of them is the last that is wanted. */
async function readEvents(response: Response, isLast: (event: { id?: string; data?: string }) => boolean) {
  const events: { id?: string; data?: string }[] = [];
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      const field = (name: string) => part.split("\n").find((line) => line.startsWith(`${name}: `));
      const event: { id?: string; data?: string } = {};
      const [id, data] = [field("id")?.slice(4), field("data")?.slice(6)];
      if (id !== undefined) event.id = id;
      if (data !== undefined) event.data = data;
      events.push(event);
      if (isLast(event)) return events;
    }
  }
  return events;
}

describe("a session whose client loses a stream", () => {
  test("gets the answer on the stream that it takes up again, after the event that it saw last", async () => {
    const go = Promise.withResolvers<void>();
    let runs = 0;
    const service = serviceOf(async () => {
      runs++;
      await go.promise;
      return executed({ data: 1 });
    });
    const { url } = await serveHttpHere(service);
    const begun = await post(url, INITIALIZE, OLD);
    await begun.text();
    const session = { ...OLD, "Mcp-Session-Id": begun.headers.get("mcp-session-id") ?? "" };
    const call = {
      ...{ jsonrpc: "2.0", id: 7, method: "tools/call" },
      params: { name: "execute_program", arguments: { code: "1" } },
    };
    const lost = await post(url, call, session);
    const [primed] = await readEvents(lost, ({ id }) => id !== undefined);
    await expect.poll(() => runs).toBe(1);
    go.resolve();
    const again = await fetch(url, {
      headers: { ...session, Accept: "text/event-stream", "Last-Event-ID": primed?.id ?? "" },
    });
    const events = await readEvents(again, ({ data = "" }) => data.includes('"id":7'));
    expect(JSON.parse(events.at(-1)?.data ?? "null")).toMatchObject({
      id: 7,
      result: { content: valued(1) },
    });
    expect(runs).toBe(1);
    const unknown = await fetch(url, {
      headers: { ...session, Accept: "text/event-stream", "Last-Event-ID": "made-up.1" },
    });
    await unknown.body?.cancel();
    expect(unknown.status).toBe(400);
  });
});
