// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test
import { describe, expect, it } from "vitest";
import { parse } from "./parse-text.ts";

const WORD_COUNT = `tools:
  local:
    - name: word_count
      description: Counts the words of a text
      command: ["wc", "-w"]          # "{name}" in an element is an argument's value
      stdin: "{text}"                # without it: the arguments as JSON
      inputSchema: { type: object, properties: { text: { type: string } }, required: [text] }
      output: text                   # text | json
      exit_codes: [0, 1]
      timeout_seconds: 10
`;

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
            exitCodes: [0, 1],
            timeoutMs: 10_000,
            cwd: "/project",
          },
          {
            name: "report",
            program: "./daily.sh",
            elements: [["--{plain}"], [{ argument: "day", isSpread: false }]],
            inputSchema: { type: "object", properties: { day: {} } },
            output: "json",
            exitCodes: [0],
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
});
