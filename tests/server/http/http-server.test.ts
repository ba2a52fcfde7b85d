import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { connectSessions, connectStateless } from "../../clients/http-clients.ts";
import { CANCELLED, executed, serviceOf, valued } from "../mcp/served.ts";
import { answerOf, modern, post, serveHttpHere } from "./served-http.ts";

const one = () => serviceOf(async () => executed({ data: 1 }));
const LIST = modern("tools/list");

/** Asks with headers that `fetch` does not let anybody set. */
async function ask(url: URL, headers: Record<string, string>): Promise<number> {
  const { hostname, port, pathname } = url;
  const asked = request({ hostname, port, path: pathname, method: "POST", headers });
  asked.end("{}");
  const [response] = await once(asked, "response");
  response.resume();
  return response.statusCode;
}

describe("an HTTP server without logins", () => {
  test.for([
    ["2025-11-25", connectSessions],
    ["2026-07-28", connectStateless],
  ] as const)("answers a client of %s", async ([era, connectClient]) => {
    const { url } = await serveHttpHere(one());
    const client = await connectClient(url);
    expect(client.protocolVersion).toBe(era);
    expect(client.instructions).toContain("execute_program");
    expect(await client.call("execute_program", { code: "1" })).toMatchObject({ content: valued(1) });
  });

  test("is not reached by the name of another host, as a page that rebinds its name would", async () => {
    const { url } = await serveHttpHere(one());
    expect(await ask(url, { Host: "evil.example" })).toBe(403);
    expect(await ask(url, { Host: "evil.example:80" })).toBe(403);
    expect(await ask(url, { Host: `localhost:${url.port}` })).not.toBe(403);
  });

  test.for(["https://evil.example", "null", "not an origin"])(
    "is not reached from a page of %s",
    async (origin) => {
      const { url } = await serveHttpHere(one());
      expect((await post(url, LIST, { Origin: origin })).status).toBe(403);
      expect((await post(url, LIST, { Origin: "http://localhost:3000" })).status).toBe(200);
    },
  );

  test.for([
    ["a body of another type", { "Content-Type": "text/plain" }, 415],
    ["no stream accepted", { Accept: "text/html" }, 406],
    ["a revision that there is not", { "MCP-Protocol-Version": "1999-01-01" }, 400],
    ["a method in its headers that is not its body's", { "Mcp-Method": "tools/call" }, 400],
  ] as const)("refuses a request with %s", async ([, headers, status]) => {
    const { url } = await serveHttpHere(one());
    expect((await post(url, LIST, headers)).status).toBe(status);
  });

  test("reads no body that is too large", async () => {
    const { url } = await serveHttpHere(one());
    const large = modern("tools/call", {
      name: "execute_program",
      arguments: { code: "x".repeat(9_000_000) },
    });
    expect((await post(url, large)).status).toBe(413);
  });

  test("parses no message with an object of more members than are for one turn of the loop", async () => {
    const { url } = await serveHttpHere(one());
    const data = Object.fromEntries(Array.from({ length: 50_001 }, (_, i) => [`name ${i}`, 1]));
    const response = await post(url, modern("tools/call", { name: "execute_program", arguments: { data } }));
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("the message has an object with more than 50000 members");
  });

  test("reads no headers that are too large", async () => {
    const { url } = await serveHttpHere(one());
    expect(await ask(url, { "X-Large": "x".repeat(20_000) })).toBe(431);
  });

  test("answers what is no HTTP, and goes on", async () => {
    const { url } = await serveHttpHere(one());
    const socket = connect(Number(url.port), url.hostname);
    socket.end("\x16\x03\x01 hello\r\n\r\n");
    const [answer] = await once(socket.setEncoding("utf8"), "data");
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect((await post(url, LIST)).status).toBe(200);
  });

  test("has nothing at other paths, and says where MCP is", async () => {
    const { url } = await serveHttpHere(one());
    const response = await fetch(new URL("/other", url));
    expect([response.status, await response.text()]).toEqual([404, expect.stringContaining("/mcp")]);
  });

  test("cancels the program of a client that has gone", async () => {
    const cancelled = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const service = serviceOf(async (_, { signal }) => {
      begun.resolve();
      await once(signal, "abort");
      cancelled.resolve();
      return CANCELLED;
    });
    const { url } = await serveHttpHere(service);
    const call = modern("tools/call", { name: "execute_program", arguments: { code: "1" } });
    const abort = new AbortController();
    const response = fetch(url, {
      method: "POST",
      signal: abort.signal,
      headers: {
        ...{ "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
        ...{
          "MCP-Protocol-Version": "2026-07-28",
          "Mcp-Method": "tools/call",
          "Mcp-Name": "execute_program",
        },
      },
      body: JSON.stringify(call),
    }).then((came) => came.text());
    response.catch(() => {});
    await begun.promise;
    abort.abort();
    await cancelled.promise;
  });

  test("says that it is alive and ready, whatever the name that it is asked by", async () => {
    let why: string | undefined;
    const { url } = await serveHttpHere(one(), { whyNotReady: async () => why });
    const statusAt = async (path: string) => (await fetch(new URL(path, url))).status;
    expect([await statusAt("/healthz"), await statusAt("/readyz")]).toEqual([200, 200]);
    why = "the storage is not reached";
    expect([await statusAt("/healthz"), await statusAt("/readyz")]).toEqual([200, 503]);
  });
});

describe("an HTTP server that is about to end", () => {
  test("takes nothing new, lets what runs end, and is gone then", async () => {
    const go = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const service = serviceOf(async () => {
      begun.resolve();
      await go.promise;
      return executed({ data: 1 });
    });
    const { url, server } = await serveHttpHere(service);
    const call = modern("tools/call", { name: "execute_program", arguments: { code: "1" } });
    const running = post(url, call).then(answerOf);
    await begun.promise;
    const drained = server.drain(60_000);
    expect((await fetch(new URL("/readyz", url))).status).toBe(503);
    const refused = await post(url, call);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "2"]);
    go.resolve();
    expect(await running).toMatchObject({ result: { content: valued(1) } });
    await drained;
    await expect(fetch(url)).rejects.toThrow();
  });

  test("cancels what does not end in time", async () => {
    const begun = Promise.withResolvers<void>();
    const service = serviceOf(async (_, { signal }) => {
      begun.resolve();
      await once(signal, "abort");
      return CANCELLED;
    });
    const { url, server } = await serveHttpHere(service);
    const call = modern("tools/call", { name: "execute_program", arguments: { code: "1" } });
    const running = post(url, call).then(answerOf);
    await begun.promise;
    await server.drain(10);
    expect(await running).toMatchObject({ result: { isError: true } });
  });
});
