import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { parse } from "yaml";
import { matchesUrl } from "../../broker/policy/value-lists.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { FollowedConfiguration } from "../../configuration/follow.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import {
  MANAGED_PLACES,
  type ManagedPlace,
  readManagedSettings,
} from "../../configuration/managed-settings.ts";
import { isDecidedByRun } from "../../configuration/policy/configured-flow.ts";
import { buildAuthorizer } from "../../configuration/policy/configured-policy.ts";
import { sandboxOptions } from "../../project/sandboxes/sandboxes.ts";
import { toolOf } from "../catalog/tool-of.ts";
import { eventually } from "../eventually.ts";

const OWNER = process.getuid?.() ?? 0;
const BY_ADMIN = "; ptc runs nothing until the administrator of this machine corrects that";
let folder: string;
let place: ManagedPlace;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ptc-managed-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  place = { path: join(folder, "etc/ptc/managed.yaml"), format: "yaml", owner: OWNER, top: folder };
});

function write(name: string, text: string | Buffer, mode = 0o644): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  writeFileSync(path, text, { mode });
  chmodSync(path, mode);
  return path;
}

/** A project under managed settings; either is YAML. */
async function load(project: string, managed: string): Promise<Configuration> {
  write("project/ptc.yaml", project);
  write("etc/ptc/managed.yaml", managed);
  return loadConfiguration({ env: {}, cwd: join(folder, "project"), managedPlaces: [place] });
}

const PERMIT_ALL = "permit(principal, action, resource);";
const FORBID_DROP = 'forbid(principal, action, resource == Tool::"mcp__a__drop");';
const PERMIT_GET = 'permit(principal, action, resource == Tool::"mcp__a__get");';

async function deciderOf(configuration: Configuration) {
  const authorizer = await buildAuthorizer(configuration);
  const run = { principal: "local", source: "run" } as const;
  const nothing = { calls: 0, callsOfTool: 0, reads: [] };
  const decide = (server: string, tool: string, annotations = {}) =>
    authorizer.authorize(run, { ...toolOf(server, tool), annotations }, {}, nothing);
  return { authorizer, decide };
}

const SERVERS = `servers:
  - { name: docs, command: npx, args: ["-y", "docs-server"] }
  - { name: web, url: "https://mcp.example.com/mcp" }
  - { name: other, url: "https://other.example.com/mcp", labels: [own], accepts: [own, more], tools: { get: { labels: [] }, put: { accepts: [own] } } }
tools:
  local: [{ name: count, description: counts, command: [wc], stdin: "x", inputSchema: { type: object } }]
`;

interface Cases {
  merges: [key: string, project: string, managed: string, want: object, held: string[]][];
  off: [managed: string, off: string[]][];
  commands: [command: string, managed: string, isAllowed: boolean][];
  mistakes: [what: string, text: string, message: string][];
  addresses: [pattern: string, address: string, isMatched: boolean][];
}
const { merges, off, commands, mistakes, addresses }: Cases = parse(
  readFileSync(join(import.meta.dirname, "managed.yaml"), "utf8"),
);

