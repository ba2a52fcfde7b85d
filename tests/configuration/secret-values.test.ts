import { describe, expect, it } from "vitest";
import { describeOffServers } from "../../configuration/configured-servers.ts";
import { parse, problemIn } from "./parse-text.ts";

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

const AT = "ptc.yaml:5: servers[0].env.TOKEN";

it.each([
  ["7.5e3", undefined],
  ["[a]", `${AT}: must be a text in quotes, or a mapping with env, file, command or keyring`],
  ["{}", `${AT}: must have exactly one of env, file, command and keyring`],
  ["{ file: a, env: B }", `${AT}: must have exactly one of env, file, command and keyring`],
  ["{ prefix: x }", `${AT}: must have exactly one of env, file, command and keyring`],
  ["{ fiel: a }", `${AT}.fiel: is not a known key; write env, file, command or keyring, and prefix`],
  ["{ env: 'A B' }", `${AT}.env: must be the name of an environment variable`],
  ["{ file: '' }", `${AT}.file: must be the path of a file`],
  ["{ command: op read x }", `${AT}.command: must be a list of a program and its arguments`],
  ["{ command: [] }", `${AT}.command: must be a list of a program and its arguments`],
  ["{ command: ['', x] }", `${AT}.command[0]: must be a text`],
  ["{ command: [op, [x]] }", `${AT}.command[1]: must be a text`],
  ["{ keyring: 'a b' }", `${AT}.keyring: must be a name of 1 to 128 letters`],
  ["{ keyring: a, prefix: [1] }", `${AT}.prefix: must be a text in quotes`],
])("%s is refused with its place", (value, message) => {
  if (message === undefined)
    expect(parse(withEnv(value)).servers[0]).toMatchObject({ env: { TOKEN: "7.5e3" } });
  else expect(problemIn(withEnv(value))).toContain(message);
});

it("refuses a prefix that no header may hold", () => {
  expect(problemIn(withHeader('{ keyring: a, prefix: "\\n" }'))).toContain(
    "headers.Authorization.prefix: must be",
  );
});
