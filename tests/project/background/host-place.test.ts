import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, test } from "vitest";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { HostFiles, LostSessions } from "../../../project/background/host-files.ts";
import {
  differingVariables,
  findDifference,
  identify,
  isReplaceable,
} from "../../../project/background/host-identity.ts";
import { findHost, findProject, type HostPlace, placeOf } from "../../../project/background/host-place.ts";
import { currentProcess, formatIdentity } from "../../../system/process-identity.ts";
import { folderOfTest } from "../../cli/in-process.ts";

let folder: string;
let place: HostPlace;

beforeEach(() => {
  folder = folderOfTest();
  place = placeOf({ key: "0123456789abcdef0123" }, { XDG_RUNTIME_DIR: folder });
});

async function publish(): Promise<HostFiles> {
  const files = new HostFiles(place);
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(files.socket, resolve));
  chmodSync(files.socket, 0o600);
  files.publish();
  return files;
}

describe("a project", () => {
  const at = (flag?: string) => findProject({ flag, env: {}, cwd: folder });

  it("is known by the real path of its configuration, and by the folder where there is none", () => {
    const without = at();
    expect(without).toBeDefined();
    writeFileSync(join(folder, "ptc.yaml"), "servers: []");
    symlinkSync("ptc.yaml", join(folder, "other.yaml"));
    expect(at()).toEqual(at("other.yaml"));
    expect(at()?.key).not.toBe(without?.key);
    const before = at();
    writeFileSync(join(folder, "ptc.yaml"), "servers:");
    expect(at()).toMatchObject({ key: before?.key });
    expect(at()?.fileDigest).not.toBe(before?.fileDigest);
  });

  it("is none where the configuration is missing, or no file", () => {
    expect(at("missing.yaml")).toBeUndefined();
    expect(at("/dev/null")).toBeUndefined();
    expect(at(".")).toBeUndefined();
  });
});

describe("the place of a host", () => {
  it("is private, and has the host that was published last", async () => {
    expect(findHost(place)).toBeUndefined();
    const files = await publish();
    expect(findHost(place)).toEqual({ socket: files.socket, token: files.token });
    expect(files.token).toMatch(/^[0-9a-f]{64}$/);
    expect(new HostFiles(place).token).toBe(files.token);
    for (const each of [place.folder, dirname(place.folder), dirname(dirname(place.folder))])
      expect(statSync(each).mode & 0o777).toBe(0o700);

    rmSync(place.link);
    symlinkSync("another.sock", place.link);
    expect(files.isPublished).toBe(false);
    files.withdraw();
    expect(readdirSync(place.folder).sort()).toEqual(["host.sock", "token"]);
  });

  it("clears the sockets of dead hosts, and no others", async () => {
    const self = currentProcess();
    mkdirSync(place.folder, { recursive: true, mode: 0o700 });
    const dead = `${formatIdentity({ ...self, startTime: "1" })}.sock`;
    const elsewhere = `${formatIdentity({ ...self, host: "00000000-1" })}.sock`;
    for (const name of [dead, elsewhere]) writeFileSync(join(place.folder, name), "");
    await publish();
    expect(readdirSync(place.folder)).not.toContain(dead);
    expect(readdirSync(place.folder)).toContain(elsewhere);
  });

  it("is refused when others can open or could have made a part of it", async () => {
    const files = await publish();
    for (const [path, mode, message] of [
      [dirname(place.folder), 0o755, /hosts is open to other users; chmod 700 it$/],
      [place.folder, 0o710, /is open to other users; chmod 700 it$/],
      [files.socket, 0o660, /\.sock is open to other users; chmod 600 it$/],
      [place.tokenFile, 0o644, /token is open to other users; chmod 600 it$/],
    ] as const) {
      const before = statSync(path).mode;
      chmodSync(path, mode);
      expect(() => findHost(place)).toThrow(message);
      chmodSync(path, before);
    }
    expect(findHost(place)).toBeDefined();

    rmSync(place.link);
    linkSync(files.socket, place.link);
    expect(() => findHost(place)).toThrow("host.sock is not a link; remove it");
    rmSync(place.link);
    symlinkSync("../elsewhere.sock", place.link);
    expect(() => findHost(place)).toThrow("leads out of its folder");

    rmSync(place.folder, { recursive: true });
    symlinkSync(tmpdir(), place.folder);
    expect(() => findHost(place)).toThrow(/is not a folder; remove it$/);
    expect(() => new HostFiles(place)).toThrow(/is not a folder; remove it$/);
  });

  it("knows of the hosts of other projects that live", async () => {
    const files = await publish();
    for (const [key, startTime] of [
      ["aaaaaaaaaaaaaaaa", currentProcess().startTime],
      ["bbbbbbbbbbbbbbbb", "1"],
    ] as const) {
      const other = placeOf({ key }, { XDG_RUNTIME_DIR: folder });
      mkdirSync(other.folder, { mode: 0o700 });
      symlinkSync(`${formatIdentity({ ...currentProcess(), startTime })}.sock`, other.link);
    }
    expect(files.countOthers()).toBe(1);
  });

  it("is claimed by one live process at a time", async () => {
    const files = new HostFiles(place);
    expect(files.claim()).toBe(true);
    expect(readFileSync(place.claim, "utf8")).toBe(formatIdentity(currentProcess()));
    expect(files.claim()).toBe(false);
    writeFileSync(place.claim, formatIdentity({ ...currentProcess(), startTime: "1" }));
    expect(files.claim()).toBe(true);
  });
});

