// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test
import { describe, expect, it } from "vitest";
import { describeOffServers } from "../../configuration/configured-servers.ts";
import { parse } from "./parse-text.ts";

const withEnv = (value: string) => `servers:\n  - name: a\n    command: x\n    env:\n      TOKEN: ${value}\n`;
const withHeader = (value: string) =>
  `servers:\n  - name: a\n    url: http://h/\n    headers:\n      Authorization: ${value}\n`;

describe("a value that is read from elsewhere", () => {
  it("is kept apart from those that are written out, with its place", () => {
    const [server] = parse(
      `servers:
  - name: a
    command: x
    env:
      PLAIN: value
      FILE: { file: "secrets/token" }
      HOME_FILE: { file: ~/token, prefix: "p-" }
      COMMAND: { command: [op, read, "op://v/\${VAULT}/x", 7] }
      RING: { keyring: github/token }
`,
      { HOME: "/home/ada", VAULT: "work" },
    ).servers;
    const place = (line: number, name: string) => `ptc.yaml:${line}: servers[0].env.${name}`;
    expect(server).toMatchObject({
      off: undefined,
      env: { PLAIN: "value" },
      secretSources: {
        FILE: { from: "file", path: "/project/secrets/token", prefix: "", place: place(6, "FILE") },
        HOME_FILE: { from: "file", path: "/home/ada/token", prefix: "p-" },
        COMMAND: { from: "command", argv: ["op", "read", "op://v/work/x", "7"], cwd: "/project" },
        RING: { from: "keyring", name: "github/token", place: place(9, "RING") },
      },
    });
  });

  it("may be a header", () => {
    const [server] = parse(withHeader('{ keyring: hub, prefix: "Bearer " }')).servers;
    expect(server).toMatchObject({
      headers: {},
      secretSources: { Authorization: { from: "keyring", name: "hub", prefix: "Bearer " } },
    });
  });

  it("is a variable, which is known at once and secret", () => {
    const configuration = parse(withHeader('{ env: HUB, prefix: "Bearer " }'), { HUB: "hub-token-1" });
    expect(configuration.servers[0]).toMatchObject({
      off: undefined,
      headers: { Authorization: "Bearer hub-token-1" },
      secretSources: {},
    });
    expect(configuration.credentials).toContain("hub-token-1");
  });

  it("turns only its server off when its variable is not set", () => {
    const text = `${withEnv('{ env: HUB, prefix: "p" }')}  - name: b\n    command: y\n`;
    const configuration = parse(text);
    expect(describeOffServers(configuration)).toEqual([
      expect.stringContaining(
        "server 'a' is off: HUB is not set in the environment (ptc.yaml:5: servers[0].env.TOKEN)",
      ),
    ]);
    expect(configuration.servers[0]).toMatchObject({ env: {} });
    expect(parse(withEnv('{ file: "${DIR}/x" }')).servers[0]?.off).toContain("DIR is not set");
    expect(parse(withEnv('{ command: [cat, "${DIR}/x"] }')).servers[0]).toMatchObject({
      off: expect.stringContaining("DIR is not set"),
      secretSources: {},
    });
  });
});

it("may be a number, which is taken as it is written", () => {
  expect(parse(withEnv("7.5e3")).servers[0]).toMatchObject({ env: { TOKEN: "7.5e3" } });
});

describe("variables", () => {
  const environment = { TOKEN: "s3cr3t-value", EMPTY: "", HOME: "/home/someone" };

  it("are expanded in command, args, env, cwd, url and headers", () => {
    const { servers } = parse(
      [
        "servers:",
        "  - {name: a, command: '${TOKEN}/c', args: ['x${TOKEN}', '${UNSET:-fallback}'], env: {A: '${EMPTY:-e}'}, cwd: '${HOME}'}",
        "  - {name: b, url: 'http://h/${TOKEN}', headers: {Authorization: 'Bearer ${TOKEN}'}}",
      ].join("\n"),
      environment,
    );
    expect(servers[0]).toMatchObject({
      command: "s3cr3t-value/c",
      args: ["xs3cr3t-value", "fallback"],
      env: { A: "e" },
      cwd: "/home/someone",
    });
    expect(servers[1]).toMatchObject({
      url: "http://h/s3cr3t-value",
      headers: { Authorization: "Bearer s3cr3t-value" },
    });
  });

  it("are left alone elsewhere, and where the dollar is doubled", () => {
    const { servers } = parse(
      "servers: [{name: a, description: '${X}', command: '$${TOKEN} $5 $'}]",
      environment,
    );
    expect(servers[0]).toMatchObject({ description: "${X}", command: "${TOKEN} $5 $" });
  });

  it("are those of the environment, and nothing that every object has", () => {
    const [server] = parse(
      "servers: [{name: a, command: x, env: {A: '${constructor}', B: {env: toString}}}]",
    ).servers;
    expect(server?.off).toContain("constructor, toString are not set in the environment");
  });

  it("are not expanded again in what they expand to", () => {
    const { servers } = parse("servers: [{name: a, command: '${A}'}]", { A: "${B}", B: "no" });
    expect(servers[0]).toMatchObject({ command: "${B}" });
  });

  it("are credentials, as are headers and what is named like one", () => {
    const text = `
servers:
  - name: a
    command: x
    env: { MODE: "\${MODE}", API_TOKEN: topsecret, REGION: north, HOME_DIR: "\${HOME}/x" }
  - name: b
    url: https://x.example/mcp
    headers: { Authorization: Bearer swordfish }
`;
    const { credentials } = parse(text, { MODE: "squirrel", HOME: "/home/me" });
    expect(credentials).toEqual(["Bearer swordfish", "swordfish", "topsecret", "squirrel"]);
  });

  it("are secrets, as are all values of env and headers, but for what every machine prints", () => {
    const { secrets } = parse(
      [
        "servers:",
        "  - {name: a, command: x, args: ['${TOKEN}', '${HOME}'], env: {KEY: literal-key, NONE: ''}}",
        "  - {name: b, url: 'http://u:url-password@h/', headers: {Authorization: 'Bearer header-token'}}",
      ].join("\n"),
      environment,
    );
    expect([...secrets].sort()).toEqual(
      [
        "Bearer header-token",
        "header-token",
        "literal-key",
        "s3cr3t-value",
        "http://u:url-password@h/",
      ].sort(),
    );
  });
});
