import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { saveForConsole } from "../../../project/programs/save-program.ts";
import { echoServer, servedProject } from "../served-project.ts";

it("a run is saved from the console as ptc save saves it, and a program of its name is replaced only where that is asked for", async () => {
  const { cwd, open } = servedProject({
    servers: [echoServer("x")],
    execution: { typecheck: "off" },
  });
  const opened = await open({ program: async () => ({ total: 3 }), tools: 2 });
  const { host, run } = opened;
  onTestFinished(() => host.close());
  const code = "// What happened in a month\nglobalThis.result = { total: 3 };\n";
  const program = { code, data: { month: "2026-05" }, language: "javascript", fileName: "p.js" };
  const { envelope, recorded } = await run({ program });
  await recorded;
  const asked = { runId: envelope.run_id, name: "weekly-report", description: "", force: false };
  const folder = join(cwd, "programs");
  expect(await saveForConsole(host, asked)).toMatchObject({
    files: expect.arrayContaining(["programs/weekly-report.yaml"]),
  });
  expect(readdirSync(folder).sort()).toEqual([
    "weekly-report.example.json",
    "weekly-report.js",
    "weekly-report.yaml",
  ]);
  expect(readFileSync(join(folder, "weekly-report.yaml"), "utf8")).toContain("What happened in a month");
  expect(await saveForConsole(host, { ...asked, description: "Other" })).toEqual({
    why: expect.stringMatching(/weekly-report\.yaml is there already; tick Replace to write over it$/),
  });
  expect(readFileSync(join(folder, "weekly-report.yaml"), "utf8")).not.toContain("Other");
  expect(await saveForConsole(host, { ...asked, description: "Other", force: true })).toHaveProperty("files");
  expect(readFileSync(join(folder, "weekly-report.yaml"), "utf8")).toContain("Other");
  expect(await saveForConsole(host, { ...asked, runId: "nothing" })).toHaveProperty("why");
});
