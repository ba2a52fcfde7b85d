// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test
import { describe, expect, it } from "vitest";
import type { Configuration } from "../../cli/configuration/configuration.ts";
import { ConfigurationError } from "../../cli/configuration/configuration-error.ts";
import { parseConfiguration } from "../../cli/configuration/parse.ts";

function parse(text: string, environment: Record<string, string> = {}): Configuration {
  return parseConfiguration(text, { file: "ptc.yaml", directory: "/project", environment });
}

function messageOf(text: string, environment: Record<string, string> = {}): string {
  try {
    parse(text, environment);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return (error as Error).message;
  }
  throw new Error("the configuration was accepted");
}

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
        transport: "stdio",
        command: "node",
        args: ["./financial-data-mcp/dist/index.js"],
        env: {},
        cwd: "/project",
      },
      {
        name: "document-retrieval",
        module: "document_retrieval",
        description: undefined,
        callTimeoutMs: 30_000,
        transport: "stdio",
        command: "python",
        args: ["-m", "doc_retrieval_mcp"],
        env: {},
        cwd: "/project",
      },
      {
        name: "internal-apis",
        module: "internal_apis",
        description: undefined,
        callTimeoutMs: 30_000,
        transport: "sse",
        url: "http://localhost:8080/mcp",
        headers: {},
      },
    ]);
    expect(configuration.toolPatterns).toEqual([
      { key: "tools.block[0]", pattern: "mcp__internal_apis__delete_resource", line: 17 },
      { key: "tools.block[1]", pattern: "mcp__document_retrieval__admin_reindex", line: 18 },
    ]);
    expect(configuration.execution).toMatchObject({ timeoutMs: 120_000, maxOutputBytes: 65_536 });
  });

  it("has every default when it is empty", () => {
    expect(parse("")).toEqual({
      file: "ptc.yaml",
      directory: "/project",
      servers: [],
      tools: { allow: undefined, block: [] },
      approvals: { ask: [], allow: [] },
      toolPatterns: [],
      execution: {
        timeoutMs: 120_000,
        maxOutputBytes: 65_536,
        maxStderrBytes: 262_144,
        toolCallTimeoutMs: 30_000,
        maxParallelCalls: 10,
        maxToolCalls: 1_000,
        maxParallelPrograms: 4,
        memoryMb: 512,
        cpus: 1,
        pids: 256,
        typecheck: "error",
      },
      sandbox: { runtime: "runsc", allowWeakerIsolation: false, image: "ptc-runner", warm: 2 },
      archive: { path: "/project/.ptc/archive.db", keepDays: 30 },
      credentials: [],
      secrets: [],
    });
  });

  it("may leave sections empty, as when all below them is commented out", () => {
    expect(parse("servers:\ntools:\n  block:\nexecution:\n# end\n")).toEqual(parse(""));
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

  it("turns the warm pool off with zero, and only that", () => {
    expect(parse("sandbox: {warm: 0}").sandbox.warm).toBe(0);
  });

  it("accepts another runtime where weaker isolation is allowed in words", () => {
    expect(parse("sandbox: {runtime: runc, allow_weaker_isolation: true}").sandbox.runtime).toBe("runc");
  });
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
      ["Bearer header-token", "header-token", "literal-key", "s3cr3t-value", "url-password"].sort(),
    );
  });
});

const SERVER = "servers:\n  - name: a\n    command: x\n";

