import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectInProcess } from "../in-process.ts";
import { fixtureServer } from "../ptc-process.ts";
import { allCommands, examplesOf } from "./printed-examples.ts";

const TOOLS = [
  {
    name: "list_issues",
    description: "List the issues of an owner",
    inputSchema: {
      type: "object",
      properties: {
        owner: { type: "string" },
        labels: { type: "array", items: { type: "string" } },
        limit: { type: "integer" },
      },
      required: ["owner"],
    },
  },
  {
    name: "create_pull_request",
    description: "Create a pull request",
    inputSchema: { type: "object", properties: { title: { type: "string" } } },
  },
];

const CASES = `cases:
  - name: issues may be read
    tool: mcp__github__list_issues
    expect: allow
`;

/** Commands whose examples need what is not in this process, and what that is. Tests of their own run them. */
const ELSEWHERE: Record<string, string> = {
  up: "an engine",
  setup: "a machine that it may change",
  init: "the file of a client",
  run: "a sandbox",
  plan: "a sandbox",
  "install codex": "somebody who says yes",
  "auth set": "a secret on stdin",
  add: "a server to try",
  serve: "a client",
  servers: "a sandbox",
  console: "a browser",
  replay: "a sandbox",
  test: "a sandbox",
  doctor: "a sandbox",
  image: "an engine",
  uninstall: "an engine, and a machine from which it may remove",
  "sessions end": "a session",
  "approvals show": "a question",
  "approvals approve": "a question",
  "approvals deny": "a question",
  "audit --event login,approval --follow": "an end",
  "audit verify --head": "a digest that was kept",
  "runs verify --head": "a head that was kept",
  "auth login": "a browser",
  "auth logout": "a login",
  "save 3f9a2c": "the run of a program",
  "storage migrate": "a PostgreSQL",
  "storage import": "a PostgreSQL",
  "storage reencrypt": "a PostgreSQL",
};

describe("the examples that commands print in their help", () => {
  it("do what they say in a project that has what they name", async () => {
    const list = fixtureServer("github", "tools-from-file.mjs", ["tools.json"]);
    const { project, ptc, call } = projectInProcess({ servers: [list], sessions: true });
    project.write("tools.json", TOOLS);
    project.write("report.ts", "// What happened\nglobalThis.result = { month: data.month };\n");
    project.write("policy-tests.yaml", CASES);
    expect(await ptc(["generate"])).toMatchObject({ code: 0 });
    expect(await call("github.list_issues", "owner=ada", "--envelope")).toMatchObject({ code: 0 });
    const [{ run_id: run }] = JSON.parse((await ptc(["runs", "list", "--json"])).stdout);

    const { helps } = await allCommands();
    const failed: string[] = [];
    const ran = new Set<string>();
    for (const [path, help] of helps)
      for (const words of examplesOf(help)) {
        const line = words.join(" ");
        if (ran.has(line) || Object.keys(ELSEWHERE).some((each) => `${line} `.startsWith(`${each} `)))
          continue;
        ran.add(line);
        const { code, stderr } = await ptc(words.map((word) => word.replace(/^3f9a12c0$/, run)));
        if (code !== 0) failed.push(`${path}: ptc ${line}: ${code} ${stderr}`);
      }
    expect(failed).toEqual([]);
    expect(ran.size).toBeGreaterThan(30);
    for (const written of ["failing-run.ptc", "programs/weekly-report.yaml", "run.html", "week.html"])
      expect(existsSync(join(project.directory, written)), written).toBe(true);
  });
});