describe("managed settings", () => {
  it.each(merges)(
    "make a project stricter and never looser, and tell of what does not count: %s",
    async (_, project, managed, want, held) => {
      const configuration = await load(project, managed);
      expect(configuration).toMatchObject(want);
      expect(configuration.held).toHaveLength(held.length);
      for (const [index, pattern] of held.entries())
        expect(configuration.held[index]).toMatch(new RegExp(pattern));
    },
  );

  it("tell of what each of two files changes", async () => {
    await load("sandbox: { image: mine }\naudit: { strict: false }", "sandbox: { image: ours }");
    const path = write("etc/ptc/more.yaml", "audit: { strict: true }");
    const { held } = await loadConfiguration({
      ...{ env: {}, cwd: join(folder, "project"), managedPlaces: [place, { ...place, path }] },
    });
    expect(held).toEqual([
      expect.stringContaining('sandbox.image: "mine" does not count'),
      expect.stringContaining("audit.strict: false does not count"),
    ]);
  });

  const PLACED: [managed: string, entry: string, off: RegExp | undefined][] = [
    [
      "servers: { block: [{ url: 'https://bad.example/*' }] }",
      "openapi: ./a.yaml",
      /servers\.block.*needs a base_url/,
    ],
    [
      "labels: [{ server: { url: 'https://bad.example/*' }, labels: [x] }]",
      "openapi: ./a.yaml",
      /labels.*needs a base_url/,
    ],
    ["servers: { block: [{ name: other, url: 'https://bad.example/*' }] }", "openapi: ./a.yaml", undefined],
    ["servers: { block: [{ name: other }] }", "openapi: ./a.yaml", undefined],
    [
      "servers: { block: [{ url: 'https://bad.example/*' }] }",
      "openapi: ./a.yaml, base_url: 'https://bad.example/v1'",
      /do not allow it/,
    ],
    [
      "servers: { block: [{ url: 'https://bad.example/*' }] }",
      "openapi: 'https://bad.example/a.yaml', base_url: 'https://good.example'",
      /do not allow it/,
    ],
    [
      "servers: { block: [{ url: 'https://bad.example/*' }] }",
      "openapi: ./a.yaml, base_url: 'https://good.example'",
      undefined,
    ],
    ["servers: { allow: [{ url: 'https://good.example/*' }] }", "openapi: ./a.yaml", /servers\.allow/],
    [
      "servers: { allow: [{ url: 'https://good.example/*' }] }",
      "openapi: 'https://good.example/a', base_url: 'https://bad.example'",
      /servers\.allow/,
    ],
  ];
  it.each(PLACED)(
    "of URLs find an API whose description alone would place it: %s with %s",
    async (managed, entry, why) => {
      const { servers } = await load(`servers: [{ name: api, ${entry} }]`, managed);
      if (why === undefined) expect(servers[0]?.off).toBeUndefined();
      else expect(servers[0]?.off).toMatch(why);
    },
  );

  it.each(off)("turn servers off that they do not allow: %s", async (managed, names) => {
    const { servers } = await load(SERVERS, managed);
    const found = servers.filter((server) => server.off !== undefined);
    expect(found.map(({ name }) => name).sort()).toEqual(names);
    for (const server of found)
      expect(server.off).toMatch(
        /^managed settings do not allow it \(.*managed\.yaml: servers\.(?:allow|block)\)$/,
      );
  });

  it.each(commands)(
    "allow a local tool by its whole command line: %s by [%s]: %s",
    async (command, managed, isAllowed) => {
      const properties = "{ path: { type: array, items: { type: string } } }";
      const { servers } = await load(
        `tools: { local: [{ name: count, description: counts, command: ${command}, inputSchema: { type: object, properties: ${properties} } }] }`,
        `servers: { allow: [{ command: [${managed}] }] }`,
      );
      expect(servers.map(({ off }) => off === undefined)).toEqual([isAllowed]);
    },
  );

  it("leave a server off for the reason that it has already", async () => {
    const { servers } = await load(
      'servers: [{ name: a, command: x, args: ["${NOT_SET}"] }]',
      "servers: { allow: [] }",
    );
    expect(servers[0]?.off).toContain("NOT_SET is not set in the environment");
  });

  it("add labels and take away what may flow in, for each tool too", async () => {
    const { servers } = await load(
      SERVERS,
      'labels: [{ server: { url: "https://other.example.com/*" }, labels: [company], accepts: [own] }, { server: { name: web }, accepts: [] }]',
    );
    expect(servers.find(({ name }) => name === "other")?.flow).toEqual({
      labels: ["own", "company"],
      accepts: ["own"],
      tools: {
        get: { labels: ["company"], accepts: undefined },
        put: { labels: undefined, accepts: ["own"] },
      },
    });
    expect(servers.find(({ name }) => name === "web")?.flow).toMatchObject({ labels: [], accepts: [] });
  });

  it("decide about calls before the lists of a project, which lift nothing of theirs", async () => {
    const configuration = await load(
      'approvals: { allow: ["*"] }\ntools: { allow: ["mcp__a__*", "mcp__b__*", "mcp__c__*"] }',
      'tools: { allow: ["mcp__a__*", "mcp__c__*"], block: ["mcp__a__drop"] }\napprovals: { ask: ["mcp__a__send"], allow: ["mcp__a__*"] }',
    );
    const { authorizer, decide } = await deciderOf(configuration);
    const kindAndRule = async (server: string, tool: string) => {
      const { kind, rule } = { rule: undefined, ...(await decide(server, tool)) };
      return [kind, rule];
    };
    expect(await kindAndRule("b", "get")).toEqual(["unavailable", "managed tools.allow: no entry"]);
    expect(await kindAndRule("a", "drop")).toEqual(["unavailable", "managed tools.block: mcp__a__drop"]);
    expect(await kindAndRule("a", "send")).toEqual(["ask", "managed approvals.ask: mcp__a__send"]);
    expect(await decide("a", "get", { destructiveHint: true })).toMatchObject({ kind: "allow" });
    expect(await decide("c", "get", { destructiveHint: true })).toMatchObject({ kind: "ask" });
    expect(authorizer.isVisible({ principal: "local" }, toolOf("b", "get"))).toBe(false);
  });

  it.each([
    [
      "what they forbid, whatever the project permits",
      `${PERMIT_ALL}\n@reason("ours") ${FORBID_DROP}`,
      PERMIT_ALL,
    ],
    ["what they do not permit, whatever the project permits", PERMIT_GET, PERMIT_ALL],
    ["what the project forbids, whatever they permit", PERMIT_ALL, `${PERMIT_ALL}\n${FORBID_DROP}`],
    ["what the project does not permit", PERMIT_ALL, PERMIT_GET],
    ["what they forbid where the project has no rules", PERMIT_GET, undefined],
  ])("have rules beside those of a project: %s", async (_, theirs, own) => {
    const rules = write("etc/ptc/rules.cedar", theirs);
    if (own !== undefined) write("project/own.cedar", own);
    const configuration = await load(own === undefined ? "" : "policy: [own.cedar]", `policy: ["${rules}"]`);
    const { authorizer, decide } = await deciderOf(configuration);
    expect((await decide("a", "get")).kind).toBe("allow");
    expect(["deny", "unavailable"]).toContain((await decide("a", "drop")).kind);
    expect(authorizer.isVisible({ principal: "local" }, toolOf("a", "drop"))).toBe(false);
    expect(isDecidedByRun(configuration)).toBe(false);
  });

  it("hold for every way in which a project is named", async () => {
    write("etc/ptc/managed.yaml", "sandbox: { runtime: strict }");
    write("project/ptc.yaml", "sandbox: { runtime: runc, allow_weaker_isolation: true }");
    write("project/else.yaml", "sandbox: { runtime: runc, allow_weaker_isolation: true }");
    const cwd = join(folder, "project");
    for (const options of [
      { flag: "else.yaml", env: {} },
      { env: { PTC_CONFIG: "else.yaml" } },
      { env: { PTC_MANAGED: "/dev/null", HOME: "/", XDG_CONFIG_HOME: "/", PTC_MCP_CONFIG: "else.yaml" } },
      { env: {} },
    ]) {
      const { sandbox } = await loadConfiguration({ ...options, cwd, managedPlaces: [place] });
      expect(sandbox.runtime).toBe("strict");
    }
    const { managed } = await loadConfiguration({ env: {}, cwd: folder, managedPlaces: [place] });
    expect(managed).toMatchObject([{ file: place.path }]);
  });

  it("that allow no weaker isolation refuse the engine wasm, wherever it is chosen, with a line that says why", async () => {
    write("etc/ptc/managed.yaml", "sandbox: { allow_weaker_isolation: false }");
    write("project/ptc.yaml", "sandbox: { engine: wasm }");
    const load = (cwd: string, env: Record<string, string> = {}) =>
      loadConfiguration({ env, cwd: join(folder, cwd), managedPlaces: [place] });
    await expect(load("project")).rejects.toThrow(/^ptc\.yaml: sandbox\.engine: wasm isolates less/);
    await expect(load(".", { PTC_ENGINE: "wasm" })).rejects.toThrow(/^PTC_ENGINE: sandbox\.engine: wasm/);
    write("etc/ptc/managed.yaml", "sandbox: { allow_weaker_isolation: false, engine: runsc }");
    expect((await load("project")).sandbox.engine).toBe("runsc");
  });

  it("hold while a project's file is edited, and are followed themselves; those that are wrong change nothing", async () => {
    write("etc/ptc/managed.yaml", "sandbox: { runtime: strict }");
    const file = write("project/ptc.yaml", "");
    const edits: string[] = [];
    const followed = await FollowedConfiguration.open({
      ...{ env: {}, cwd: join(folder, "project"), managedPlaces: [place] },
      onEdit: (message) => edits.push(message),
    });
    const refreshed = (check: () => void) =>
      eventually(async () => {
        await followed.refresh();
        check();
      });
    writeFileSync(file, "sandbox: { runtime: runc, allow_weaker_isolation: true }");
    await refreshed(() => expect(followed.current.held).toHaveLength(1));
    expect(followed.current.sandbox.runtime).toBe("strict");
    write("etc/ptc/managed.yaml", "sandbox: { runtime: stricter }");
    await refreshed(() => expect(followed.current.sandbox.runtime).toBe("stricter"));
    expect(edits.at(-1)).toBe("the managed settings were edited, and are in force");
    write("etc/ptc/managed.yaml", "sandbox: { runtime: runc }", 0o666);
    await refreshed(() => expect(followed.problem).toMatch(/can be written by others than its owner/));
    expect(followed.current.sandbox.runtime).toBe("stricter");
  });
});

