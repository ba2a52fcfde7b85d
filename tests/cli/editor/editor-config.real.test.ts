import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fixtureServer, type Project, usePtc } from "../ptc-process.ts";
import { compile, diagnose } from "./language-server.ts";

const newProject = usePtc();

const GOOD = `import * as x from "./servers/x/index.js";
import { listDocuments } from "servers/x/index.js";
import { readFile } from "node:fs/promises";
import path from "path";

const all = await parallel([() => x.listDocuments({}), () => mcp__x__list_documents({})], { limit: 2 });
const timer: NodeJS.Timeout = setTimeout(() => {}, 1);
const bytes: ReadableStream<Uint8Array> | undefined = undefined;
try {
  await callTool("mcp__x__list_documents", { more: data.more });
} catch (error) {
  if (error instanceof ToolError) console.error(error.server, error.retryable, new URL("http://x/"), timer, bytes);
}
const outcome = await listDocuments.result({});
if (!outcome.ok) console.warn(outcome.error.message);
process.stdout.write(path.join("a", Buffer.from(await readFile("b")).toString()));
globalThis.result = { all, data: outcome.data };
`;

const BAD = `import * as x from "./servers/x/index.js";
await x.deleteDocument({ documentID: "a" });
await x.removeDocument({});
await mcp__x__delete_document({ documentId: 1 });
noSuchName();
`;

describe("programs beside ptc.yaml, in an editor", () => {
  async function generated(files: Record<string, string | object> = {}): Promise<Project> {
    const servers = [fixtureServer("x", "documents.mjs")];
    const project = newProject({ "ptc.yaml": { servers }, "good.ts": GOOD, ...files });
    await project.generate();
    return project;
  }

  test("have no red line when they are right, and those of ptc when they are not", async () => {
    const project = await generated({
      "bad.ts": BAD,
      "plain.js": GOOD.replace(/: [A-Z]\S*(?: \| undefined)?/g, ""),
    });
    expect(await diagnose(project.directory, "good.ts")).toEqual([]);
    const shown = await diagnose(project.directory, "bad.ts");
    const { envelope } = await project.run(BAD, ["--json"]);
    const message = envelope.result.ok ? "" : envelope.result.error.message;
    const places = [...message.matchAll(/^program\.ts:(\d+:\d+): /gm)].map(([, place]) => place);
    expect(places).toHaveLength(4);
    expect(shown.map((line) => line.split(" ")[0])).toEqual(places);
    expect(compile(project.directory).filter((line) => !/^(?:bad|program)\.ts/.test(line))).toEqual([]);
    expect(await diagnose(project.directory, "generated/servers/x/index.ts")).toEqual([]);
  });

  test("are found by an editor's file that is there, when it says what generate told once", async () => {
    const mine = '// mine\n{ "compilerOptions": { "strict": true, "module": "preserve", "noEmit": true } }\n';
    const project = newProject({
      "ptc.yaml": { servers: [fixtureServer("x", "documents.mjs")] },
      "tsconfig.json": mine,
      "short.ts":
        'import { listDocuments } from "./servers/x/index.js";\nresult = await listDocuments({});\n',
    });
    const first = await project.ptc(["generate"]);
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining("tsconfig.json is yours") });
    expect(project.read("tsconfig.json")).toBe(mine);
    expect(compile(project.directory).join("\n")).toContain("short.ts(1,");
    const [, added = ""] = /add ("rootDirs": \[.*?\]) to its compilerOptions/.exec(first.stderr) ?? [];
    project.write("tsconfig.json", mine.replace('"strict"', `${added}, "strict"`));
    expect(compile(project.directory)).toEqual([]);
    expect(await project.ptc(["generate", "--check"])).toEqual({ code: 0, stdout: "", stderr: "" });
    rmSync(join(project.directory, "generated"), { recursive: true });
    expect(await project.ptc(["generate"])).toMatchObject({ code: 0, stderr: "" });
  });

  test("leave a jsconfig.json in force", async () => {
    const project = await generated({ "jsconfig.json": {} });
    expect(existsSync(join(project.directory, "tsconfig.json"))).toBe(false);
  });

  test("are reported by --check when what the editor reads is missing or was edited", async () => {
    const project = await generated();
    const check = () => project.ptc(["generate", "--check"]);
    expect(await check()).toMatchObject({ code: 0, stdout: "" });
    rmSync(join(project.directory, "tsconfig.json"));
    expect(await check()).toMatchObject({ code: 4, stdout: expect.stringContaining("../tsconfig.json") });
    await project.generate();
    project.write("generated/tsconfig.json", "{}");
    expect(await check()).toMatchObject({ code: 4, stdout: expect.stringContaining(" tsconfig.json") });
    const { code, stderr } = await project.ptc(["generate"]);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("had been edited") });
    expect(await check()).toMatchObject({ code: 0, stdout: "" });
    const other = await project.ptc(["generate", "--out", "elsewhere", "--json"]);
    expect(JSON.parse(other.stdout).written).not.toContain("../tsconfig.json");
  });
});
