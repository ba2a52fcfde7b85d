import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compile } from "../editor/language-server.ts";
import { projectInProcess } from "../in-process.ts";
import { fixtureServer } from "../ptc-process.ts";

const PYRIGHT = createRequire(import.meta.url).resolve("pyright/index.js");
const TITLE_TS = `// The title of a document
import { getDocument } from "./servers/docs/index.js";
const { title } = await getDocument({ documentId: data.id });
globalThis.result = { title };
`;
const TITLE_PY = `"""The title of a document"""
from servers.docs import get_document
result = {"title": get_document(documentId=data["id"])["title"]}
`;
const INPUT = `input:
  type: object
  properties:
    id: { type: string }
    limit: { type: integer, minimum: 1 }
    timeout: { type: number }
    loud: { type: boolean }
  required: [id]
  additionalProperties: false
`;
const OUTPUT = "output: { type: object, properties: { title: { type: string } }, required: [title] }\n";
const manifestOf = (program: string, rest = INPUT + OUTPUT) =>
  `version: 1\ndescription: The title of a document\nprogram: ${program}\nexpose: false\n${rest}`;

async function setUp() {
  const { project, ptc } = projectInProcess({
    servers: [fixtureServer("docs", "documents.mjs")],
    languages: ["typescript", "python"],
  });
  const { directory } = project;
  mkdirSync(join(directory, "programs"));
  project.write("programs/doc-title.ts", TITLE_TS);
  project.write("programs/doc-title.yaml", manifestOf("doc-title.ts"));
  project.write("programs/page-title.py", TITLE_PY);
  project.write("programs/page-title.yaml", manifestOf("page-title.py"));
  return { project, directory, ptc: (...args: string[]) => ptc(args) };
}

/** The folder of a project that has one program with a recorded example, and needs no server. */
async function setUpExample() {
  const { project, ptc } = projectInProcess({ servers: [], sandbox: { image: "ptc-none:none" } });
  const recorded = join(import.meta.dirname, "../../../examples/recipes/programs/open-tasks.example.json");
  const example = JSON.parse(readFileSync(recorded, "utf8"));
  mkdirSync(join(project.directory, "programs"));
  project.write("programs/one.ts", "globalThis.result = 1;\n");
  project.write("programs/one.yaml", "version: 1\ndescription: One\nprogram: one.ts\ninput: {}\n");
  project.write("programs/one.example.json", { ...example, tools: [], calls: [], data: {} });
  return { project, ptc: (...args: string[]) => ptc(args) };
}

describe("what editors read of saved programs", () => {
  it("is written by generate and save, and checked", async () => {
    const { project, directory, ptc } = await setUp();
    expect(await ptc("generate")).toMatchObject({ code: 0 });
    project.write(
      "caller.ts",
      'import { docTitle } from "./programs/index.js";\nconst { title } = await docTitle({ id: "a" });\nresult = title;\n',
    );
    expect(compile(directory)).toEqual([]);
    project.write(
      "wrong.ts",
      'import { docTitle } from "./programs/index.js";\nawait docTitle({ ids: "a" });\n',
    );
    expect(compile(directory).join("\n")).toMatch(/^wrong\.ts\(2,18\): error TS/);
    project.write("caller.py", 'from programs import page_title\nprint(page_title(ids="a"))\n');
    const { stdout } = spawnSync(process.execPath, [PYRIGHT, "-p", directory, "--outputjson"], {
      encoding: "utf8",
    });
    const found = JSON.parse(stdout).generalDiagnostics as { file: string; rule: string }[];
    expect(found.filter(({ file }) => file.endsWith("caller.py")).map(({ rule }) => rule)).toContain(
      "reportCallIssue",
    );
    expect(await ptc("generate", "--check")).toMatchObject({ code: 0 });
    project.write("programs/doc-title.yaml", manifestOf("doc-title.ts", INPUT.replace("limit", "most")));
    expect(await ptc("generate", "--check")).toMatchObject({ code: 4 });
    expect(await ptc("generate")).toMatchObject({ code: 0 });
    expect(project.read("generated/servers/programs/index.ts")).toContain("most?: number");
    project.write("again.ts", TITLE_TS);
    expect(await ptc("save", "again.ts", "--name", "other-title")).toMatchObject({ code: 0 });
    expect(project.read("generated/servers/programs/index.ts")).toContain("otherTitle");
    expect(await ptc("generate", "--check")).toMatchObject({ code: 0 });
    rmSync(join(directory, "programs"), { recursive: true });
    expect(await ptc("generate", "--check")).toMatchObject({ code: 4 });
    expect(await ptc("generate")).toMatchObject({ code: 0 });
    expect(existsSync(join(directory, "generated/programs"))).toBe(false);
    expect(existsSync(join(directory, "generated/servers/programs"))).toBe(false);
  });
});

