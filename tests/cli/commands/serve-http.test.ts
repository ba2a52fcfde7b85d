import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { expectRefusal, userProject } from "../in-process.ts";

const ISSUER = "https://login.example.com";
const TEAM = { public_url: "https://ptc.example.com/mcp", auth: { issuers: [{ issuer: ISSUER }] } };

const projectOf = (http: object) => userProject({ "ptc.yaml": JSON.stringify({ http }) });

const BEYOND: [string, object, string][] = [
  ["without logins", {}, "http.auth"],
  ["without the URL that clients are given", { auth: { tokens: true } }, "http.public_url"],
  ["in plain text with nothing in front", TEAM, "http.tls"],
];

describe("ptc serve --http", () => {
  test.for(BEYOND)("is refused in one line beyond this machine: %s", async ([, http, key]) => {
    const { ptc } = projectOf(http);
    expectRefusal(await ptc("serve", "--http", "0.0.0.0:0"), key);
  });

  test.for(["8080", "host:99999", "a b:1", "http://127.0.0.1:1"])(
    "is refused at what is no address: %s",
    async (address) => {
      expectRefusal(await projectOf({}).ptc("serve", "--http", address), "HOST:PORT");
    },
  );

  test.for<[string, object, string]>([
    ["a misspelt key", { auth: { issuer: [] } }, "did you mean 'issuers'"],
    [
      "an issuer without TLS",
      { auth: { issuers: [{ issuer: "http://login.example.com" }] } },
      "must be an https URL",
    ],
    [
      "an algorithm that anybody can sign by",
      { ...TEAM, auth: { issuers: [{ issuer: ISSUER, algorithms: ["HS256"] }] } },
      "must be one of",
    ],
    [
      "an issuer twice",
      { ...TEAM, auth: { issuers: [{ issuer: ISSUER }, { issuer: ISSUER }] } },
      "stands twice",
    ],
    ["no audience at all", { auth: { issuers: [{ issuer: ISSUER }] } }, "needs `audience`"],
    ["nobody let in", { auth: { tokens: false } }, "lets nobody in"],
    ["a network that is none", { trusted_proxies: ["10.0.0.0/99"] }, "is no network"],
  ])("is refused with settings that cannot be meant: %s", async ([, http, message]) => {
    expectRefusal(await projectOf(http).ptc("serve", "--http"), message);
  });
});

test("the example for a team is a configuration", () => {
  const folder = join(import.meta.dirname, "../../../examples/team");
  const environment = {
    PTC_CLIENT_SECRET: "c",
    PTC_DATABASE_PASSWORD: "p",
    PTC_ENCRYPTION_KEY: Buffer.alloc(32).toString("base64"),
  };
  const text = readFileSync(join(folder, "ptc.yaml"), "utf8");
  const { http } = parseConfiguration(text, { file: "ptc.yaml", directory: folder, environment });
  expect(http.auth?.issuers).toMatchObject([{ issuer: "http://localhost:8081/realms/team" }]);
});

describe("ptc token", () => {
  test("prints a token once, lists what is known of it, and revokes it", async () => {
    const { ptc } = projectOf({ auth: { tokens: true } });
    const made = await ptc("token", "create", "nightly", "--group", "ci", "--expires", "12h");
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ptc_[\w-]{43}\n$/) });
    const { stdout } = await ptc("token", "list", "--json");
    expect(JSON.parse(stdout)).toMatchObject([
      {
        name: "nightly",
        principal: "token#nightly",
        groups: ["ci"],
        scopes: ["ptc:run"],
        has_expired: false,
      },
    ]);
    expect(stdout).not.toContain(made.stdout.trim());
    expect(await ptc("token", "revoke", "nightly")).toMatchObject({ code: 0 });
    expectRefusal(await ptc("token", "revoke", "nightly"), "there is no token 'nightly'");
  });

  test.for([
    [["create", "a b"], "a name is"],
    [["create", "a", "--expires", "0d"], "--expires"],
    [["create", "a", "--expires", "soon"], "--expires"],
    [["create", "a", "--scope", "ptc:all"], "--scope"],
    [["create", "a", "--group", " "], "--group"],
  ] as const)("refuses %s in one line", async ([args, message]) => {
    expectRefusal(await projectOf({}).ptc("token", ...args), message);
  });
});
