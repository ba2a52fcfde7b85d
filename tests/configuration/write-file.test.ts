import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { parseConfiguration } from "../../configuration/parse.ts";
import { findPlainSecrets, fromKeyring, replaceSecrets } from "../../configuration/plain-secrets.ts";
import { Settings } from "../../configuration/settings/settings.ts";
import { addServer, renderConfiguration } from "../../configuration/write-file.ts";

const ENTRY = {
  name: "new",
  transport: "stdio",
  command: "x",
  args: ["-y", "a: b"],
  env: { A: "1" },
} as const;
const entry = structuredClone(ENTRY) as unknown as Parameters<typeof addServer>[1];

describe("a server that is added", () => {
  it.each([
    [
      "an indented list",
      "servers:\n  - name: a   # one\n    command:   x\n\n# rest\nexecution:   { pids: 64 }  # flow\n",
    ],
    ["a list at the margin", "# top\nservers:\n- name: a\n  command: x\n# end"],
    ["a wide list", "servers:\n    -   name: a\n        command: x # last\nsandbox: { warm: 0 }\n"],
    [
      "a last value of several lines",
      "servers:\n  - name: a\n    command: x\n    description: |\n      one\n      two\ntools: {}\n",
    ],
    ["a list in the middle of a line", "servers:\n  - { name: a, command: x } # short\n"],
    ["a file without servers", "sandbox:\n  warm: 0 # none\n"],
    ["a file of comments", renderConfiguration([])],
    ["an empty file", ""],
  ])("leaves every line of %s as it is", (_, text) => {
    const added = addServer(text, entry);
    const lines = added.split("\n");
    let at = 0;
    for (const line of text.split("\n")) {
      const found = lines.indexOf(line, at);
      expect({ line, found }).not.toEqual({ line, found: -1 });
      at = found + 1;
    }
    const before = (parseYaml(text) ?? {}) as { servers?: object[] };
    expect(parseYaml(added)).toEqual({ ...before, servers: [...(before.servers ?? []), ENTRY] });
  });

  it.each([
    ["a list in brackets", "servers: [{ name: a, command: x }] # mine\n"],
    ["a list that is empty", "# top\nservers: []\n"],
    ["no list at all", "servers: # none yet\nsandbox: { warm: 0 }\n"],
  ])("is also put into %s, with its comments", (_, text) => {
    const added = addServer(text, entry);
    for (const [comment] of text.matchAll(/#.*/g)) expect(added).toContain(comment);
    const before = parseYaml(text) as { servers?: object[] | null };
    expect(parseYaml(added)).toEqual({ ...before, servers: [...(before.servers ?? []), ENTRY] });
  });
});

describe("a secret in plain text", () => {
  const token = `ghp_${"a1B2".repeat(9)}`;
  const server = {
    name: "hub",
    transport: "http",
    url: "http://h/",
    headers: {
      Authorization: "Bearer abcd1234efgh",
      "X-Trace": token,
      Accept: "application/json",
      "X-Key": "$" + "{KEY}",
    },
  } as const;

  it("is found by its form, and by the name of its place", () => {
    const found = findPlainSecrets(server as never);
    expect(found.map(({ key, prefix, secret }) => [key, prefix, secret])).toEqual([
      ["Authorization", "Bearer ", "abcd1234efgh"],
      ["X-Trace", "", token],
    ]);
    expect(replaceSecrets(server as never, found, fromKeyring).headers).toEqual({
      Authorization: { keyring: "hub/Authorization", prefix: "Bearer " },
      "X-Trace": { keyring: "hub/X-Trace" },
      Accept: "application/json",
      "X-Key": "$" + "{KEY}",
    });
  });

  it.each([
    "true",
    "5432",
    "production",
    "https://login.example.com/token",
    "/run/secrets/token",
    "./key.pem",
  ])("is not %s, whatever the name of its place", (value) => {
    expect(findPlainSecrets({ name: "a", command: "x", env: { AUTH_TOKEN: value } })).toEqual([]);
  });
});

describe("a new ptc.yaml", () => {
  it("is one that ptc reads, with the servers as they were", () => {
    const servers = [
      { name: "a.b", command: "x: # '\"", args: ["\n", "- no", "${HOME}"], env: { A: "yes" } },
    ];
    const environment = { HOME: "/home/me" };
    const parse = (text: string) =>
      parseConfiguration(text, { file: "ptc.yaml", directory: "/home/me/project", environment });
    expect(parse(renderConfiguration(servers)).servers).toMatchObject([
      { name: "a.b", command: "x: # '\"", args: ["\n", "- no", "/home/me"], env: { A: "yes" } },
    ]);
    expect(parse(renderConfiguration([])).servers).toEqual([]);
  });

  it("shows every key there is, and says what its default is", () => {
    const whole = renderConfiguration([]);
    const keys = [...Object.keys(Settings.parse({})), "extract", "sessions"];
    expect(keys.filter((key) => !whole.includes(`\n# ${key}:`))).toEqual([]);
    const text = whole.replaceAll(/^# ?(?=[a-z]+:$| {2})/gm, "").replace("files: [rules.cedar]", "files: []");
    const environment = { GITHUB_TOKEN: "x", TOKEN: "y" };
    const written = parseConfiguration(text, { file: "ptc.yaml", directory: "/p", environment });
    const defaults = parseConfiguration("", { file: "ptc.yaml", directory: "/p", environment });
    const { execution, sandbox, archive } = defaults;
    expect(written).toMatchObject({ execution, sandbox, archive });
    expect(written.servers.map(({ name }) => name)).toEqual(["github", "internal-apis", "local", "ptc"]);
    expect(written).toMatchObject({ sessions: { max: 4, idleMs: 600_000 } });
  });
});
