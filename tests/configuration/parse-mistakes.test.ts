// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test
import { describe, expect, it } from "vitest";
import { problemIn } from "./parse-text.ts";

const SERVER = "servers:\n  - name: a\n    command: x\n";

const BAD: [name: string, yaml: string, message: string][] = [
  ["a scalar", "hello", "ptc.yaml:1: the file: must be a mapping of keys to values"],
  ["an unknown key", "server: []", "ptc.yaml:1: server: is not a known key; did you mean 'servers'?"],
  [
    "an unknown key that is like none",
    "tools:\n  zzzzzz: 1",
    "ptc.yaml:2: tools.zzzzzz: is not a known key; known here: allow, block, local",
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
  ["a host that is on", "host: on", "ptc.yaml:1: host: must be off, or a mapping with idle_seconds"],
  [
    "a host that never waits",
    "host: {idle_seconds: 0}",
    "ptc.yaml:1: host.idle_seconds: must be a whole number from 1 to 86400",
  ],
  ["a negative pool", "sandbox: {warm: -1}", "ptc.yaml:1: sandbox.warm: must be a whole number from 0 to 64"],
  [
    "a pool that may grow to less than it is",
    "sandbox: {warm: 4, max_warm: 3}",
    "ptc.yaml:1: sandbox.max_warm: cannot be less than `warm`, which is 4",
  ],
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
    "ptc.yaml:5: servers[0].env.A: must be a text in quotes, or a mapping with env, file, command or keyring",
  ],
  [
    "a header with a line break",
    'servers:\n  - {name: a, url: "http://h/", headers: {X: "a\\nb"}}',
    "ptc.yaml:2: servers[0].headers.X: holds a character that no HTTP header may; remove it",
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
    expect(problemIn(yaml)).toBe(message);
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
    for (const text of texts) expect(problemIn(text, { SECRET: secret })).not.toContain(secret);
  });
});
