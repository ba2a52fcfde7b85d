import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, it } from "vitest";
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
const manifestOf = (program: string, limit = "limit") => `version: 1
description: The title of a document
program: ${program}
input: { type: object, properties: { id: { type: string }, ${limit}: { type: integer } }, required: [id] }
output: { type: object, properties: { title: { type: string } }, required: [title] }
`;

async function setUp() {
  const settings = { servers: [fixtureServer("docs", "documents.mjs")], languages: ["typescript", "python"] };
  const { project, ptc, generate } = projectInProcess(settings, {
    "programs/doc-title.ts": TITLE_TS,
    "programs/doc-title.yaml": manifestOf("doc-title.ts"),
    "programs/page-title.py": TITLE_PY,
    "programs/page-title.yaml": manifestOf("page-title.py"),
  });
  await generate();
  const { directory } = project;
  return { project, directory, generate, ptc: (...args: string[]) => ptc(args) };
}

it("what editors read of saved programs is written by generate and save, and checked", async () => {
  const { project, directory, generate, ptc } = await setUp();
  const check = async (code: number) => expect(await ptc("generate", "--check")).toMatchObject({ code });
  const importing = 'import { docTitle } from "./programs/index.js";\n';
  project.write("caller.ts", `${importing}const { title } = await docTitle({ id: "a" });\nresult = title;\n`);
  expect(compile(directory)).toEqual([]);
  project.write("wrong.ts", `${importing}await docTitle({ ids: "a" });\n`);
  expect(compile(directory).join("\n")).toMatch(/^wrong\.ts\(2,18\): error TS/);
  project.write("caller.py", 'from programs import page_title\nprint(page_title(ids="a"))\n');
  const pyright = [PYRIGHT, "-p", directory, "--outputjson"];
  const { stdout } = spawnSync(process.execPath, pyright, { encoding: "utf8" });
  const found = JSON.parse(stdout).generalDiagnostics as { file: string; rule: string }[];
  const ofCaller = found.filter(({ file }) => file.endsWith("caller.py"));
  expect(ofCaller.map(({ rule }) => rule)).toContain("reportCallIssue");
  await check(0);
  project.write("programs/doc-title.yaml", manifestOf("doc-title.ts", "most"));
  await check(4);
  await generate();
  expect(project.read("generated/servers/programs/index.ts")).toContain("most?: number");
  project.write("again.ts", TITLE_TS);
  expect(await ptc("save", "again.ts", "--name", "other-title")).toMatchObject({ code: 0 });
  expect(project.read("generated/servers/programs/index.ts")).toContain("otherTitle");
  await check(0);
  rmSync(join(directory, "programs"), { recursive: true });
  await check(4);
  await generate();
  for (const folder of ["generated", "generated/servers"])
    expect(readdirSync(join(directory, folder))).not.toContain("programs");
});

it("of two that save a program at once one wins, and nothing else is left behind", async () => {
  const { project, directory, ptc } = await setUp();
  project.write("first.ts", TITLE_TS);
  project.write("second.py", TITLE_PY);
  const save = (...flags: string[]) =>
    Promise.all(["first.ts", "second.py"].map((file) => ptc("save", file, "--name", "both", ...flags)));
  const written = () => readdirSync(join(directory, "programs")).filter((file) => /both|\.tmp/.test(file));
  const saved = await save();
  expect(saved.map(({ code }) => code).sort()).toEqual([0, 2]);
  const refused = saved.find(({ code }) => code === 2);
  expect(refused?.stderr).toMatch(/^ptc: programs\/both\.\S+ is there already/);
  expect(written()).toHaveLength(2);
  expect((await save("--force")).map(({ code }) => code)).toEqual([0, 0]);
  expect(written()).toHaveLength(2);
  const program = written().find((file) => !/yaml/.test(file));
  expect(project.read("programs/both.yaml")).toContain(`program: ${program}`);
});

it("hundreds of programs are kept apart", async () => {
  const names = Array.from({ length: 300 }, (_, i) => `many-${i}`);
  const files = names.flatMap((name) => [
    [`programs/${name}.ts`, "globalThis.result = data;\n"],
    [`programs/${name}.yaml`, `version: 1\ndescription: ${name}\nprogram: ${name}.ts\ninput: {}\n`],
  ]);
  const { ptc } = projectInProcess({ servers: [] }, Object.fromEntries(files));
  const listed = await ptc(["list", "--json"]);
  expect(listed.code).toBe(0);
  expect(listed.stdout.match(/mcp__programs__many_\d+/g)).toHaveLength(300);
  expect(await ptc(["run", "many-299", "--help"])).toMatchObject({ code: 0 });
});