const BUILD = { build: "a", fileDigest: "b" };

function identityOf(text: string, env: Record<string, string>, build = BUILD, file = "ptc.yaml") {
  return identify(build, parseConfiguration(text, { file, directory: "/project", environment: env }), env);
}

// A YAML escape hides the variable from a search of the text.
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

it("names the variables by which environments differ, and none that does not matter", () => {
  const text = `servers: [{name: a, command: x, env: {K: "\${HIDDEN}", T: {env: TOKEN}}}]`;
  const host = { HIDDEN: "1", TOKEN: "a", PATH: "/bin", TERM: "xterm", OTHER: "1", SAME: "1", HID: "1" };
  const caller = { HIDDEN: "2", PATH: "/opt", TERM: "dumb", OTHER: "2", SAME: "1" };
  const configuration = parseConfiguration(text, { file: "ptc.yaml", directory: "/p", environment: host });
  expect(differingVariables(host, caller, { configuration, text })).toEqual(["HIDDEN", "PATH", "TOKEN"]);
});

it("differs by what the files of rules say, as by the configuration that names them", () => {
  const directory = folderOfTest();
  const identified = (rules: string) => {
    writeFileSync(join(directory, "rules.cedar"), rules);
    const options = { file: "ptc.yaml", directory, environment: {} };
    return identify(BUILD, parseConfiguration("policy: [rules.cedar]", options), {});
  };
  const host = identified("permit(principal, action, resource);");
  const other = identified("forbid(principal, action, resource);");
  expect(findDifference(host, other)).toBe("another configuration");
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
  const differs = (env: Record<string, string>) => findDifference(host, identityOf(text, env));
  expect(differs({ OP_SESSION: "2", TERM: "xterm" })).toBe("another environment");
  expect(differs({ OP_SESSION: "1", TERM: "dumb", CLAUDE_CODE_SESSION_ID: "7b1e" })).toBeUndefined();
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

test("what is said of a session that ended with its host is said once, and never in the way", () => {
  const before = new LostSessions({ folder });
  before.add([], "nothing was open");
  expect(readdirSync(folder)).toEqual([]);
  before.add(["a", "b"], "with the first");
  before.add(["b"], "with the second");
  const after = new LostSessions({ folder });
  const taken = ["c", "b", "b", "a"].map((name) => after.take(name));
  expect(taken).toEqual([undefined, "with the second", undefined, "with the first"]);
  expect(readdirSync(folder)).toEqual([]);
  for (const text of ["", "{", '[["a"]]', '{"a":"b"}', "[".repeat(300_000)]) {
    writeFileSync(join(folder, "lost-sessions.json"), text);
    expect(after.take("a")).toBeUndefined();
  }
  const many = Array.from({ length: 300 }, (_, index) => `name-${index}`);
  after.add(many, "with many");
  expect([after.take("name-99"), after.take("name-100")]).toEqual([undefined, "with many"]);
});
