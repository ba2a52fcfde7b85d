import { describe, expect, test } from "vitest";
import {
  AddressGuard,
  buildGuardedFetch,
  type Zone,
  zoneOf,
} from "../../../upstream/authorization/guarded-fetch.ts";
import { discover } from "../../../upstream/authorization/oauth/authorization-server.ts";
import { listen } from "../mcp/upstream-http-servers.ts";
import { serveGuarded } from "./logged-in.ts";
import { serveOidc } from "./servers/oidc-server.ts";

describe("metadata leads to no address that only this machine reaches", () => {
  test.for([
    ["public", "8.8.8.8 2606:4700::1111 64:ff9b::808:808"],
    ["loopback", "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1 ::ffff:7f00:1 64:ff9b::7f00:1"],
    ["private", "10.0.0.1 172.16.0.1 192.168.1.1 100.64.0.1 fd00::1"],
    [
      "forbidden",
      "169.254.169.254 fe80::1 fe80::1%eth0 0.0.0.0 :: 224.0.0.1 255.255.255.255 2002:7f00:1:: nothing",
    ],
  ])("%s: %s", ([zone = "", addresses = ""]) => {
    for (const address of addresses.split(" ")) expect(zoneOf(address), address).toBe(zone);
  });

  const public_ = () => new AddressGuard("https://mcp.example/mcp", "public");

  test("where the server is elsewhere: neither by address nor by name", async () => {
    let requests = 0;
    const origin = await listen((_, response) => {
      requests++;
      response.end("{}");
    });
    const { port } = new URL(origin);
    const fetch = buildGuardedFetch({ guard: public_() });
    await expect(fetch(origin)).rejects.toThrow(
      /is this machine \(127\.0\.0\.1\), where the metadata of a server elsewhere may not lead/,
    );
    for (const host of ["localhost", "[::ffff:127.0.0.1]", "2130706433"])
      await expect(fetch(`http://${host}:${port}`), host).rejects.toThrow(/is this machine/);
    await expect(fetch("http://169.254.169.254/latest/meta-data/")).rejects.toThrow(/is no public host/);
    await expect(fetch("http://10.0.0.1/")).rejects.toThrow(/is a private network/);
    expect(requests).toBe(0);
  });

  test("also where an authorization server is named as if it were public", async () => {
    const oidc = await serveOidc();
    const { url } = (await serveGuarded(oidc)).server;
    const fetch = buildGuardedFetch({ guard: new AddressGuard(url, "public") });
    const found = { serverUrl: url, resourceMetadataUrl: undefined, issuer: undefined, fetch };
    await expect(discover(found)).rejects.toThrow(
      /names the authorization server .*, whose metadata cannot be used: .* is this machine/,
    );
    expect(oidc.requests).toEqual([]);
  });

  test("and a server with a name is where it was reached, and never less public than that", () => {
    const guard = new AddressGuard("https://mcp.corp.example/mcp");
    const own = new URL("https://mcp.corp.example/x");
    const other = new URL("https://auth.corp.example/");
    expect(guard.allows(own, "10.0.0.1")).toBe(true);
    expect(guard.allows(other, "10.0.0.2")).toBe(false);
    guard.reached(own, "10.0.0.1");
    expect(guard.allows(other, "10.0.0.2")).toBe(true);
    expect(guard.allows(other, "127.0.0.1")).toBe(false);
    guard.reached(own, "93.184.216.34");
    guard.reached(own, "10.0.0.1");
    expect(guard.allows(other, "10.0.0.2")).toBe(false);
  });

  test.for<[url: string, zone: Zone | undefined]>([
    ["https://mcp.example/mcp", undefined],
    ["https://notlocalhost/", undefined],
    ["https://localhost.example/", undefined],
    ["http://localhost:8080/", "loopback"],
    ["http://a.localhost/", "loopback"],
    ["http://127.0.0.1:1/", "loopback"],
    ["http://[::1]:1/", "loopback"],
    ["http://[fd00::1]/", "private"],
    ["http://10.0.0.1/", "private"],
    ["http://8.8.8.8/", "public"],
    ["http://169.254.169.254/", "forbidden"],
  ])("a server at %s is %s before it is reached", ([url, zone]) => {
    expect(new AddressGuard(url).zone).toBe(zone);
    expect(new AddressGuard(url, "public").zone).toBe("public");
  });

  test("where a server is decides what it leads to", () => {
    const leads = (server: string, address: string) =>
      new AddressGuard(server).allows(new URL("http://other.example/"), address);
    const table = ["http://127.0.0.1/", "http://10.0.0.1/", "http://8.8.8.8/", "http://mcp.example/"].map(
      (server) =>
        ["127.0.0.2", "10.0.0.2", "8.8.4.4", "169.254.169.254"].map((address) => leads(server, address)),
    );
    expect(table).toEqual([
      [true, true, true, false],
      [false, true, true, false],
      [false, false, true, false],
      [false, false, true, false],
    ]);
    // Another port is another server, and where that was reached says nothing of this one.
    const guard = new AddressGuard("http://mcp.example/");
    guard.reached(new URL("http://mcp.example:81/"), "10.0.0.1");
    expect(guard.zone).toBeUndefined();
    expect(guard.allows(new URL("http://mcp.example:81/"), "10.0.0.1")).toBe(false);
  });

  test("nor is a URL opened with a user in it, or that is not HTTP", async () => {
    const fetch = buildGuardedFetch({ guard: public_() });
    await expect(fetch("https://user:password@example.com/")).rejects.toThrow(/named with a user/);
    await expect(fetch("https://:password@example.com/")).rejects.toThrow(/named with a user/);
    await expect(fetch("file:///etc/passwd")).rejects.toThrow(/not reached over HTTP/);
  });
});

