import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { definitionDigest } from "../../catalog/parse-tool.ts";
import { usePtcWithoutWalls } from "./in-process.ts";
import { fixtureServer, type Project } from "./ptc-process.ts";

const project = usePtcWithoutWalls();

const DELETE_ALL = {
  name: "delete_all",
  inputSchema: { type: "object" },
  annotations: { destructiveHint: true },
};
const CODE = "globalThis.result = await mcp__files__delete_all({});";
const CATALOG = "generated/catalog.json";
const LOCK = "generated/ptc.lock.json";
const MODULE = "generated/servers/files/index.ts";

async function generated(more: object = {}): Promise<Project> {
  const folder = project({ "tools.json": [DELETE_ALL] });
  const server = fixtureServer("files", "tools-from-file.mjs", ["tools.json"]);
  folder.write("ptc.yaml", { servers: [server], ...more });
  await folder.generate();
  return folder;
}

/** The tool's definition without its hint, in the catalog and, where asked, with a digest to match in the lock. */
function takeHint(folder: Project, { withLock = false } = {}): void {
  const catalog = JSON.parse(folder.read(CATALOG));
  const [tool] = catalog.servers[0].tools;
  delete tool.annotations;
  folder.write(CATALOG, catalog);
  if (!withLock) return;
  const lock = JSON.parse(folder.read(LOCK));
  lock.servers.files.tools.delete_all.sha256 = definitionDigest(tool);
  folder.write(LOCK, lock);
}

describe("a catalog from which a hint was deleted", () => {
  test("runs nothing, is told by --check with the entry, and is mended by generate", async () => {
    const folder = await generated();
    const before = [folder.read(CATALOG), folder.read(LOCK)];
    takeHint(folder);
    const run = await folder.ptc(["run", "-"], { stdin: CODE });
    expect(run).toMatchObject({ code: 2, stdout: "" });
    expect(run.stderr).toMatch(
      /^ptc: [^\n]*catalog\.json was edited: tool 'delete_all' of server 'files' [^\n]*run `ptc generate`\n$/,
    );
    const check = await folder.ptc(["generate", "--check"]);
    expect(check.code).toBe(4);
    expect(check.stdout).toMatch(/^catalog\.json was edited: tool 'delete_all' of server 'files'/);
    expect(check.stdout).toContain('+     "destructiveHint": true');
    const json = JSON.parse((await folder.ptc(["generate", "--check", "--json"])).stdout);
    expect(json).toMatchObject({ edits: [expect.stringContaining("'delete_all'")], stale: ["catalog.json"] });
    const mended = await folder.ptc(["generate"]);
    expect(mended.code).toBe(0);
    expect(mended.stderr).toMatch(/^ptc: warning: catalog\.json was edited: [^\n]*; it is written anew\n$/);
    expect([folder.read(CATALOG), folder.read(LOCK)]).toEqual(before);
    expect(await folder.ptc(["generate", "--check"])).toMatchObject({ code: 0, stdout: "" });
    expect((await folder.run(CODE)).envelope.approval_state).toBe("DENIED");
  });

  test("and whose lock was edited to match, does not run the tool either", async () => {
    const folder = await generated();
    takeHint(folder, { withLock: true });
    expect((await folder.run(CODE)).envelope.result).toMatchObject({
      error: { type: "ToolError", message: expect.stringMatching(/was changed .*run `ptc generate`/) },
    });
    expect((await folder.ptc(["generate", "--check"])).code).toBe(4);
    await folder.generate();
    expect((await folder.run(CODE)).envelope.approval_state).toBe("DENIED");
  });

  test("and cannot be read at all, is written anew", async () => {
    const folder = await generated();
    for (const path of [CATALOG, LOCK]) {
      const before = folder.read(path);
      folder.write(path, "<<<<<<< ours");
      expect((await folder.ptc(["generate", "--check"])).code).toBe(4);
      const { code, stderr } = await folder.ptc(["generate"]);
      expect(code).toBe(0);
      expect(stderr).toMatch(/^ptc: warning: [^\n]*\.json is not JSON; it is written anew\n$/);
      expect(folder.read(path)).toBe(before);
    }
  });
});

