import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { findDifference, identify, isReplaceable } from "../../../cli/background/host-identity.ts";
import { parseConfiguration } from "../../../configuration/parse.ts";

const BUILD = { build: "a", fileDigest: "b" };

function identityOf(text: string, env: Record<string, string>, build = BUILD, file = "ptc.yaml") {
  return identify(build, parseConfiguration(text, { file, directory: "/project", environment: env }), env);
}

// A YAML escape hides the variable from whoever only reads the text.
const SERVER = 'servers: [{name: a, command: x, env: {K: "\\x24{HIDDEN}"}}]';

it.each([
  ["a variable of the configuration", { HIDDEN: "1" }, { HIDDEN: "2" }],
  ["a variable of the configuration that is not set", { HIDDEN: "1" }, {}],
  ["the path of programs", { HIDDEN: "1", PATH: "/bin" }, { HIDDEN: "1", PATH: "/opt" }],
  ["a proxy", { HIDDEN: "1" }, { HIDDEN: "1", https_proxy: "http://proxy:1" }],
  ["where packages come from", { HIDDEN: "1" }, { HIDDEN: "1", UV_INDEX_URL: "http://index" }],
  ["the engine", { HIDDEN: "1" }, { HIDDEN: "1", DOCKER_HOST: "unix:///x" }],
])("differs by %s", (_, host, caller) => {
  expect(findDifference(identityOf(SERVER, host), identityOf(SERVER, caller))).toBe("another environment");
  expect(findDifference(identityOf(SERVER, host), identityOf(SERVER, host))).toBeUndefined();
});

it("differs by what the files of rules say, as by the configuration that names them", () => {
  const directory = mkdtempSync(join(tmpdir(), "ptc-identity-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const identified = (rules: string) => {
    writeFileSync(join(directory, "rules.cedar"), rules);
    const options = { file: "ptc.yaml", directory, environment: {} };
    return identify(BUILD, parseConfiguration("policy: [rules.cedar]", options), {});
  };
  const host = identified("permit(principal, action, resource);");
  expect(findDifference(host, identified("forbid(principal, action, resource);"))).toBe(
    "another configuration",
  );
  expect(findDifference(host, identified("permit(principal, action, resource);"))).toBeUndefined();
});

it("does not differ by the terminal, nor by how the configuration was named", () => {
  const host = identityOf(SERVER, { TERM: "xterm", SHLVL: "1", PTC_CONFIG: "a" });
  const caller = identityOf(SERVER, { TERM: "dumb", SHLVL: "3" }, BUILD, "../project/ptc.yaml");
  expect(findDifference(host, caller)).toBeUndefined();
});

it("differs by every variable where a command reads a secret, but by those of the terminal", () => {
  const text = "servers: [{name: a, command: x, env: {K: {command: [op, read]}}}]";
  const host = identityOf(text, { OP_SESSION: "1", TERM: "xterm" });
  expect(findDifference(host, identityOf(text, { OP_SESSION: "2", TERM: "xterm" }))).toBe(
    "another environment",
  );
  expect(
    findDifference(host, identityOf(text, { OP_SESSION: "1", TERM: "dumb", CLAUDE_CODE_SESSION_ID: "7b1e" })),
  ).toBeUndefined();
});

it("knows the commands of auth, whose place in the file does not matter", () => {
  const auth =
    "{type: client_credentials, client_id: a, issuer: 'https://b.example', client_secret: {command: [op, read]}}";
  const text = (lines: string, what = auth) =>
    `${lines}servers: [{name: a, url: "https://a.example", auth: ${what}}]`;
  const host = identityOf(text(""), { OP_SESSION: "1" });
  expect(findDifference(host, identityOf(text("\n\n"), { OP_SESSION: "1" }))).toBeUndefined();
  expect(findDifference(host, identityOf(text(""), { OP_SESSION: "2" }))).toBe("another environment");
  const other = identityOf(text("", auth.replace("read", "get")), { OP_SESSION: "1" });
  expect(findDifference(host, other)).toBe("another environment");
});

it("names a version and an edited file first, and replaces a young host only for the latter", () => {
  const host = identityOf(SERVER, {});
  const edited = findDifference(host, identityOf(SERVER, { HIDDEN: "1" }, { ...BUILD, fileDigest: "c" }));
  const updated = findDifference(host, identityOf(SERVER, {}, { build: "z", fileDigest: "c" }));
  expect([edited, updated]).toEqual(["another configuration", "another version of ptc or Node.js"]);
  expect(isReplaceable("another configuration", 0)).toBe(true);
  expect(isReplaceable("another environment", 9_999)).toBe(false);
  expect(isReplaceable("another environment", 10_000)).toBe(true);
});
