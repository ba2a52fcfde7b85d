import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { projectInProcess } from "../in-process.ts";
import { fixtureServer } from "../ptc-process.ts";

const TYPESCRIPT = "generated/servers/docs/index.ts";

it("modules have what results looked like, wherever they are checked, until it is forgotten", async () => {
  const servers = ["docs", "other"].map((name) => fixtureServer(name, "documents.mjs"));
  const { project, ptc: run, generate } = projectInProcess({ servers, languages: ["typescript", "python"] });
  const ptc = (...args: string[]) => run(args);
  const read = (path: string) => project.read(path);
  await generate();
  const before = read(TYPESCRIPT);
  expect(before).toContain("@returns any: this tool declares no output schema");
  expect((await ptc("learn")).stderr).toContain("nothing is learned yet");
  expect(await ptc("call", "docs.list_documents")).toMatchObject({ code: 0 });
  // What the archive holds by now is not what is checked.
  expect(await ptc("generate", "--check")).toMatchObject({ code: 0 });

  expect(await ptc("generate")).toMatchObject({ code: 0, stderr: "" });
  const module = read(TYPESCRIPT);
  expect(module).toContain("export type ListDocumentsOutput = {\n  id?: string;\n}[];");
  expect(module).toContain("@returns observed in 1 call, not declared");
  expect(module).toContain(
    'tool<ListDocumentsInput, ListDocumentsOutput>("mcp__docs__list_documents"); // observed in 1 call',
  );
  expect(read("generated/servers/docs/__init__.pyi")).toMatch(
    /async def list_documents\(.*\) -> ListDocumentsOutput:/,
  );
  expect(read("generated/servers/other/index.ts")).toBe(before.replaceAll("docs", "other"));
  const bytes = read("generated/learned.json");
  expect(bytes).not.toMatch(/"a"|"b"/);
  // Another machine has the files, and neither the archive nor the observations.
  rmSync(join(project.directory, ".ptc"), { recursive: true, force: true });
  expect(await ptc("generate", "--check")).toMatchObject({ code: 0 });
  expect(await ptc("generate")).toMatchObject({ code: 0 });
  expect([read(TYPESCRIPT), read("generated/learned.json")]).toEqual([module, bytes]);

  expect((await ptc("learn")).stdout).toBe("mcp__docs__list_documents  1 call, 1 member\n");
  expect((await ptc("learn", "show", "docs.list_documents")).stdout).toContain("}[]>");
  expect((await ptc("inspect", "docs.list_documents")).stdout).toContain("The result is observed in 1 call");
  expect(JSON.parse((await ptc("learn", "export", "--json")).stdout)).toMatchObject({
    tools: [{ tool: "mcp__docs__list_documents", calls: 1, outputSchema: { type: "array" } }],
  });

  expect((await ptc("learn", "forget")).stderr).toContain("name the tools to forget, or give --all");
  expect((await ptc("learn", "forget", "docs.nothing")).code).toBe(2);
  expect(await ptc("learn", "forget", "docs.list_documents")).toMatchObject({ code: 0 });
  expect(read(TYPESCRIPT)).toBe(before);
  expect(existsSync(join(project.directory, "generated/learned.json"))).toBe(false);
});