/** Makes the place a link, or a folder on the way to it. */
function linkTo(target: string, path = place.path): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

const FILE = "etc/ptc/managed.yaml";
const UNTRUSTED: [what: string, arrange: () => void, message: string][] = [
  [
    "that others may write",
    () => write(FILE, "", 0o664),
    `: can be written by others than its owner${BY_ADMIN}`,
  ],
  [
    "in a folder that others may write",
    () => chmodSync(dirname(write(FILE, "")), 0o777),
    ": '{folder}/etc/ptc', on the way to it, can be written by others",
  ],
  [
    "below a folder that others may write",
    () => chmodSync(dirname(dirname(write(FILE, ""))), 0o775),
    ": '{folder}/etc', on the way to it, can be written",
  ],
  [
    "of another owner",
    () => {
      write(FILE, "");
      place = { ...place, owner: OWNER + 1 };
    },
    `on the way to it, is not owned by user ${OWNER + 1}`,
  ],
  ["that is a folder", () => mkdirSync(place.path, { recursive: true }), `: is no file${BY_ADMIN}`],
  [
    "that is a link into a place that others may write",
    () => {
      linkTo(write("open/managed.yaml", ""));
      chmodSync(join(folder, "open"), 0o777);
    },
    ": '{folder}/open', on the way to it, can be written",
  ],
  [
    "whose folder is a link into such a place",
    () => {
      linkTo(dirname(write("open/ptc/managed.yaml", "")), dirname(place.path));
      chmodSync(join(folder, "open"), 0o777);
    },
    ": '{folder}/open', on the way to it, can be written",
  ],
  ["that is a link to itself", () => linkTo(place.path), ": leads through too many links"],
  ["that is a link to nothing", () => linkTo("gone"), ": leads to nothing"],
  ["that is larger than any", () => write(FILE, "#".repeat(300_000)), ": is larger than 262144 bytes"],
  ["that is no text", () => write(FILE, Buffer.from([0xff])), ": is not text in UTF-8"],
  ["with rules that are gone", () => write(FILE, `policy: ["${folder}/gone"]`), "does not exist"],
  [
    "with rules that others may write",
    () => write(FILE, `policy: ["${write("etc/ptc/r.cedar", "", 0o666)}"]`),
    "r.cedar: can be written by others",
  ],
  [
    "with an interceptor that others may write",
    () => write(FILE, `interceptors: [{ name: dlp, command: ["${write("opt/scan", "", 0o777)}"] }]`),
    ":1: command: '{folder}/opt/scan' can be written by others",
  ],
  [
    "with an interceptor whose script others may write",
    () =>
      write(
        FILE,
        `interceptors: [{ name: dlp, command: ["${write("opt/sh", "", 0o755)}", "${write("opt/scan.sh", "", 0o666)}"] }]`,
      ),
    ":1: command: '{folder}/opt/scan.sh' can be written by others",
  ],
  ...mistakes.map(([what, text, message]): (typeof UNTRUSTED)[number] => [
    what,
    () => write(FILE, text),
    message,
  ]),
];

