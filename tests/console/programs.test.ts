import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { TestedProgram } from "../../console/parts.ts";
import { renderManifest } from "../../programs/manifest.ts";
import { SavedPrograms } from "../../programs/saved-programs.ts";
import { testForConsole } from "../../project/console/programs.ts";
import { servedProject } from "../project/served-project.ts";
import { ProcessEngine } from "../runner-image/process-engine.ts";
import { ALL, enter, serveConsole } from "./served-console.ts";

const SAVED = join(import.meta.dirname, "../../examples/recipes/programs");
const NAME = "open-tasks";
const TOOL = "mcp__programs__open_tasks";
const EVE = "https://login.example.com#eve";

async function opened(more: Parameters<typeof serveConsole>[0] = {}) {
  const served = await serveConsole(more);
  const directory = served.folder;
  cpSync(SAVED, join(directory, "programs"), { recursive: true });
  const path = join(directory, `programs/${NAME}.example.json`);
  const [saved] = SavedPrograms.read({ directory, servers: [], file: "ptc.yaml" }).programs;
  const example = { ...JSON.parse(readFileSync(path, "utf8")), program: saved?.digest };
  writeFileSync(path, JSON.stringify(example));
  return { ...served, example, visitor: await enter(served.origin, served.address()) };
}

describe("the page of the saved programs", () => {
  it("shows the example that tests a program, and whether the program has changed since", async () => {
    const { visitor, folder, example } = await opened();
    const page = await visitor.text("/console/programs");
    expect(page).toContain(`/console/runs/${example.run}`);
    expect(page).toContain(`recorded by ptc ${example.ptc}`);
    expect(page).not.toContain("The program has changed since");
    const path = join(folder, `programs/${NAME}.ts`);
    writeFileSync(path, `${readFileSync(path, "utf8")}\n// another text\n`);
    expect(await visitor.text("/console/programs")).toContain("The program has changed since");
    writeFileSync(join(folder, `programs/${NAME}.example.json`), '{"<b>": 1}');
    const wrong = await visitor.get("/console/programs");
    expect([wrong.status, await wrong.text()]).toEqual([
      200,
      expect.stringContaining(`programs/${NAME}.example.json: `),
    ]);
  });

  it("says who called it with what, how often, and how the last run ended", async () => {
    const { visitor, archived } = await opened();
    const calls = [{ tool: TOOL, from: 0, took: 1 }];
    expect(await visitor.text("/console/programs")).toContain("No run that you see has called it");
    await archived({ calls, startedAt: 1_000 });
    await archived({ calls, startedAt: 2_000, failure: { type: "Timeout", message: "late" } });
    await archived({ calls, startedAt: 3_000, names: EVE });
    await archived({ calls, startedAt: 4_000, source: "replay" });
    await archived({ calls: [{ ...calls[0], tool: "mcp__docs__get_document" } as never], startedAt: 5_000 });
    const page = await visitor.text("/console/programs");
    expect(page).toContain("in the newest 3 runs that did");
    expect(page).toContain(EVE);
    expect(page).toMatch(
      />local<.*?data-label="Runs"><span>2<.*?data-label="Failed"><span><span class="some">1</s,
    );
    expect(page).toContain("Timeout");
  });

  it("says nothing of another's runs to a viewer of their own", async () => {
    const { visitor, archived } = await opened({ rightsOf: async () => ({ ...ALL, runs: "own" }) });
    const theirs = await archived({ calls: [{ tool: TOOL, from: 0, took: 1 }], names: EVE });
    const page = await visitor.text("/console/programs");
    expect(page).not.toContain(EVE);
    expect(page).not.toContain(theirs.slice(0, 8));
  });

  it("tests a program by one click, and shows what came of it to that viewer", async () => {
    const asked: unknown[] = [];
    const tested = Promise.withResolvers<TestedProgram>();
    const { visitor } = await opened({
      test: async ({ principal }, name) => {
        asked.push([principal, name]);
        return tested.promise;
      },
    });
    const token = await visitor.token();
    const path = `/console/programs/${NAME}/test`;
    const sent = await visitor.post(path, { token });
    expect(sent.headers.get("location")).toBe(`/console/programs#program-${NAME}`);
    expect(await visitor.text("/console/programs")).toContain("The test goes on");
    await visitor.post(path, { token });
    tested.resolve({ at: 0, outcome: "changed", lines: ["result.count:", "- 1", "+ <2>"] });
    await expect.poll(() => visitor.text("/console/programs")).toContain("Tested: changed");
    expect(await visitor.text("/console/programs")).toContain("+ &lt;2&gt;");
    expect(await visitor.text("/console/programs")).toMatch(/is known here since <time datetime/);
    expect(asked).toEqual([["local", NAME]]);
    expect((await visitor.post("/console/programs/nothing/test", { token })).status).toBe(404);
    expect((await visitor.post(path, { token: "A".repeat(24) })).status).toBe(403);
  });

  it("tests nothing for whoever replays nothing", async () => {
    const asked: string[] = [];
    const { visitor } = await opened({
      rightsOf: async () => ({ ...ALL, replays: false }),
      test: async (_, name) => {
        asked.push(name);
        return undefined;
      },
    });
    expect(await visitor.text("/console/programs")).not.toContain("Test it");
    const sent = await visitor.post(`/console/programs/${NAME}/test`, { token: await visitor.token() });
    expect([sent.status, asked]).toEqual([403, []]);
  });
});

it("a test from the console is that of ptc test, without any server, and one of a wrong program says why", async () => {
  const { open } = servedProject({ sandbox: { warm: 0 } });
  const { host } = await open({ engine: new ProcessEngine() });
  const { directory } = host.configuration;
  mkdirSync(join(directory, "programs"));
  const save = (name: string, code: string) => {
    const manifest = { description: name, program: `${name}.ts`, input: { type: "object" } };
    const text = renderManifest({ ...manifest, output: undefined, expose: false, timeoutMs: undefined });
    writeFileSync(join(directory, `programs/${name}.yaml`), text);
    writeFileSync(join(directory, `programs/${name}.ts`), code);
  };
  save("good", "globalThis.result = 1;\n");
  save("wrong", "const text = ;\n");
  const { signal } = new AbortController();
  const viewer = { principal: "local" };
  expect(await testForConsole(host, viewer, "good", signal)).toMatchObject({ outcome: "untested" });
  const wrong = await testForConsole(host, viewer, "wrong", signal);
  expect(wrong).toMatchObject({ outcome: "failed" });
  expect(wrong?.lines.join("\n")).toContain("wrong.ts:1");
  expect(await testForConsole(host, viewer, "nothing", signal)).toBeUndefined();
});