describe("what is fetched from where a request may go", () => {
  const local = (origin: string, more = {}) =>
    buildGuardedFetch({ guard: new AddressGuard(origin), ...more });
  const KIB_512 = 512 * 1024;

  test.for([200, 204, 205, 304, 302, 404, 599])("is the answer as it is: %i", async (status) => {
    const origin = await listen((_, response) => {
      response.writeHead(status, [
        ...["location", "/elsewhere", "set-cookie", "a=1", "set-cookie", "b=2"],
        ...["content-type", "text/plain"],
      ]);
      response.end("said");
    });
    const answer = await local(origin)(origin);
    expect(answer.status).toBe(status);
    expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(answer.headers.get("content-type")).toBe("text/plain");
    expect(await answer.text()).toBe([204, 205, 304].includes(status) ? "" : "said");
  });

  test("is asked for as it was, by ptc, on a connection of its own", async () => {
    const asked: unknown[] = [];
    const origin = await listen(async (request, response) => {
      const { "user-agent": agent, connection, "content-length": length, "x-a": own } = request.headers;
      let body = "";
      for await (const chunk of request) body += chunk;
      asked.push([request.method, agent, connection, length, own, body]);
      response.end("{}");
    });
    const fetch = local(origin);
    await fetch(origin);
    await fetch(origin, { method: "POST", body: "é=1", headers: { "x-a": "1", "user-agent": "other" } });
    await fetch(origin, { method: "POST", body: null });
    expect(asked).toEqual([
      ["GET", "ptc", "close", undefined, undefined, ""],
      ["POST", "ptc", "close", "4", "1", "é=1"],
      ["POST", "ptc", "close", expect.anything(), undefined, ""],
    ]);
  });

  test("is no more than 512 KiB, whatever the answer says of its length", async () => {
    let sent = 0;
    const origin = await listen((request, response) => {
      sent++;
      const size = KIB_512 + Number(request.url?.slice(1));
      if (sent > 2) response.writeHead(200, { "content-length": size });
      else response.flushHeaders();
      response.end(Buffer.alloc(size));
    });
    const fetch = local(origin);
    for (let i = 0; i < 2; i++) {
      expect((await (await fetch(`${origin}/0`)).arrayBuffer()).byteLength).toBe(KIB_512);
      await expect(fetch(`${origin}/1`)).rejects.toThrow(
        /^127\.0\.0\.1:\d+ answered with more than 512 KiB$/,
      );
    }
  });

  test("is nothing where the answer is none", async () => {
    const origin = await listen((request, response) => {
      if (request.url === "/odd") response.writeHead(600).end();
      else if (request.url === "/torn") {
        response.writeHead(200, { "content-length": 10 });
        response.write("half", () => response.destroy());
      }
    });
    await expect(local(origin)(`${origin}/odd`)).rejects.toThrow(/ answered HTTP 600$/);
    await expect(local(origin)(`${origin}/torn`)).rejects.toThrow(TypeError);
    await expect(local(origin, { patienceMs: 50 })(`${origin}/silent`)).rejects.toThrow(
      / did not answer within 0\.05 s$/,
    );
    const withdrawn = local(origin, { signal: AbortSignal.abort() });
    await expect(withdrawn(`${origin}/silent`)).rejects.toThrow(/ cannot be reached: /);
    await expect(local(origin)(`${origin}/silent`, { signal: AbortSignal.abort() })).rejects.toThrow(
      / cannot be reached: /,
    );
  });

  test("is nothing where nobody listens, which is said", async () => {
    await expect(local("http://127.0.0.1:1/")("http://127.0.0.1:1/")).rejects.toThrow(
      /^127\.0\.0\.1:1 cannot be reached: ECONNREFUSED$/,
    );
  });
});
