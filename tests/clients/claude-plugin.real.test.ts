import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { claudeVariables, describeClient, findClaudeCode, runClient } from "./installed-client.ts";
import { type ModelApi, serveModel, toolResultOf } from "./model-api.ts";
import { PROGRAM, REPLY, TOOLS, useServedProject } from "./served-project.ts";

const REPOSITORY = join(import.meta.dirname, "../..");
const served = useServedProject();
const NAMES = TOOLS.map((name) => `mcp__plugin_ptc_ptc__${name}`);

describeClient("the plugin in Claude Code", findClaudeCode, (claude) => {
  /** Runs Claude Code with a home of its own, where a shell finds this ptc by its name, and with nothing to talk to. */
  function run(args: readonly string[], cwd: string, model?: ModelApi) {
    const { folder, home, serve } = served();
    const bin = join(home, "bin");
    mkdirSync(bin, { recursive: true });
    const words = folder.command([]).map((word) => `'${word}'`);
    writeFileSync(join(bin, "ptc"), `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`, { mode: 0o755 });
    const origin = model?.origin ?? "http://127.0.0.1:9";
    const env = {
      ...serve.env,
      ...claudeVariables(home, origin),
      PATH: `${bin}:${process.env.PATH}`,
      PTC_HOST: "off",
    };
    return runClient(claude, args, { cwd, env });
  }

  async function prompt(model: ModelApi, text: string, cwd: string) {
    const args = ["-p", text, "--output-format", "json", "--allowedTools", NAMES.join(",")];
    const { code, stdout, stderr } = await run(args, cwd, model);
    if (code !== 0) throw new Error(`Claude Code ended with ${code}: ${stdout}${stderr}`);
    expect(model.strays).toEqual([]);
    return JSON.parse(stdout);
  }

  const seen = (model: ModelApi) => JSON.stringify(model.requests[0]?.messages);

  test("is valid, is installed from this repository, and runs programs whose runs are found by their conversation", async () => {
    const { folder } = served();
    const cwd = folder.directory;
    for (const path of [REPOSITORY, join(REPOSITORY, "plugin")])
      expect(await run(["plugin", "validate", "--strict", path], cwd)).toMatchObject({ code: 0 });
    expect(await run(["plugin", "marketplace", "add", REPOSITORY], cwd)).toMatchObject({ code: 0 });
    expect(await run(["plugin", "install", "ptc@ptc"], cwd)).toMatchObject({ code: 0 });
    expect((await run(["mcp", "list"], cwd)).stdout).toMatch(/^plugin:ptc:ptc: ptc serve .*Connected$/m);

    const model = await serveModel([
      { tool: "mcp__plugin_ptc_ptc__execute_program", input: { code: PROGRAM } },
      { text: "Both are there." },
    ]);
    const { session_id: session } = await prompt(model, "Go on.", cwd);
    const [first, second] = model.requests;
    expect(second && toolResultOf(second)).toEqual({ text: REPLY, isError: false });
    expect(JSON.stringify(first)).toContain("ptc:programs");
    // Nothing is wrong, so the check has said nothing.
    expect(seen(model)).not.toContain("SessionStart");
    const listed = await folder.ptc(["runs", "list", "--client-session", session, "--json"]);
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { client_session: session, source: "serve", status: "ok" },
    ]);
    const audited = await folder.ptc(["audit", "--client-session", session, "--event", "run", "--json"]);
    expect(JSON.parse(audited.stdout)).toMatchObject({ client_session: session, outcome: "ok" });

    const asked = await serveModel([{ text: "None." }]);
    await prompt(asked, "/ptc:runs", cwd);
    expect(seen(asked)).toContain("ptc: no archived run matches");

    // What the commands tell the model to call is allowed without a question.
    const [{ run_id: id }] = JSON.parse(listed.stdout);
    const name = "both-documents";
    for (const [command, call, said] of [
      [`/ptc:replay ${id}`, `ptc replay ${id}`, "ptc: same: 2 calls"],
      [`/ptc:save ${id} ${name}`, `ptc save ${id} --name ${name}`, `programs/${name}`],
    ] as const) {
      const told = await serveModel([{ tool: "Bash", input: { command: call } }, { text: "Done." }]);
      await prompt(told, command, cwd);
      expect(seen(told)).toContain(id);
      const [, after] = told.requests;
      expect(after && toolResultOf(after)).toMatchObject({
        text: expect.stringContaining(said),
        isError: false,
      });
    }
    expect((await folder.ptc(["test", name])).code).toBe(0);
  });

  test("has ptc where `ptc install` writes it", async () => {
    const { folder, home, serve } = served();
    const env = {
      ...serve.env,
      HOME: home,
      CLAUDE_CONFIG_DIR: join(home, ".claude"),
      PATH: `${join(home, "bin")}:${process.env.PATH}`,
    };
    const cwd = folder.directory;
    for (const scope of ["local", "user", "project"]) {
      const args = ["install", "claude", "--name", `from-${scope}`, "--scope", scope, "--yes"];
      expect(await folder.ptc(args, { env })).toMatchObject({ code: 0 });
    }
    const { stdout } = await run(["mcp", "list"], cwd);
    for (const scope of ["local", "user"])
      expect(stdout).toMatch(new RegExp(`^from-${scope}: .* serve .*Connected$`, "m"));
    expect(stdout).toMatch(/^from-project: .*serve --config .*ptc\.yaml.*Pending approval/m);
    for (const scope of ["local", "user", "project"]) {
      const args = ["install", "claude", "--name", `from-${scope}`, "--scope", scope, "--remove", "--yes"];
      expect(await folder.ptc(args, { env })).toMatchObject({ code: 0 });
    }
    expect((await run(["mcp", "list"], cwd)).stdout).not.toContain("from-");
  });

  test("stands aside where an entry brings ptc, so that a model has its tools once", async () => {
    const { folder, home, serve } = served();
    const env = { ...serve.env, HOME: home, CLAUDE_CONFIG_DIR: join(home, ".claude") };
    const cwd = folder.directory;
    const names = async () => {
      const model = await serveModel([{ text: "I see." }]);
      await prompt(model, "Go on.", cwd);
      return (model.requests[0]?.tools ?? [])
        .map(({ name }) => name)
        .filter((name) => name.startsWith("mcp__"));
    };
    expect(await names()).toContain("mcp__plugin_ptc_ptc__execute_program");
    const args = ["install", "claude", "--scope", "local", "--yes"];
    const installed = await folder.ptc(args, { env });
    expect(installed.stderr).toMatch(/has ptc by the plugin ptc@ptc and as 'ptc' in .*stands aside/);
    const both = await names();
    expect(both).toContain("mcp__ptc__execute_program");
    expect(both.filter((name) => name.startsWith("mcp__plugin_ptc"))).toEqual([]);
    expect((await run(["mcp", "list"], cwd)).stdout).toMatch(/^plugin:ptc:ptc: ptc serve .*Connected$/m);
    expect(await folder.ptc(["install", "--undo", "--yes"], { env })).toMatchObject({ code: 0 });
    expect(await names()).toContain("mcp__plugin_ptc_ptc__execute_program");
  });

  test("says in one line at the start what is wrong", async () => {
    const { folder } = served();
    const broken = join(folder.directory, "broken");
    mkdirSync(broken, { recursive: true });
    writeFileSync(join(broken, "ptc.yaml"), "servers: 1\n");
    const model = await serveModel([{ text: "I see." }]);
    await prompt(model, "Go on.", broken);
    expect(seen(model)).toMatch(/ptc: ptc\.yaml:1: [^"\\]*servers/);
  });
});