const BAD: [name: string, yaml: string, message: string][] = [
  ["a scalar", "hello", "ptc.yaml:1: the file: must be a mapping of keys to values"],
  ["an unknown key", "server: []", "ptc.yaml:1: server: is not a known key; did you mean 'servers'?"],
  [
    "an unknown key that is like none",
    "tools:\n  zzzzzz: 1",
    "ptc.yaml:2: tools.zzzzzz: is not a known key; known here: allow, block",
  ],
  [
    "an unknown key of a server",
    "servers:\n  - name: a\n    comand: x",
    "ptc.yaml:3: servers[0].comand: is not a known key; did you mean 'command'?",
  ],
  [
    "the first of several faults",
    "execution:\n  cpus: many\n  pids: few\n",
    "ptc.yaml:2: execution.cpus: must be a number from 0.1 to 256",
  ],
  ["a wrong type", "servers: 3", "ptc.yaml:1: servers: must be a list, one `- ` entry a line"],
  ["a list for a section", "execution: []", "ptc.yaml:1: execution: must be a mapping of keys to values"],
  [
    "a server that is a text",
    "servers:\n  - node",
    "ptc.yaml:2: servers[0]: must be a mapping of keys to values",
  ],
  [
    "a time limit of zero",
    "execution:\n  timeout_seconds: 0",
    "ptc.yaml:2: execution.timeout_seconds: must be a whole number from 1 to 86400",
  ],
  [
    "a time limit that is a text",
    "execution:\n  timeout_seconds: '120'",
    "ptc.yaml:2: execution.timeout_seconds: must be a whole number from 1 to 86400",
  ],
  [
    "an output cap too small for an envelope",
    "execution: {max_output_bytes: 2047}",
    "ptc.yaml:1: execution.max_output_bytes: must be a whole number from 2048 to 33554432",
  ],
  [
    "an infinite number",
    "execution: {cpus: .inf}",
    "ptc.yaml:1: execution.cpus: must be a number from 0.1 to 256",
  ],
  ["a negative pool", "sandbox: {warm: -1}", "ptc.yaml:1: sandbox.warm: must be a whole number from 0 to 64"],
  [
    "an unknown choice",
    "execution: {typecheck: on}",
    "ptc.yaml:1: execution.typecheck: must be one of error, warn, off",
  ],
  [
    "a runtime that isolates less",
    "sandbox:\n  runtime: runc",
    "ptc.yaml:2: sandbox.runtime: isolates less than runsc; use runsc, or set allow_weaker_isolation: true",
  ],
  [
    "both allow and block",
    "tools:\n  allow: [a]\n  block: [b]",
    "ptc.yaml:3: tools.block: cannot stand beside `allow`; keep one of the two",
  ],
  [
    "an allow list left empty by accident",
    "tools:\n  allow:",
    "ptc.yaml:2: tools.allow: must be a list, one `- ` entry a line",
  ],
  [
    "a pattern with spaces",
    "approvals:\n  ask:\n    - a b",
    "ptc.yaml:3: approvals.ask[0]: must be a tool's name without spaces; `*` stands for any characters",
  ],
  [
    "two servers of one name",
    `${SERVER}  - name: a\n    command: y`,
    "ptc.yaml:4: servers[1].name: 'a' is also the name of servers[0]; rename one",
  ],
  [
    "two servers of one module",
    "servers:\n  - {name: a-b, command: x}\n  - {name: A.b, command: y}",
    "ptc.yaml:3: servers[1].name: 'A.b' becomes 'a_b' in code, as does 'a-b' of servers[0]; rename one",
  ],
  [
    "a name with a slash",
    "servers:\n  - {name: a/b, command: x}",
    "ptc.yaml:2: servers[0].name: must be 1 to 64 letters, digits, `.`, `_` or `-`",
  ],
  [
    "no name",
    "servers:\n  - command: x",
    "ptc.yaml:2: servers[0].name: must be a text; give the server a name",
  ],
  [
    "a server that cannot be reached in any way",
    "servers:\n  - name: a",
    "ptc.yaml:2: servers[0]: has neither `command` nor `url`; say how to reach the server",
  ],
  [
    "stdio without a command",
    "servers:\n  - name: a\n    transport: stdio",
    "ptc.yaml:2: servers[0]: has no `command`, which transport stdio needs; add one",
  ],
  [
    "http without a URL",
    "servers:\n  - name: a\n    transport: http",
    "ptc.yaml:2: servers[0]: has no `url`, which transport http needs; add one",
  ],
  [
    "a URL on stdio",
    `${SERVER}    transport: stdio\n    url: http://h/`,
    "ptc.yaml:5: servers[0].url: does not go with transport stdio; remove it, or change the transport",
  ],
  [
    "a command on http",
    "servers:\n  - name: a\n    url: http://h/\n    command: x",
    "ptc.yaml:4: servers[0].command: does not go with transport http; remove it, or change the transport",
  ],
  [
    "a URL that is none",
    "servers:\n  - {name: a, transport: sse, url: 'file:///etc/passwd'}",
    "ptc.yaml:2: servers[0].url: is not a URL; write http://host:port/path or https://host/path",
  ],
  [
    "an unknown transport",
    "servers:\n  - {name: a, transport: websocket, url: 'http://h/'}",
    "ptc.yaml:2: servers[0].transport: must be one of stdio, http, sse",
  ],
  [
    "args that are a text",
    `${SERVER}    args: -v`,
    "ptc.yaml:4: servers[0].args: must be a list, one `- ` entry a line",
  ],
  [
    "an env value that is missing",
    `${SERVER}    env:\n      A:`,
    "ptc.yaml:5: servers[0].env.A: must be a text; put it in quotes",
  ],
  [
    "a header with a line break",
    'servers:\n  - {name: a, url: "http://h/", headers: {X: "a\\nb"}}',
    "ptc.yaml:2: servers[0].headers.X: holds a character that no HTTP header may; remove it",
  ],
  [
    "a variable that is not set",
    `${SERVER}    env:\n      API_KEY: "\${FIN_API_KEY}"`,
    "ptc.yaml:5: servers[0].env.API_KEY: ${FIN_API_KEY} is not set in the environment; set FIN_API_KEY, or write ${FIN_API_KEY:-default}",
  ],
  [
    "a variable that is not closed",
    `${SERVER}    args: ["\${A"]`,
    "ptc.yaml:4: servers[0].args[0]: has a `${` that is not `${NAME}` or `${NAME:-default}`; write `$${` for a plain `${`",
  ],
  ["a key given twice", "tools: {}\ntools: {}", "ptc.yaml:2: the key 'tools' stands twice; remove one"],
  [
    "a tab",
    "tools:\n\tblock: []",
    "ptc.yaml:2: not valid YAML: this line is indented with a tab; use spaces",
  ],
  [
    "two documents",
    "tools: {}\n---\ntools: {}",
    "ptc.yaml:2: not valid YAML: this line has more than one document; remove the `---` line",
  ],
  [
    "a bracket left open",
    "servers: [",
    "ptc.yaml:1: not valid YAML: this line is indented wrongly, or has a bracket that is not closed; compare it with the lines around it",
  ],
  [
    "a tag",
    "servers: !!python/object x",
    "ptc.yaml:1: not valid YAML: this line has a tag that is not supported; put a value that starts with `!` in quotes",
  ],
  [
    "an alias to nothing",
    "servers: *nothing",
    "ptc.yaml:1: an alias without an anchor; put a value that starts with `*` in quotes",
  ],
];