it("programs run on the engine that managed settings name, whatever variables say", async () => {
  const configuration = await load("", 'sandbox: { engine: "unix:///nowhere/managed.sock" }');
  vi.stubEnv("DOCKER_HOST", "unix:///nowhere/of-the-user.sock");
  onTestFinished(() => void vi.unstubAllEnvs());
  const own = { state: { path: folder }, self: { pid: 1 } } as never;
  await expect(sandboxOptions(configuration, own).engine.describe()).rejects.toThrow("/nowhere/managed.sock");
  const other = await load("sandbox: { engine: docker }", "");
  await expect(sandboxOptions(other, own).engine.describe()).rejects.toThrow("/nowhere/of-the-user.sock");
  const named = await load("sandbox: { engine: docker }", "sandbox: { engine: runsc }");
  expect([named.sandbox.engine, named.sandbox.engineAddress]).toEqual(["runsc", undefined]);
});

it("tell of a server that is neither blocked nor labelled because of its port alone", async () => {
  const servers =
    "servers: [{name: a, url: 'https://h.example:8443/mcp'}, {name: b, url: 'https://h.example/mcp'}]";
  const told = async (managed: string) => {
    const { held } = await load(servers, managed);
    return held.map((line) => line.slice(place.path.length + 2));
  };
  expect(await told("servers: {block: [{url: 'https://h.example/*'}]}")).toEqual([
    "servers.block: 'https://h.example/*' does not match server 'a', which has a port: 'https://h.example:*/*' matches every port",
  ]);
  expect(await told("labels: [{server: {url: 'https://*.example'}, labels: [x]}]")).toEqual([
    "labels: 'https://*.example' does not match server 'a', which has a port: 'https://*.example:*' matches every port",
  ]);
  for (const url of ["https://h.example:*/*", "https://h.example:8443/*", "https://other.example/*"])
    expect(await told(`servers: {block: [{url: '${url}'}]}`)).toEqual([]);
});

