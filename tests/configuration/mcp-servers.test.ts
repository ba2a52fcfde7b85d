import { describe, expect, it } from "vitest";
import { parseConfiguration } from "../../configuration/parse.ts";

function parse(server: object, environment = {}) {
  const servers = [{ name: "hub", url: "https://hub.example/mcp", ...server }];
  return parseConfiguration(JSON.stringify({ servers }, undefined, 1), {
    file: "ptc.yaml",
    directory: "/",
    environment,
  });
}

const authOf = (server: object, environment = {}) => {
  const [built] = parse(server, environment).servers;
  return built !== undefined && "auth" in built ? built.auth : undefined;
};

describe("the auth of a server", () => {
  it("is a login where nothing is said, and none where there are credentials already", () => {
    expect(authOf({})).toMatchObject({ type: "oauth", isDefault: true });
    expect(authOf({ headers: { authorization: "Bearer x" } })).toBeUndefined();
    expect(authOf({ url: "https://user@hub.example/mcp" })).toBeUndefined();
    expect(authOf({ auth: "none" })).toBeUndefined();
    expect(authOf({ auth: "oauth" })).toMatchObject({ type: "oauth", isDefault: false });
  });

  it("takes its secrets from variables, which are redacted", () => {
    const auth = {
      type: "oauth",
      client_id: "a",
      client_secret: { env: "S" },
      issuer: "https://auth.example",
      scopes: ["x", "y"],
      callback_host: "localhost",
      callback_port: 3118,
      token_endpoint_auth_method: "client_secret_post",
    };
    const environment = { S: "a secret of the client" };
    expect(authOf({ auth }, environment)).toMatchObject({
      clientSecret: "a secret of the client",
      scope: "x y",
      authMethod: "client_secret_post",
      callbackHost: "localhost",
      callbackPort: 3118,
    });
    expect(parse({ auth }, environment).credentials).toContain("a secret of the client");
    expect(parse({ auth }).servers[0]?.off).toMatch(/^S is not set/);
  });

  it("takes its secrets from all that values of env and headers are read from, and reads none by itself", () => {
    const auth = (client_secret: object) => ({
      type: "oauth",
      client_id: "a",
      issuer: "https://auth.example",
      client_secret,
    });
    const place = "ptc.yaml:10: servers[0].auth.client_secret";
    expect(authOf({ auth: auth({ file: "s" }) })).toMatchObject({
      clientSecret: { place, prefix: "", from: "file", path: "/s" },
    });
    expect(authOf({ auth: auth({ command: ["op", "read"] }) })).toMatchObject({
      clientSecret: { from: "command", argv: ["op", "read"], cwd: "/" },
    });
    const { servers, secrets } = parse({
      auth: { type: "client_credentials", client_id: "a", private_key: { keyring: "hub/key" } },
    });
    expect(servers[0]).toMatchObject({ auth: { privateKey: { from: "keyring", name: "hub/key" } } });
    expect(secrets).toEqual([]);
  });
});