describe("saving a program", () => {
  it("checks what it takes of its data against its input schema, in both languages", async () => {
    const { project, ptc } = await setUp();
    expect(await ptc("generate")).toMatchObject({ code: 0 });
    project.write("wrong.ts", TITLE_TS.replace("data.id", "data.ids"));
    const typescript = await ptc("save", "wrong.ts", "--name", "doc-title", "--force");
    expect(typescript).toMatchObject({ code: 2 });
    expect(typescript.stderr).toContain("'ids' is not a property of data; did you mean 'id'?");
    const members = ["data.limit", "limit"].map((each) => TITLE_TS.replace("data.id", each));
    for (const code of members) {
      project.write("wrong.ts", `const { limit } = data;\n${code}`);
      const wrong = await ptc("save", "wrong.ts", "--name", "doc-title", "--force");
      expect(wrong.stderr).toContain("'documentId' of getDocument's argument must be string, not number");
    }
    project.write("wrong.py", TITLE_PY.replace('"id"', '"ids"'));
    const python = await ptc("save", "wrong.py", "--name", "page-title", "--force");
    expect(python).toMatchObject({ code: 2 });
    expect(python.stderr).toContain("data has no 'ids'; did you mean 'id'?");
    project.write("wrong.py", TITLE_PY.replace('data["id"]', 'data["limit"]'));
    expect((await ptc("save", "wrong.py", "--name", "page-title", "--force")).stderr).toContain(
      "must be str",
    );
    expect(project.read("programs/doc-title.ts")).toBe(TITLE_TS);
    expect(project.read("programs/page-title.py")).toBe(TITLE_PY);
    // A schema that is open says nothing of other members.
    const open = INPUT.replace("  additionalProperties: false\n", "");
    project.write("programs/doc-title.yaml", manifestOf("doc-title.ts", open));
    project.write("right.ts", TITLE_TS.replace("data.id", "data.ids"));
    expect(await ptc("save", "right.ts", "--name", "doc-title", "--force")).toMatchObject({ code: 0 });
  });

  it("lets one of two that save at once win, and leaves nothing else behind", async () => {
    const { project, directory, ptc } = await setUp();
    expect(await ptc("generate")).toMatchObject({ code: 0 });
    project.write("first.ts", TITLE_TS);
    project.write("second.py", TITLE_PY);
    const saved = await Promise.all(
      ["first.ts", "second.py"].map((file) => ptc("save", file, "--name", "both")),
    );
    expect(saved.map(({ code }) => code).sort()).toEqual([0, 2]);
    expect(saved.find(({ code }) => code === 2)?.stderr).toMatch(
      /^ptc: programs\/both\.\S+ is there already/,
    );
    expect(readdirSync(join(directory, "programs")).filter((file) => /both|\.tmp/.test(file))).toHaveLength(
      2,
    );
    const forced = await Promise.all(
      ["first.ts", "second.py"].map((file) => ptc("save", file, "--name", "both", "--force")),
    );
    expect(forced.map(({ code }) => code)).toEqual([0, 0]);
    const files = readdirSync(join(directory, "programs")).filter((file) => /both|\.tmp/.test(file));
    expect(files).toHaveLength(2);
    expect(project.read("programs/both.yaml")).toContain(
      `program: ${files.find((file) => !/yaml/.test(file))}`,
    );
  });

  it("leaves all as it was where it cannot write", async () => {
    const { project, directory, ptc } = await setUp();
    expect(await ptc("generate")).toMatchObject({ code: 0 });
    project.write("again.ts", TITLE_TS.replace("title };", "title, more: 1 };"));
    rmSync(join(directory, "programs/doc-title.yaml"));
    mkdirSync(join(directory, "programs/doc-title.yaml/in-the-way"), { recursive: true });
    const saved = await ptc("save", "again.ts", "--name", "doc-title", "--force");
    expect(saved).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be written") });
    expect(saved.stderr.trim().split("\n")).toHaveLength(1);
    expect(project.read("programs/doc-title.ts")).toBe(TITLE_TS);
    expect(readdirSync(join(directory, "programs")).filter((file) => file.endsWith(".tmp"))).toEqual([]);
    rmSync(join(directory, "programs"), { recursive: true });
    writeFileSync(join(directory, "programs"), "");
    chmodSync(join(directory, "programs"), 0o644);
    expect(await ptc("save", "again.ts", "--name", "doc-title")).toMatchObject({ code: 2 });
  });
});

