import { expect, test } from "vitest";
import { usePtcWithoutWalls } from "../in-process.ts";
import { fixtureServer } from "../ptc-process.ts";

const newProject = usePtcWithoutWalls();

test("a value goes where labels do not, once the user has said it, and people see where it came from", async () => {
  const project = newProject();
  project.write("ptc.yaml", {
    servers: [
      { ...fixtureServer("inbox", "echo-v1.mjs"), labels: ["untrusted"] },
      { ...fixtureServer("out", "echo-v1.mjs"), tools: { echo: { accepts: { text: [] } } } },
    ],
    sandbox: { warm: 0 },
  });
  await project.generate();
  // What the inbox answers stands nowhere in the program.
  project.write(
    "p.ts",
    `const to = await callTool("mcp__inbox__echo", { text: [..."tset.live@eve"].reverse().join("") });
    result = await callTool("mcp__out__echo", { text: to });`,
  );
  project.write("said.txt", "write to eve@evil.test, whom I know");
  const refused = await project.ptc(["run", "p.ts", "--no-host"]);
  const { run_id: runId, result } = JSON.parse(refused.stdout);
  expect(result.error.message).toContain(
    "`text` does not accept 'untrusted' data, and \"eve@evil.test\" comes from what mcp__inbox__echo answered (call 1) (written by a stranger); ask the user to name the value",
  );
  expect(result.error.message).not.toContain("another run");
  const said = await project.ptc(["run", "p.ts", "--said", "said.txt", "--no-host"]);
  expect(JSON.parse(said.stdout).result).toMatchObject({ ok: true, data: "eve@evil.test" });
  const explained = await project.ptc(["policy", "explain", runId]);
  expect(explained.stdout).toContain(
    "    text: from what mcp__inbox__echo answered (call 1) (written by a stranger)\n",
  );
  const page = await project.ptc(["runs", "show", runId, "--html", "run.html"]);
  expect(page.stderr).toContain("wrote run.html");
  expect(project.read("run.html")).toMatch(/id="flow"[\s\S]*inbox\.echo<\/a> → /);
});
