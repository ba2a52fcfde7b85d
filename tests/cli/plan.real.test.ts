import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { envelopeOf, type Project, usePtc } from "./ptc-process.ts";

const newProject = usePtc();
const SERVER = join(
  import.meta.dirname,
  "../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
);
let project: Project;
let env: Record<string, string>;
let files: string;

beforeAll(async () => {
  project = newProject();
  files = join(project.directory, "desk");
  mkdirSync(join(files, "in"), { recursive: true });
  project.write("desk/in/a.txt", "one");
  project.write("desk/in/b.txt", "two");
  project.write("ptc.yaml", {
    servers: [{ name: "files", transport: "stdio", command: "node", args: [SERVER, files] }],
    languages: ["typescript", "python"],
    approvals: { mode: "plan" },
    sandbox: { warm: 1 },
  });
  env = { XDG_STATE_HOME: join(project.directory, "state") };
  await project.generate();
});

const ptc = (...args: string[]) => project.start(args, { env }).exited;

const PROGRAMS: [file: string, out: string, code: (folder: string) => string][] = [
  [
    "copies.ts",
    "typescript",
    (folder) => `
import * as files from "./servers/files/index.js";
await files.createDirectory({ path: "${folder}/typescript" });
for (const name of ["a", "b"]) {
  const { content } = await files.readTextFile({ path: \`${folder}/in/\${name}.txt\` });
  await files.writeFile({ path: \`${folder}/typescript/\${name}.txt\`, content: String(content).toUpperCase() });
}
globalThis.result = "done";
`,
  ],
  [
    "copies.py",
    "python",
    (folder) => `
from servers import files
files.create_directory(path="${folder}/python")
for name in ["a", "b"]:
    read = files.read_text_file(path=f"${folder}/in/{name}.txt")
    files.write_file(path=f"${folder}/python/{name}.txt", content=str(read["content"]).upper())
result = "done"
`,
  ],
];

test.each(PROGRAMS)(
  "the program %s changes files of a real server only once its plan is approved, by several processes",
  async (file, out, code) => {
    project.write(file, code(files));
    const suspended = envelopeOf(await ptc("run", file, "--suspend"));
    expect(suspended.result).toMatchObject({ ok: false, error: { type: "ApprovalPending" } });
    const [{ ticket, plan }] = JSON.parse((await ptc("approvals", "list", "--json")).stdout);
    const planned = plan.calls.map((call: { tool: string; arguments: object }) => [
      call.tool,
      call.arguments,
    ]);
    expect(planned).toEqual([
      ["mcp__files__write_file", { path: join(files, out, "a.txt"), content: "ONE" }],
      ["mcp__files__write_file", { path: join(files, out, "b.txt"), content: "TWO" }],
    ]);
    expect(plan.more).toBeUndefined();
    expect(readdirSync(join(files, out))).toEqual([]);

    const shown = await ptc("approvals", "show", ticket);
    expect(shown.stdout).toContain("It is the first of 2 calls: 2 of mcp__files__write_file");
    expect((await ptc("approvals", "approve", ticket)).code).toBe(0);
    const ended = envelopeOf(await ptc("run", "--ticket", ticket));
    expect(ended).toMatchObject({ approval_state: "APPROVED", result: { ok: true, data: "done" } });
    expect(readFileSync(join(files, out, "b.txt"), "utf8")).toBe("TWO");
    expect(await ptc("replay", ended.run_id)).toMatchObject({ code: 0 });
  },
);

test("ptc plan tells what a program would change, by its exit code too, and changes nothing", async () => {
  project.write(
    "writes.ts",
    `
import * as files from "./servers/files/index.js";
const { content } = await files.readTextFile({ path: "${files}/in/a.txt" });
await files.writeFile({ path: "${files}/dry.txt", content: String(content) });
`,
  );
  project.write(
    "reads.py",
    `
from servers import files
result = files.read_text_file(path="${files}/in/a.txt")
`,
  );
  project.write("broken.ts", "throw new Error('nothing here');");
  const before = JSON.parse((await ptc("approvals", "list", "--json")).stdout);
  const text = await ptc("plan", "writes.ts");
  expect(text.code).toBe(5);
  expect(text.stdout).toContain("It would change something: 1 call: 1 of mcp__files__write_file");
  expect(text.stdout).toContain('"content": "one"');
  expect(text.stdout).toContain("Nothing else would change.");
  const json = await ptc("plan", "writes.ts", "--json");
  expect(json.code).toBe(5);
  expect(JSON.parse(json.stdout)).toMatchObject({
    outcome: "changes",
    calls: [
      {
        number: 1,
        tool: "mcp__files__write_file",
        arguments: { path: join(files, "dry.txt"), content: "one" },
      },
    ],
  });
  expect(await ptc("plan", "reads.py")).toMatchObject({ code: 0, stdout: "It would change nothing.\n" });
  expect(JSON.parse((await ptc("plan", "reads.py", "--json")).stdout)).toEqual({
    outcome: "unchanged",
    calls: [],
  });
  const broken = await ptc("plan", "broken.ts");
  expect(broken.code).toBe(1);
  expect(broken.stderr).toContain("ScriptError: Error: nothing here");
  expect((await ptc("plan", "none.ts")).code).toBe(2);
  expect(existsSync(join(files, "dry.txt"))).toBe(false);
  expect(JSON.parse((await ptc("approvals", "list", "--json")).stdout)).toEqual(before);
});

test("a program that does more once it sees a real answer waits for another approval, having done no more than planned", async () => {
  project.write(
    "more.ts",
    `
import * as files from "./servers/files/index.js";
const said = await files.writeFile({ path: "${files}/planned.txt", content: "1" });
await files.writeFile({ path: "${files}/planned-too.txt", content: "2" });
if (JSON.stringify(said).includes("Successfully")) await files.writeFile({ path: "${files}/more.txt", content: "3" });
`,
  );
  await ptc("run", "more.ts", "--suspend");
  const [{ ticket, plan }] = JSON.parse((await ptc("approvals", "list", "--json")).stdout);
  expect(plan.calls).toHaveLength(2);
  await ptc("approvals", "approve", ticket);
  const again = envelopeOf(await ptc("run", "--ticket", ticket));
  expect(again.result).toMatchObject({ ok: false, error: { type: "ApprovalPending" } });
  expect(["planned.txt", "planned-too.txt", "more.txt"].map((name) => existsSync(join(files, name)))).toEqual(
    [true, true, false],
  );
  const [next] = JSON.parse((await ptc("approvals", "list", "--json")).stdout);
  expect(next).toMatchObject({ differs: "the approved plan has no such call, or no further one" });
  await ptc("approvals", "deny", next.ticket);
  await ptc("run", "--ticket", next.ticket);
  expect(existsSync(join(files, "more.txt"))).toBe(false);
});