describe("running a saved program by its name", () => {
  it("says in one line what is wrong with its arguments, and starts nothing", async () => {
    const { ptc } = await setUp();
    expect(await ptc("generate")).toMatchObject({ code: 0 });
    const help = await ptc("run", "doc-title", "--help");
    expect(help.stdout).toMatch(/--id TEXT +required, a text\n +--limit NUMBER +a whole number/);
    expect(help.stdout).toContain("timeout=NUMBER");
    const wrong: [string[], string][] = [
      [["--id"], "--id needs a value"],
      [["--ids", "x"], "doc-title has no argument 'ids'; did you mean 'id'?"],
      [["--limit", "2"], "doc-title needs 'id'"],
      [["--id", "x", "--limit", "two"], "limit=two: must be a whole number"],
      [["--id", "x", "--limit", "0"], "doc-title: arguments.limit must be >= 1"],
      [["--id", "x", "--id", "y"], "'id' stands twice"],
      [["x"], "'x' is no argument"],
      [["--data", "{"], "--data: "],
      [["--data", "[]"], "--data: must be an object"],
      [["--data", '{"id": 1}'], "doc-title: arguments.id must be string"],
      [["--data", '{"id": "x"}', "--language", "python"], "--language: a saved program has its own"],
      [["--id", "x", "--loud", "--limit", "1.5"], "limit=1.5: must be a whole number"],
    ];
    for (const [words, said] of wrong) {
      const { code, stdout, stderr } = await ptc("run", "doc-title", ...words);
      expect([code, stdout, stderr.trim().split("\n").length], words.join(" ")).toEqual([2, "", 1]);
      expect(stderr).toContain(said);
    }
    expect((await ptc("run", "doc-titel")).stderr).toBe(
      "ptc: there is no file and no saved program 'doc-titel'; did you mean 'doc-title'?\n",
    );
  });

  it("tells of a manifest that somebody made nonsense of in one line, and of no other program", async () => {
    const { project, ptc } = await setUp();
    expect(await ptc("generate")).toMatchObject({ code: 0 });
    const nonsense: [string, string, RegExp][] = [
      ["empty", "", /programs\/empty\.yaml:1: /],
      ["a-list", "- 1\n- 2\n", /programs\/a-list\.yaml:1: /],
      ["bad-type", manifestOf("bad-type.ts", "input: 3\n"), /bad-type\.yaml:5: input: must be a JSON schema/],
      ["odd-file", manifestOf("/etc/passwd"), /odd-file\.yaml:3: program: must be the name of a file/],
      [
        "other",
        manifestOf("doc-title.ts"),
        /other\.yaml:3: program: 'doc-title\.ts' is not other\.ts, \.js or \.py/,
      ],
      ["gone", manifestOf("gone.ts"), /programs\/gone\.ts: there is no such file/],
      ["bom", "\u0000\u0001: [", /programs\/bom\.yaml:1: /],
      [
        "late",
        `${manifestOf("late.ts")}timeout_seconds: -1\n`,
        /late\.yaml:\d+: timeout_seconds: must be more than 0/,
      ],
      ["bombs", `a: &a [1, 1]\nb: &b [*a, *a]\nversion: 1\n`, /programs\/bombs\.yaml:\d: /],
      ["wide", manifestOf("wide.ts", "input: { type: object, required: 5 }\n"), /wide/],
    ];
    for (const [name, text] of nonsense) project.write(`programs/${name}.yaml`, text);
    for (const file of ["bad-type", "odd-file", "late", "wide"])
      project.write(`programs/${file}.ts`, "result = 1;\n");
    for (const [name, , said] of nonsense.slice(0, -1)) {
      const { code, stderr } = await ptc("run", name, "--help");
      expect([name, code, stderr.trim().split("\n").length]).toEqual([name, 2, 1]);
      expect(stderr).toMatch(said);
    }
    expect(await ptc("run", "doc-title", "--help")).toMatchObject({ code: 0, stderr: "" });
    const generated = await ptc("generate");
    expect(generated.code).toBe(0);
    expect(project.read("generated/servers/programs/index.ts")).toContain("docTitle");
  });
});

