// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test
import { describe, expect, it } from "vitest";
import { defaultParallelPrograms, parseConfiguration, thisMachine } from "../../configuration/parse.ts";
import { defaultCeiling } from "../../sandbox/pool/pool-policy.ts";
import { Redactor } from "../../secrets/redaction.ts";
import { parse } from "./parse-text.ts";

/** The example that the first design of ptc gave, as its readers have it. */
const FIRST_DESIGN = `# programmatic-executor/config.yaml
servers:
  - name: financial-data
    transport: stdio
    command: node
    args: ["./financial-data-mcp/dist/index.js"]
  - name: document-retrieval
    transport: stdio
    command: python
    args: ["-m", "doc_retrieval_mcp"]
  - name: internal-apis
    transport: sse
    url: "http://localhost:8080/mcp"
# Tool-level access control (uses namespaced names)
tools:
  block:
    - "mcp__internal_apis__delete_resource"
    - "mcp__document_retrieval__admin_reindex"
# Execution constraints
execution:
  timeout_seconds: 120
  max_output_bytes: 65536
`;

describe("a configuration that is right", () => {
  it("is read from the first design's file unchanged", () => {
    const configuration = parse(FIRST_DESIGN);
    expect(configuration.servers).toEqual([
      {
        name: "financial-data",
        module: "financial_data",
        description: undefined,
        callTimeoutMs: 30_000,
        connectTimeoutMs: 30_000,
        flow: { tools: {} },
        piiAllowed: [],
        transport: "stdio",
        command: "node",
        args: ["./financial-data-mcp/dist/index.js"],
        env: {},
        cwd: "/project",
        secretSources: {},
      },
      {
        name: "document-retrieval",
        module: "document_retrieval",
        description: undefined,
        callTimeoutMs: 30_000,
        connectTimeoutMs: 30_000,
        flow: { tools: {} },
        piiAllowed: [],
        transport: "stdio",
        command: "python",
        args: ["-m", "doc_retrieval_mcp"],
        env: {},
        cwd: "/project",
        secretSources: {},
      },
      {
        name: "internal-apis",
        module: "internal_apis",
        description: undefined,
        callTimeoutMs: 30_000,
        connectTimeoutMs: 30_000,
        flow: { tools: {} },
        piiAllowed: [],
        transport: "sse",
        url: "http://localhost:8080/mcp",
        headers: {},
        auth: expect.objectContaining({ type: "oauth", isDefault: true }),
        secretSources: {},
      },
    ]);
    expect(configuration.toolPatterns).toEqual([
      { key: "tools.block[0]", pattern: "mcp__internal_apis__delete_resource", line: 17 },
      { key: "tools.block[1]", pattern: "mcp__document_retrieval__admin_reindex", line: 18 },
    ]);
    expect(configuration.execution).toMatchObject({ timeoutMs: 120_000, maxOutputBytes: 65_536 });
  });

  it("has the labels of servers and tools, and takes a tool that is named there for an entry of its own", () => {
    const { servers, toolPatterns } = parse(`servers:
  - name: my-crm
    command: x
    labels: [personal]
    accepts: []
    tools:
      count: { labels: [] }
`);
    expect(servers[0]?.flow).toEqual({ labels: ["personal"], accepts: [], tools: { count: { labels: [] } } });
    expect(toolPatterns).toEqual([{ key: "servers[0].tools.count", pattern: "mcp__my_crm__count", line: 7 }]);
  });

  it("has every default when it is empty", () => {
    expect(parse("")).toEqual({
      file: "ptc.yaml",
      directory: "/project",
      discovery: "auto",
      direct: [],
      servers: [],
      tools: { allow: undefined, block: [] },
      policy: { files: [], groups: {} },
      approvals: {
        default: "annotated",
        ask: [],
        allow: [],
        suspend: true,
        require: "any",
        expireMs: 86_400_000,
      },
      languages: ["typescript"],
      toolPatterns: [],
      managed: [],
      held: [],
      execution: {
        timeoutMs: 120_000,
        maxOutputBytes: 65_536,
        maxReplyBytes: 16_384,
        maxStderrBytes: 262_144,
        toolCallTimeoutMs: 30_000,
        maxParallelCalls: 10,
        maxToolCalls: 1_000,
        maxParallelPrograms: defaultParallelPrograms(thisMachine(), 512),
        maxQueuedPrograms: 32,
        memoryMb: 512,
        cpus: 1,
        pids: 256,
        typecheck: "error",
        schemaMismatch: "warn",
      },
      sandbox: {
        runtime: "runsc",
        allowWeakerIsolation: false,
        image: "ptc-runner",
        warm: 2,
        maxWarm: Math.max(2, defaultCeiling(thisMachine())),
        channel: "auto",
        pythonPackages: [],
      },
      host: { idleMs: 600_000 },
      learn: true,
      audit: { strict: false, maxFileMb: 64, keepDays: 365 },
      search: {},
      archive: { path: "/project/.ptc/archive.db", keepDays: 30 },
      credentials: [],
      secrets: [],
    });
  });

  it("may leave sections empty, as when all below them is commented out", () => {
    expect(parse("servers:\ntools:\n  block:\nexecution:\n# end\n")).toEqual(parse(""));
  });

  it("may turn the background host off, in the words of each version of YAML", () => {
    expect(parse("host: off").host).toEqual({ off: true, idleMs: 600_000 });
    expect(parse("%YAML 1.1\n---\nhost: off").host.off).toBe(true);
    expect(parse("host: {idle_seconds: 5}").host).toEqual({ idleMs: 5_000 });
    expect(parse("host:").host.off).toBeUndefined();
  });

  it("allows nothing when the list of allowed tools is empty", () => {
    expect(parse("tools: {allow: []}").tools).toEqual({ allow: [], block: [] });
  });

  it("infers the transport from a command or a URL", () => {
    const { servers } = parse("servers: [{name: a, command: x}, {name: b, url: https://host/mcp}]");
    expect(servers.map(({ transport }) => transport)).toEqual(["stdio", "http"]);
  });

  it("resolves paths against the folder of the file", () => {
    const configuration = parse("servers: [{name: a, command: x, cwd: sub}]\narchive: {path: /var/a.db}");
    expect(configuration.servers[0]).toMatchObject({ cwd: "/project/sub" });
    expect(configuration.archive.path).toBe("/var/a.db");
  });

  it("prefers a server's own time limit for calls", () => {
    const { servers } = parse(
      "servers: [{name: a, command: x, call_timeout_seconds: 5}, {name: b, command: x}]\nexecution: {tool_call_timeout_seconds: 7}",
    );
    expect(servers.map(({ callTimeoutMs }) => callTimeoutMs)).toEqual([5_000, 7_000]);
  });

  it("takes a server's own time limit for connecting", () => {
    const { servers } = parse("servers: [{name: a, command: x, connect_timeout_seconds: 90}]");
    expect(servers[0]?.connectTimeoutMs).toBe(90_000);
  });

  it("knows the credentials in variables that servers inherit as secrets", () => {
    const environment = {
      HTTPS_PROXY: "http://ann:correct-horse-battery@proxy:3128",
      HTTP_PROXY: "http://proxy:3128",
      "npm_config_//registry.example/:_authToken": "npm-token-of-many-characters",
      UV_INDEX_PRIVATE_PASSWORD: "staple-of-many-characters",
      UV_CACHE_DIR: "/var/cache/uv-of-many-characters",
    };
    const options = { file: "ptc.yaml", directory: "/project", environment };
    const { secrets, credentials } = parseConfiguration("servers: []", options);
    const redactor = new Redactor(secrets, credentials);
    const shown = Object.values(environment).map((value) => redactor.redactText(value).value);
    expect(shown.join(" ")).not.toMatch(/correct-horse|npm-token|staple/);
    expect(redactor.redactText("by correct-horse-battery").value).not.toContain("correct-horse-battery");
    expect([shown[1], shown[4]]).toEqual([environment.HTTP_PROXY, environment.UV_CACHE_DIR]);
  });

  it("knows the passwords of URLs in args, env and url as secrets", () => {
    const { secrets, credentials } = parse(
      `servers:
  - {name: a, command: x, args: ["--dsn=postgres://u:secret@host/db", "-v", "https://host/x"]}
  - {name: b, url: "https://u:pw@host/mcp"}
  - {name: c, url: "https://host/mcp"}`,
    );
    expect(secrets).toEqual(["--dsn=postgres://u:secret@host/db", "https://u:pw@host/mcp"]);
    expect(credentials).toEqual(secrets);
  });

  it("takes numbers and booleans in args, env and headers as they are written", () => {
    const { servers } = parse(
      "servers:\n  - {name: a, command: x, args: [--port, 8080, 1.0], env: {DEBUG: true, ID: 007, BIG: 0x1F}}\n  - {name: b, url: 'http://h/', headers: {X-Version: 1.10}}",
    );
    expect(servers[0]).toMatchObject({
      args: ["--port", "8080", "1.0"],
      env: { DEBUG: "true", ID: "007", BIG: "0x1F" },
    });
    expect(servers[1]).toMatchObject({ headers: { "X-Version": "1.10" } });
  });

  it("turns the warm pool off with zero, and lets it grow to no less than it keeps", () => {
    expect(parse("sandbox: {warm: 0}").sandbox.warm).toBe(0);
    expect(parse("sandbox: {warm: 64}").sandbox.maxWarm).toBe(64);
    expect(parse("sandbox: {warm: 3, max_warm: 3}").sandbox.maxWarm).toBe(3);
  });

  it("shows a model no more of a program's output than is kept for people", () => {
    const { execution } = parse("execution: {max_output_bytes: 4096, max_reply_bytes: 8192}");
    expect(execution).toMatchObject({ maxOutputBytes: 4_096, maxReplyBytes: 4_096 });
  });

  it("accepts another runtime where weaker isolation is allowed in words", () => {
    expect(parse("sandbox: {runtime: runc, allow_weaker_isolation: true}").sandbox.runtime).toBe("runc");
  });
});

it("personal data is left alone unless kinds are named", () => {
  expect(parse("").pii).toBeUndefined();
  expect(parse("pii:\n").pii).toBeUndefined();
  expect(parse("pii: [email, ip]").pii).toEqual({ kinds: ["email", "ip"], countries: [] });
  expect(parse("pii:\n  redact: [phone, national_id]\n  countries: [DE, US]").pii).toEqual({
    kinds: ["phone", "national_id"],
    countries: ["DE", "US"],
  });
  expect(
    parse("servers: [{ name: crm, command: x, pii: { allow: [email] } }]").servers[0]?.piiAllowed,
  ).toEqual(["email"]);
  expect(parse("servers: [{ name: crm, command: x, pii: }]").servers[0]?.piiAllowed).toEqual([]);
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
