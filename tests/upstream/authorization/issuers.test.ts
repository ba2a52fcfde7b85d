import { expect, it } from "vitest";
import { AddressGuard, buildGuardedFetch } from "../../../upstream/authorization/guarded-fetch.ts";
import { discover } from "../../../upstream/authorization/oauth/authorization-server.ts";
import { listen } from "../mcp/upstream-http-servers.ts";

/** Discovers the authorization server that a server names, where that one's metadata names an issuer. Both are paths. */
async function discovered(named: string, issuer: string): Promise<string | undefined> {
  const origin: string = await listen(({ url = "" }, response) => {
    const isServer = url.startsWith("/.well-known/oauth-protected-resource");
    const isMetadata = !isServer && url.startsWith("/.well-known/oauth-authorization-server");
    if (!isServer && !isMetadata) return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": "application/json" });
    const metadata = {
      issuer: `${origin}${issuer}`,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      response_types_supported: ["code"],
    };
    const resource = { resource: `${origin}/mcp`, authorization_servers: [`${origin}${named}`] };
    response.end(JSON.stringify(isServer ? resource : metadata));
  });
  const fetch = buildGuardedFetch({ guard: new AddressGuard(origin) });
  const serverUrl = `${origin}/mcp`;
  const found = await discover({ serverUrl, resourceMetadataUrl: undefined, issuer: undefined, fetch });
  return found?.issuer.slice(origin.length);
}

it.each([
  ["", ""],
  ["", "/"],
  ["/", ""],
  ["/tenant", "/tenant"],
  ["/tenant", "/tenant/"],
  ["/tenant/", "/tenant"],
  ["/tenant/", "/tenant/"],
])(
  "an issuer %j is that of metadata that name %j, since both have one metadata document",
  async (named, issuer) => {
    expect(await discovered(named, issuer)).toBe(issuer);
  },
);

it.each([
  ["/tenant", "/other"],
  ["/tenant", "/Tenant"],
  ["/tenant", "/tenant//"],
  ["/tenant", ""],
  ["", "/tenant"],
  ["/tenant?a", "/tenant?a/"],
])("an issuer %j is not that of metadata that name %j, and the message has both", async (named, issuer) => {
  const places = `${named.replace("?", "\\?")}, whose .*: it names another issuer, "http:\\S+:\\d+${issuer.replace("?", "\\?")}"$`;
  await expect(discovered(named, issuer)).rejects.toThrow(new RegExp(places));
});
