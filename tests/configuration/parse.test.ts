import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { describeOffServers, offServers } from "../../configuration/configured-servers.ts";
import { defaultParallelPrograms, thisMachine } from "../../configuration/parse.ts";
import { buildAuthorizer } from "../../configuration/policy/configured-policy.ts";
import { Settings } from "../../configuration/settings/settings.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { defaultCeiling } from "../../sandbox/pool/pool-policy.ts";
import { Redactor } from "../../secrets/redaction.ts";
import { parse, problemIn } from "./parse-text.ts";

type Reading = [text: string, want: Record<string, unknown>, environment?: Record<string, string>];
const READINGS: Record<string, Record<string, Reading[]>> = parseYaml(
  readFileSync(join(import.meta.dirname, "readings.yaml"), "utf8"),
);

/** An expectation as the file has it: `null` for nothing, and `{ has: PART }`. */
function wanted(value: unknown): unknown {
  if (value === null) return undefined;
  if (Array.isArray(value)) return value.map(wanted);
  if (typeof value !== "object") return value;
  const inside = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, wanted(each)]));
  const { has, ...others } = inside as { has?: string | Record<string, unknown> };
  if (has === undefined || Object.keys(others).length > 0) return inside;
  return typeof has === "string" ? expect.stringContaining(has) : expect.objectContaining(has);
}

describe.each(Object.entries(READINGS))("%s", (_, claims) => {
  it.each(Object.entries(claims))("%s", (_, rows) => {
    for (const [text, want, environment = {}] of rows) {
      const configuration = parse(text, environment);
      const found = Object.keys(want).map((path) => {
        const at = path.split(/[.[\]]+/).reduce<unknown>((value, key) => Object(value)[key], configuration);
        return [path, at];
      });
      expect(Object.fromEntries(found), text).toEqual(wanted(want));
    }
  });
});

describe("what the build has written of a file without keys", () => {
  afterEach(() => {
    Reflect.deleteProperty(globalThis, "SETTINGS_OF_NO_FILE");
  });

  it("is what such a file says, and changes nothing of what others say", () => {
    const texts = ["", ...Object.values(READINGS).flatMap((claims) => Object.values(claims).flat())].map(
      (row) => (typeof row === "string" ? ([row, {}] as const) : ([row[0], row[2] ?? {}] as const)),
    );
    const before = texts.map(([text, environment]) => parse(text, environment));
    Object.assign(globalThis, { SETTINGS_OF_NO_FILE: JSON.stringify(Settings.parse({})) });
    for (const [index, [text, environment]] of texts.entries())
      expect(parse(text, environment), text).toEqual(before[index]);
  });

  it("leaves what is said of a wrong key as it was", () => {
    const wrong = ["executions: {}", "execution: { timeout: 3 }", "servers: {}"];
    const before = wrong.map((text) => problemIn(text));
    Object.assign(globalThis, { SETTINGS_OF_NO_FILE: JSON.stringify(Settings.parse({})) });
    expect(wrong.map((text) => problemIn(text))).toEqual(before);
  });
});

describe("a configuration that is right", () => {
  it("has every default when it is empty", () => {
    expect(parse("")).toEqual({
      ...{ file: "ptc.yaml", directory: "/project", discovery: "auto", direct: [], servers: [] },
      directRuns: "conversation",
      toolsets: {},
      interceptors: [],
      tools: { allow: undefined, block: [] },
      policy: { files: [], groups: {} },
      notify: { afterMs: 10_000 },
      approvals: {
        ...{ mode: "call", default: "annotated", ask: [], allow: [], suspend: true, require: "any" },
        expireMs: 86_400_000,
      },
      flowNames: [],
      labels: { scope: "conversation", preset: "none", refused: "deny", plain: [] },
      lists: { values: {}, files: [] },
      languages: ["typescript"],
      ...{ toolPatterns: [], managed: [], held: [], credentials: [], secrets: [] },
      execution: {
        ...{ timeoutMs: 120_000, toolCallTimeoutMs: 30_000, maxParallelCalls: 10, maxToolCalls: 1_000 },
        ...{ maxOutputBytes: 65_536, maxReplyBytes: 16_384, maxStderrBytes: 262_144 },
        maxParallelPrograms: defaultParallelPrograms(thisMachine(), 512),
        ...{ maxQueuedPrograms: 32, memoryMb: 512, cpus: 1, pids: 256 },
        ...{ typecheck: "error", schemaMismatch: "warn" },
      },
      sandbox: {
        ...{
          engine: "auto",
          runtime: "runsc",
          wasm: { tools: "read_only" },
          allowWeakerIsolation: false,
          kubernetes: { template: "ptc", ready_timeout_seconds: 60 },
          image: "ptc-runner",
          channel: "auto",
          servers: "off",
        },
        ...{ warm: 2, maxWarm: Math.max(2, defaultCeiling(thisMachine())), pythonPackages: [] },
      },
      host: { idleMs: 600_000 },
      limits: { together: {}, each: {}, groups: {}, principals: {} },
      http: { drainMs: 30_000, trustedProxies: [] },
      learn: true,
      audit: { strict: false, maxFileMb: 64, keepDays: 365 },
      search: {},
      archive: { path: "/project/.ptc/archive.db", keepDays: 30 },
      storage: { url: undefined, encryptionKeys: [] },
    });
  });

  it("may leave sections empty, as when all below them is commented out", () => {
    expect(parse("servers:\ntools:\n  block:\nexecution:\n# end\n")).toEqual(parse(""));
  });

  it("knows the credentials in variables that servers inherit as secrets", () => {
    const environment = {
      HTTPS_PROXY: "http://ann:correct-horse-battery@proxy:3128",
      HTTP_PROXY: "http://proxy:3128",
      "npm_config_//registry.example/:_authToken": "npm-token-of-many-characters",
      UV_INDEX_PRIVATE_PASSWORD: "staple-of-many-characters",
      UV_CACHE_DIR: "/var/cache/uv-of-many-characters",
    };
    const { secrets, credentials } = parse("servers: []", environment);
    const redactor = new Redactor(secrets, credentials);
    const shown = Object.values(environment).map((value) => redactor.redactText(value).value);
    expect(shown.join(" ")).not.toMatch(/correct-horse|npm-token|staple/);
    expect(redactor.redactText("by correct-horse-battery").value).not.toContain("correct-horse-battery");
    expect([shown[1], shown[4]]).toEqual([environment.HTTP_PROXY, environment.UV_CACHE_DIR]);
  });
});