describe("ptc test", () => {
  it("ends with 3 where nothing can be run, with 1 for a program that is wrong, and with 0 without any", async () => {
    const { project, ptc } = await setUpExample();
    expect(await ptc("test")).toMatchObject({ code: 3, stdout: expect.stringContaining("no-sandbox  one") });
    project.write("programs/one.ts", "globalThis.result = ;\n");
    const wrong = await ptc("test");
    expect(wrong).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/failed {2}one\n {4}programs\/one\.ts:1:/),
    });
    expect(JSON.parse((await ptc("test", "--json")).stdout)).toMatchObject({
      programs: [{ name: "one", outcome: "failed" }],
    });
    project.write("programs/one.ts", "globalThis.result = 1;\n");
    const schemas = [
      [
        "input: { properties: { a: { type: strng } } }",
        "input: is no JSON schema: properties.a.type must be equal to one",
      ],
      [
        "input: {}\noutput: { $ref: '#/nowhere' }",
        "output: is no JSON schema: can't resolve reference #/nowhere",
      ],
    ];
    for (const [text, said] of schemas) {
      project.write("programs/one.yaml", `version: 1\ndescription: One\nprogram: one.ts\n${text}\n`);
      expect(await ptc("test")).toMatchObject({
        code: 1,
        stdout: expect.stringContaining(`programs/one.yaml: ${said}`),
      });
    }
    project.write("programs/one.yaml", "version: 1\ndescription: One\nprogram: one.ts\ninput: {}\n");
    project.write("programs/one.example.json", '{"version": 2}');
    expect((await ptc("test")).stdout).toContain("programs/one.example.json: version: must be 1");
    rmSync(join(project.directory, "programs/one.example.json"));
    expect(await ptc("test")).toMatchObject({ code: 0, stdout: expect.stringContaining("untested  one") });
    expect(await ptc("test", "two")).toMatchObject({ code: 2 });
    rmSync(join(project.directory, "programs"), { recursive: true });
    expect(await ptc("test")).toMatchObject({ code: 0, stdout: expect.stringContaining("0 programs") });
  });

  it("keeps apart what hundreds of programs are", async () => {
    const { project, ptc } = await setUpExample();
    for (let i = 0; i < 300; i++) {
      project.write(`programs/many-${i}.ts`, "globalThis.result = data;\n");
      const manifest = `version: 1\ndescription: Number ${i}\nprogram: many-${i}.ts\ninput: {}\n`;
      project.write(`programs/many-${i}.yaml`, manifest);
    }
    const listed = await ptc("list", "--json");
    expect(listed.code).toBe(0);
    expect(listed.stdout.match(/mcp__programs__many_\d+/g)).toHaveLength(300);
    expect(await ptc("run", "many-299", "--help")).toMatchObject({ code: 0 });
  });
});
