import { describe, expect, test } from "vitest";
import { AddressGuard, buildGuardedFetch, zoneOf } from "../../../upstream/authorization/guarded-fetch.ts";
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

  test("nor is a URL opened with a user in it, or that is not HTTP", async () => {
    const fetch = buildGuardedFetch({ guard: public_() });
    await expect(fetch("https://user:password@example.com/")).rejects.toThrow(/named with a user/);
    await expect(fetch("file:///etc/passwd")).rejects.toThrow(/not reached over HTTP/);
  });
});
