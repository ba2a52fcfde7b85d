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
      callback_port: 3118,
    };
    const environment = { S: "a secret of the client" };
    expect(authOf({ auth }, environment)).toMatchObject({
      clientSecret: "a secret of the client",
      scope: "x y",
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
    expect(() => parse({ auth: auth({ fiel: "s" }) })).toThrow(
      /auth\.client_secret\.fiel: is not a known key/,
    );
    expect(() => parse({ auth: auth({ keyring: "a b" }) })).toThrow(
      /client_secret\.keyring: must be a name of/,
    );
  });

  it.each<[object, RegExp]>([
    [{ auth: "oath" }, /servers\[0\]\.auth\.type: must be one of oauth, client_credentials, none/],
    [
      { auth: { type: "oauth", client_secert: "x" } },
      /auth\.client_secert: is not a known key; did you mean 'client_secret'\?/,
    ],
    [{ auth: { type: "oauth", client_secret: "x" } }, /auth\.client_secret: needs a `client_id` beside it/],
    ...["oauth", "client_credentials"].flatMap((type): [object, RegExp][] =>
      ["x", { file: "s" }, { keyring: "hub/secret" }, { command: ["op"] }, { env: "HOME" }].map(
        (client_secret) => [
          { auth: { type, client_id: "a", client_secret } },
          /auth\.client_secret: needs an `issuer` beside it; name the authorization server that gave it out/,
        ],
      ),
    ),
    [{ auth: { type: "oauth", private_key: "x" } }, /auth\.private_key: does not go with type oauth/],
    [{ auth: { type: "none", client_id: "x" } }, /auth\.client_id: does not go with type none/],
    [{ auth: { type: "client_credentials", client_secret: "x" } }, /auth\.type: needs a `client_id`/],
    [
      { auth: { type: "client_credentials", client_id: "x" } },
      /auth\.type: needs either a `client_secret` or a `private_key`/,
    ],
    [{ auth: { type: "oauth", issuer: "hub" } }, /auth\.issuer: is not a URL/],
    [
      { auth: { type: "oauth", client_metadata_url: "http://a.example/x" } },
      /auth\.client_metadata_url: is not the https URL/,
    ],
    [
      { auth: { type: "oauth", callback_port: 0 } },
      /auth\.callback_port: must be a whole number from 1 to 65535/,
    ],
    [{ auth: "oauth", headers: { Authorization: "x" } }, /auth: cannot stand beside an Authorization header/],
    [{ auth: "oauth", url: undefined, command: "node" }, /auth: does not go with transport stdio/],
  ])("is refused in one line: %j", (server, why) => {
    expect(() => parse(server)).toThrow(why);
  });
});