describe("approvals.default: destructive", () => {
  test("asks for a tool that says nothing, and not for one that says that it only reads", async () => {
    const folder = await generated({ approvals: { default: "destructive" } });
    folder.write("tools.json", [
      { name: "silent", inputSchema: { type: "object" } },
      { name: "reads", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
    ]);
    await folder.generate();
    const state = async (tool: string) =>
      (await folder.run(`globalThis.result = await mcp__files__${tool}({});`)).envelope.approval_state;
    expect([await state("silent"), await state("reads")]).toEqual(["DENIED", "NOT_REQUIRED"]);
    folder.write("ptc.yaml", folder.read("ptc.yaml").replace('"destructive"', '"annotated"'));
    expect(await state("silent")).toBe("NOT_REQUIRED");
  });
});

describe("a generated module", () => {
  const importing =
    'import { deleteAll } from "./servers/files/index.js"; globalThis.result = typeof deleteAll;';

  test("that was edited is not run, nor quoted", async () => {
    const folder = await generated();
    folder.write(MODULE, "root:x:0:0: secret");
    const { envelope, stderr } = await folder.run(importing);
    const { result } = envelope;
    expect(result).toMatchObject({
      error: {
        type: "BundleError",
        message: expect.stringMatching(/files\/index\.ts is missing or was edited; run `ptc generate`/),
      },
    });
    expect(JSON.stringify(envelope) + stderr).not.toContain("secret");
    const { stderr: told } = await folder.ptc(["generate"]);
    expect(told).toBe(
      "ptc: warning: generated/servers/files/index.ts had been edited, and was written again\n",
    );
    expect((await folder.run(importing)).envelope.result).toMatchObject({ data: "function" });
  });

  test("that is a link is not read, nor written through", async () => {
    const folder = await generated();
    const secret = join(folder.directory, "secret.txt");
    writeFileSync(secret, "root:x:0:0: secret");
    rmSync(join(folder.directory, MODULE));
    symlinkSync(secret, join(folder.directory, MODULE));
    const { envelope, stderr } = await folder.run(importing);
    expect(envelope.result).toMatchObject({ error: { type: "BundleError" } });
    expect(JSON.stringify(envelope) + stderr).not.toContain("root:x");
    const written = await folder.ptc(["generate"]);
    expect(written.code).toBe(2);
    expect(written.stderr).toMatch(/^ptc: [^\n]*index\.ts is a link[^\n]*\n$/);
    expect(folder.read("secret.txt")).toBe("root:x:0:0: secret");
  });
});

describe("ptc generate --out", () => {
  test("leaves a folder of somebody else's as it is", async () => {
    const folder = await generated();
    rmSync(join(folder.directory, LOCK));
    const shared = ["globals.d.ts", "runtime.d.ts", ".node.d.ts", "tsconfig.json"];
    for (const path of [CATALOG, MODULE, ...shared.map((name) => `generated/${name}`)])
      folder.write(path, "mine");
    const { code, stderr } = await folder.ptc(["generate", "--out", "generated"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/ptc: [^\n]*generated contains files but no ptc\.lock\.json of ptc,/);
    for (const path of [CATALOG, MODULE, "generated/runtime.d.ts"]) expect(folder.read(path)).toBe("mine");
  });
});

describe("names that servers give", () => {
  test("cannot steer a terminal, and a tool that no program could call is left out alone", async () => {
    const folder = await generated();
    const schema = { $ref: "elsewhere.json" };
    const odd = "odd\u001b[2J\n\u2028\u202ename";
    folder.write("tools.json", [
      { name: odd, title: odd, inputSchema: schema, outputSchema: schema },
      { name: `long_${"x".repeat(600)}`, inputSchema: { type: "object" } },
      { name: "good", inputSchema: { type: "object" } },
    ]);
    const { code, stdout, stderr } = await folder.ptc(["generate"]);
    expect(code).toBe(0);
    expect(stdout + stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(stderr).toMatch(
      /^ptc: warning: server 'files', tool 'long_x+\.\.\.': is left out: .* 512 characters$/m,
    );
    expect(stderr.split("\n").filter((line) => line !== "" && !line.startsWith("ptc: warning: "))).toEqual(
      [],
    );
    for (const path of [CATALOG, LOCK, MODULE]) expect(folder.read(path)).not.toContain("long_");
    const listed = await folder.ptc(["list", "--json"]);
    expect(
      JSON.parse(listed.stdout)[0].tools.map(({ function: name }: { function: string }) => name),
    ).toHaveLength(2);
    expect((await folder.ptc(["generate", "--check"])).code).toBe(0);
    expect(
      (await folder.run("globalThis.result = (await mcp__files__good({})).name;")).envelope.result,
    ).toMatchObject({
      ok: true,
      data: "good",
    });
  });
});