it("refuses an engine that the variable names and that there is not", () => {
  expect(() => parse("", { PTC_ENGINE: "podman" })).toThrow(
    "PTC_ENGINE: must be one of auto, docker, runsc, kubernetes, wasm, not 'podman'",
  );
});

describe("a server that needs a variable that is not set", () => {
  it("is named with the reason, by its name and by its module", () => {
    const configuration = parse('servers: [{ name: git-hub, command: "${X}" }, { name: b, command: y }]');
    const off =
      "X is not set in the environment (ptc.yaml:1: servers[0].command); set it where ptc is started, or write ${X:-default}";
    expect(describeOffServers(configuration)).toEqual([`server 'git-hub' is off: ${off}`]);
    expect([...offServers(configuration)]).toEqual([["git_hub", off]]);
  });

  it("is still refused for what is wrong with it otherwise", () => {
    const unset = 'servers:\n  - name: a\n    env: { A: "${A}" }\n';
    expect(problemIn(unset)).toContain("has none of `command`, `url` and `openapi`");
    expect(problemIn(`${unset}    command: "\${B"\n`)).toContain("has a `${` that is not `${NAME}`");
    const withDefault = (chars: number) => `${unset}    command: "\${B:-${"x".repeat(chars - 6)}}"\n`;
    expect(() => parse(withDefault(4_096))).not.toThrow();
    expect(problemIn(withDefault(4_097))).toContain("has a `${` that is not `${NAME}`");
    expect(problemIn(`${unset}    url: "https://h/"\n`)).toContain(
      "servers[0].env: does not go with transport",
    );
  });
});

it("a model of extract is kept from what is labelled and what it does not accept", async () => {
  const yaml = `servers: [{ name: crm, command: x, labels: [personal] }]
extract: { url: "https://models.example", model: m, accepts: [internal] }`;
  const authorizer = await buildAuthorizer(parse(yaml));
  const own = { namespacedName: "mcp__ptc__extract", server: "ptc", module: "ptc", name: "extract" };
  const tool = { ...own, identifier: "extract", inputSchema: {}, definitionDigest: "" };
  const context = { principal: "local", via: "test" } as unknown as RunContext;
  const read = { seq: 1, tool: "mcp__crm__get", server: "crm", name: "get" };
  const decide = (reads: (typeof read)[]) =>
    authorizer.authorize(context, tool, {}, { calls: reads.length, callsOfTool: 0, reads });
  expect(await decide([])).toMatchObject({ kind: "allow" });
  expect(await decide([read])).toMatchObject({
    kind: "deny",
    rule: "accepts: server 'ptc'",
    reason: expect.stringContaining("it does not accept 'personal' data"),
  });
});

const GIB = 1024 ** 3;

it.each([
  [{ cores: 1, memoryBytes: 8 * GIB }, 512, 2],
  [{ cores: 2, memoryBytes: 24 * GIB }, 512, 4],
  [{ cores: 8, memoryBytes: 4 * GIB }, 512, 4],
  [{ cores: 64, memoryBytes: 512 * GIB }, 512, 32],
  [{ cores: 4, memoryBytes: 1 * GIB }, 2_048, 1],
])("on %j with programs of %i MB, %i run at once", (machine, memoryMb, expected) => {
  expect(defaultParallelPrograms(machine, memoryMb)).toBe(expected);
});
