// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test
import { describe, expect, it } from "vitest";
import { parse, problemIn } from "./parse-text.ts";

const WORD_COUNT = `tools:
  local:
    - name: word_count
      description: Counts the words of a text
      command: ["wc", "-w"]          # "{name}" in an element is an argument's value
      stdin: "{text}"                # without it: the arguments as JSON
      inputSchema: { type: object, properties: { text: { type: string } }, required: [text] }
      output: text                   # text | json
      timeout_seconds: 10
`;

const withTool = (lines: string) =>
  `tools:\n  local:\n    - name: a\n      command: [x]\n      inputSchema: { properties: { b: {} } }\n${lines}`;

describe("tools.local", () => {
  it("makes a server of commands", () => {
    const { servers, credentials, secrets } = parse(
      `${WORD_COUNT}      labels: [internal]
    - name: report
      command: ["./\${KIND}.sh", "--{{plain}}", "{day}"]
      inputSchema: { properties: { day: {} } }
      output: json
      outputSchema: { type: object }
      annotations: { readOnlyHint: true }
      cwd: scripts
      env: { REPORT_TOKEN: "\${TOKEN}", PORT: 8080, VAULT: { keyring: hub } }
    - name: unset
      command: ["x", "{nothing} \${MISSING}"]
      inputSchema: {}
execution: { tool_call_timeout_seconds: 40 }
`,
      { KIND: "daily", TOKEN: "a-secret-token" },
    );
    expect(servers).toMatchObject([
      {
        name: "local",
        transport: "local",
        callTimeoutMs: 40_000,
        flow: { tools: { word_count: { labels: ["internal"] } } },
        env: { "report/REPORT_TOKEN": "a-secret-token", "report/PORT": "8080" },
        secretSources: { "report/VAULT": { from: "keyring", name: "hub" } },
        localTools: [
          {
            name: "word_count",
            program: "wc",
            elements: [["-w"]],
            output: "text",
            timeoutMs: 10_000,
            cwd: "/project",
          },
          {
            name: "report",
            program: "./daily.sh",
            elements: [["--{plain}"], [{ argument: "day", isSpread: false }]],
            inputSchema: { type: "object", properties: { day: {} } },
            output: "json",
            timeoutMs: 40_000,
            cwd: "/project/scripts",
          },
          { name: "unset", off: expect.stringContaining("MISSING is not set in the environment (ptc.yaml:") },
        ],
      },
    ]);
    expect(credentials).toEqual(["a-secret-token", "daily"]);
    expect(secrets).toContain("8080");
    expect(parse("tools: { local: }").servers).toEqual([]);
  });

  const bad: [name: string, yaml: string, message: string][] = [
    ["no list", "tools: { local: x }", "ptc.yaml:1: tools.local: must be a list, one `- ` entry a line"],
    [
      "no mapping",
      "tools: { local: [x] }",
      "ptc.yaml:1: tools.local[0]: must be a mapping of keys to values",
    ],
    [
      "no name",
      "tools:\n  local:\n    - command: [x]\n      inputSchema: {}",
      "ptc.yaml:3: tools.local[0].name: must be a text; give the tool a name",
    ],
    [
      "an unknown key",
      withTool("      shell: true"),
      "ptc.yaml:6: tools.local[0].shell: is not a known key; known here:",
    ],
    [
      "a command line",
      withTool("").replace("[x]", "x -y"),
      'ptc.yaml:4: tools.local[0].command: must be a list of a program and its arguments: ["wc", "-w"]',
    ],
    ["no command", withTool("").replace("[x]", "[]"), "ptc.yaml:4: tools.local[0].command: must be a list"],
    [
      "an empty program",
      withTool("").replace("[x]", "['']"),
      "ptc.yaml:4: tools.local[0].command[0]: must be the name or the path of a program",
    ],
    [
      "a program that an argument chooses",
      withTool("").replace("[x]", "['{b}']"),
      "ptc.yaml:4: tools.local[0].command[0]: is the program, which no argument can choose; write it out",
    ],
    [
      "a number",
      withTool("").replace("[x]", "[x, [1]]"),
      "ptc.yaml:4: tools.local[0].command[1]: must be a text; put it in quotes",
    ],
    [
      "an unknown argument",
      withTool("").replace("[x]", "[x, '{c}']"),
      "ptc.yaml:4: tools.local[0].command[1]: `{c}` is none of inputSchema.properties; add it there, or write `{{c}}` for that text",
    ],
    [
      "an unknown argument in stdin",
      withTool("      stdin: '{c}'"),
      "ptc.yaml:6: tools.local[0].stdin: `{c}` is none of",
    ],
    [
      "items with other text",
      withTool("").replace("[x]", "[x, 'a{b...}']"),
      "ptc.yaml:4: tools.local[0].command[1]: has a list's items with other text",
    ],
    [
      "no schema",
      withTool("").replace("{ properties: { b: {} } }", "text"),
      "ptc.yaml:5: tools.local[0].inputSchema: must be a JSON Schema, as a mapping",
    ],
    [
      "a type that is none",
      withTool("").replace("{ b: {} }", "{ b: { type: text } }"),
      "ptc.yaml:5: tools.local[0].inputSchema.properties.b.type: must be one of object, array,",
    ],
    [
      "required that is no list",
      withTool("").replace("{ properties", "{ required: b, properties"),
      "ptc.yaml:5: tools.local[0].inputSchema.required: must be a list of names of properties",
    ],
    [
      "a schema of no object",
      withTool("").replace("{ properties", "{ type: array, properties"),
      "ptc.yaml:5: tools.local[0].inputSchema.type: must be object: arguments have names",
    ],
    [
      "an outputSchema of a text",
      withTool("      outputSchema: {}"),
      "ptc.yaml:6: tools.local[0].outputSchema: goes with output: json only; change the output",
    ],
    [
      "an output that is none",
      withTool("      output: xml"),
      "ptc.yaml:6: tools.local[0].output: must be one of text, json",
    ],
    [
      "no time",
      withTool("      timeout_seconds: 0"),
      "ptc.yaml:6: tools.local[0].timeout_seconds: must be a whole number from 1 to 86400",
    ],
    [
      "a hint that is none",
      withTool("      annotations: { readOnlyHint: yes please }"),
      "ptc.yaml:6: tools.local[0].annotations.readOnlyHint: must be true or false",
    ],
    [
      "the same name twice",
      `${withTool("")}    - { name: a, command: [x], inputSchema: {} }`,
      "ptc.yaml:6: tools.local[1].name: 'a' is also the name of tools.local[0]; rename one",
    ],
    [
      "a server of that name",
      `servers: [{ name: Local, command: x }]\n${withTool("")}`,
      "ptc.yaml:1: servers[0].name: is the name of the server of tools.local; rename this one",
    ],
    [
      "a variable that is none",
      withTool("      env: { A: '${x y}' }"),
      "ptc.yaml:6: tools.local[0].env.A: has a `${` that is not",
    ],
  ];
  for (const [name, yaml, message] of bad)
    it(`refuses ${name}`, () => expect(problemIn(yaml).slice(0, message.length)).toBe(message));
});