it("choose runsc where they require isolation, whatever PATH says", async () => {
  const chosen = async (managed: string) => (await load("{}", managed)).sandbox.runsc;
  expect(await chosen("{}")).toBeUndefined();
  expect(await chosen("sandbox: {allow_weaker_isolation: false}")).toBe("system");
  expect(await chosen("sandbox: {allow_weaker_isolation: false, runsc: /opt/runsc}")).toBe("/opt/runsc");
  await expect(load("{}", "sandbox: {runsc: runsc}")).rejects.toThrow("must be an absolute path");
});

describe("variables that have Node.js run other code", () => {
  const loadWith = (env: Record<string, string>, managed: string | undefined) => {
    write("project/ptc.yaml", "{}");
    if (managed !== undefined) write("etc/ptc/managed.yaml", managed);
    return loadConfiguration({ env, cwd: join(folder, "project"), managedPlaces: [place] });
  };

  it.each<[Record<string, string>, string]>([
    [{ NODE_OPTIONS: "--require /tmp/x.cjs" }, 'NODE_OPTIONS has "--require"'],
    [{ NODE_OPTIONS: "--max-old-space-size=512 --import=/tmp/x.mjs" }, 'NODE_OPTIONS has "--import"'],
    [{ NODE_OPTIONS: "-r /tmp/x.cjs" }, 'NODE_OPTIONS has "-r"'],
    [{ NODE_OPTIONS: "--experimental-loader=x" }, 'NODE_OPTIONS has "--experimental-loader"'],
    [{ NODE_OPTIONS: "--inspect=127.0.0.1:1" }, 'NODE_OPTIONS has "--inspect"'],
    [{ NODE_OPTIONS: '"--require" x' }, "NODE_OPTIONS has"],
    [{ NODE_OPTIONS: "--max-old-space-size=1\\ --import=x" }, "NODE_OPTIONS has"],
    [{ NODE_OPTIONS: "\t--an-option-of-later=1" }, 'NODE_OPTIONS has "--an-option-of-later"'],
    [{ NODE_PATH: "/tmp/modules" }, "NODE_PATH is set"],
    [{ LD_PRELOAD: "/tmp/x.so" }, "LD_PRELOAD is set"],
  ])("%o keep ptc from running where settings are managed, in one line", async (env, what) => {
    const why = `which can run other code in ptc: unset ${Object.keys(env)[0]}`;
    const loading = loadWith(env, "{}");
    await expect(loading).rejects.toThrow(what);
    await expect(loading).rejects.toThrow(why);
    rmSync(join(folder, "etc"), { recursive: true });
    await expect(loadWith(env, undefined)).resolves.toBeDefined();
  });

  it("are not those that change how much it may use or what it warns of", async () => {
    const NODE_OPTIONS = "--max-old-space-size=4096 --max_semi_space_size=16  --no-warnings --use-system-ca";
    await expect(loadWith({ NODE_OPTIONS, NODE_PATH: "" }, "{}")).resolves.toBeDefined();
  });
});

