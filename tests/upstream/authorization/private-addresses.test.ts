import { describe, expect, test } from "vitest";
import { AddressGuard, buildGuardedFetch, zoneOf } from "../../../upstream/authorization/guarded-fetch.ts";
import { discover } from "../../../upstream/authorization/oauth/authorization-server.ts";
import { listen } from "../mcp/upstream-http-servers.ts";
import { serveOidc } from "./servers/oidc-server.ts";
import { serveProtected } from "./servers/protected-server.ts";

describe("metadata leads to no address that only this machine reaches", () => {
  test.for([
    ["8.8.8.8", "public"],
    ["2606:4700::1111", "public"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["::1", "loopback"],
    ["::ffff:127.0.0.1", "loopback"],
    ["::ffff:7f00:1", "loopback"],
    ["64:ff9b::7f00:1", "loopback"],
    ["64:ff9b::808:808", "public"],
    ["10.0.0.1", "private"],
    ["172.16.0.1", "private"],
    ["192.168.1.1", "private"],
    ["100.64.0.1", "private"],
    ["fd00::1", "private"],
    ["169.254.169.254", "forbidden"],
    ["fe80::1", "forbidden"],
    ["fe80::1%eth0", "forbidden"],
    ["0.0.0.0", "forbidden"],
    ["::", "forbidden"],
    ["224.0.0.1", "forbidden"],
    ["255.255.255.255", "forbidden"],
    ["2002:7f00:1::", "forbidden"],
    ["nothing", "forbidden"],
  ])("%s is %s", ([address = "", zone]) => {
    expect(zoneOf(address)).toBe(zone);
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
    await expect(fetch(`http://localhost:${port}`)).rejects.toThrow(/is this machine/);
    await expect(fetch(`http://[::ffff:127.0.0.1]:${port}`)).rejects.toThrow(/is this machine/);
    await expect(fetch(`http://2130706433:${port}`)).rejects.toThrow(/is this machine/);
    await expect(fetch("http://169.254.169.254/latest/meta-data/")).rejects.toThrow(/is no public host/);
    await expect(fetch("http://10.0.0.1/")).rejects.toThrow(/is a private network/);
    expect(requests).toBe(0);
  });

  test("also where an authorization server is named as if it were public", async () => {
    const oidc = await serveOidc();
    const server = await serveProtected({
      authorizationServers: [oidc.issuer],
      verifier: oidc,
      scopes: ["read"],
    });
    const fetch = buildGuardedFetch({ guard: new AddressGuard(server.url, "public") });
    const found = discover({
      serverUrl: server.url,
      resourceMetadataUrl: undefined,
      issuer: undefined,
      fetch,
    });
    await expect(found).rejects.toThrow(
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

  test("nor is a URL opened with a user in it, or that is not HTTP", async () => {
    const fetch = buildGuardedFetch({ guard: public_() });
    await expect(fetch("https://user:password@example.com/")).rejects.toThrow(/named with a user/);
    await expect(fetch("file:///etc/passwd")).rejects.toThrow(/not reached over HTTP/);
  });
});