describe("a configuration that is wrong", () => {
  it.each(BAD)("says so in one line: %s", (_, yaml, message) => {
    expect(messageOf(yaml)).toBe(message);
  });

  it("never has the value of a secret in its message", () => {
    const secret = "hunter2-and-more";
    const texts = [
      `servers: [{name: a, url: '${secret}'}]`,
      `servers: [{name: a, url: 'http://h/', headers: '${secret}'}]`,
      `servers: [{name: a, url: 'http://h/', headers: {A: "${secret}\\n"}}]`,
      `servers: [{name: a, url: 'http://h/', headers: {A: !${secret} x}}]`,
      `servers: [{name: a, url: 'http://h/', headers: {A: *${secret}}}]`,
      `servers: [{name: a, command: x, env: {A: ["${secret}"]}}]`,
      `servers: [{name: a, transport: '${secret}', url: 'http://h/'}]`,
      `servers: [{name: a, url: '\${SECRET}'}]`,
      `servers: [{name: a, command: x, env: {A: "\\q${secret}"}}]`,
    ];
    for (const text of texts) expect(messageOf(text, { SECRET: secret })).not.toContain(secret);
  });
});

describe("a configuration made to harm", () => {
  const wide = (of: string) => `[${Array.from({ length: 9 }, () => of).join(",")}]`;
  const bomb = [
    "a: &a [x]",
    ...[..."bcdefghi"].map((name, i) => `${name}: &${name} ${wide(`*${"abcdefgh"[i]}`)}`),
  ];
  const full = (unit: string) => unit.repeat(Math.floor(262_144 / unit.length));
  const HARMFUL: [name: string, text: string][] = [
    ["aliases that multiply", bomb.join("\n")],
    ["an alias of its own container", "servers: &a [*a]"],
    ["many aliases", `servers:\n  - &a x\n${"  - *a\n".repeat(10_000)}`],
    ["many keys", Array.from({ length: 25_000 }, (_, i) => `k${i}:`).join("\n")],
    ["deep lists", full("[")],
    ["deep sequences", full("- ")],
    ["quotes only", full('"')],
    ["closing braces only", full("}")],
    ["directives only", full("%\n")],
    ["many anchors", full("&a ")],
    ["a file too large", " ".repeat(262_145)],
    ["a prototype", "__proto__: {servers: []}"],
    ["a prototype as a variable", "servers: [{name: a, command: x, env: {__proto__: x}}]"],
  ];

  it.each(HARMFUL)("is refused in bounded time: %s", { timeout: 15_000 }, (_, text) => {
    const message = messageOf(text);
    expect(message).toMatch(/^ptc\.yaml:\d+: /);
    expect(message.length).toBeLessThan(400);
    expect(message).not.toContain("\n");
  });

  it("is refused for its aliases, before anything walks what they make", () => {
    expect(messageOf(bomb.join("\n"))).toBe(
      "ptc.yaml:1: aliases multiply beyond any use; write the values out",
    );
    const many = `servers:\n  - &a x\n${"  - *a\n".repeat(101)}`;
    expect(messageOf(many)).toBe("ptc.yaml:103: more than 100 aliases; write the values out");
  });
});