describe("a file of managed settings", () => {
  const problem = () => {
    try {
      return readManagedSettings([place]);
    } catch (error) {
      return (error as Error).message;
    }
  };

  it("that is not there says nothing, and none is looked for where its user could put one", () => {
    expect(problem()).toEqual([]);
    for (const { path, owner, top } of MANAGED_PLACES) {
      expect({ owner, top }).toEqual({ owner: 0, top: "/" });
      expect(path).toMatch(/^(?:\/etc\/|\/Library\/|C:\\Program Files\\)/);
    }
  });

  it.each(UNTRUSTED)("%s keeps ptc from running, in one line", (_, arrange, message) => {
    arrange();
    const found = problem();
    expect(found).toContain(message.replaceAll("{folder}", folder));
    expect(found).not.toContain("\n");
  });

  it("can say all that the example of the documentation says", async () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/policy.md"), "utf8");
    const [, example = ""] = /```yaml\n(# \/etc\/ptc\/managed\.yaml\n[^`]*)```/.exec(page) ?? [];
    const rules = write("etc/ptc/rules.cedar", PERMIT_ALL);
    const { managed, servers } = await load(SERVERS, example.replace("/etc/ptc/rules.cedar", rules));
    expect(managed).toMatchObject([{ audit: { strict: true }, policy: { files: [{ path: rules }] } }]);
    expect(servers.filter(({ off }) => off === undefined).map(({ name }) => name)).toEqual(["web", "other"]);
  });

  it("may be a link, and lie behind one, where only its owner could change them", () => {
    const target = write("store/x/managed.yaml", "sandbox: { runtime: strict }");
    linkTo("../store/x", dirname(place.path));
    expect(problem()).toMatchObject([{ sandbox: { runtime: "strict" } }]);
    rmSync(join(folder, "etc/ptc"));
    linkTo(target);
    expect(problem()).toMatchObject([{ sandbox: { runtime: "strict" } }]);
  });
});

it.each(addresses)("an address is matched by its parts: %s and %s: %s", (pattern, address, want) => {
  expect(matchesUrl(pattern, address)).toBe(want);
});

it("require sandboxes of servers, whatever the project says of all or of one", async () => {
  const own = (servers: string, sandbox: string) =>
    `sandbox: { servers: ${servers} }\nservers: [{ name: s, command: node, sandbox: ${sandbox} }]`;
  const required = await load(own("off", "false"), "sandbox: { servers: required }");
  const [server] = required.servers;
  expect([required.sandbox.servers, server && "sandbox" in server ? server.sandbox : "none"]).toEqual([
    "required",
    undefined,
  ]);
  expect(required.held).toEqual([
    expect.stringContaining('sandbox.servers: "off" does not count'),
    expect.stringContaining("server 's': sandbox: false does not count"),
  ]);
  const wanted = await load(own("required", "true"), "sandbox: { servers: wanted }");
  expect([wanted.sandbox.servers, wanted.held]).toEqual(["required", []]);
});
