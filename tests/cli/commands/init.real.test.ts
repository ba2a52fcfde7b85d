import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { usePtc } from "../ptc-process.ts";

const newProject = usePtc();

describe("ptc init", () => {
  it("writes a configuration that works, and the line that adds ptc to Claude Code", async () => {
    const project = newProject();
    const { code, stdout } = await project.ptc(["init"]);
    expect(code).toBe(0);
    const line = /^ {2}(claude mcp add ptc -- .*)$/m.exec(stdout)?.[1] ?? "";
    expect(line).toMatch(/ptc\.js serve --config \S+\/ptc\.yaml$/);
    const [, , , , , , script = "", ...args] = line.split(" ");
    expect(args).toEqual(["serve", "--config", join(project.directory, "ptc.yaml")]);
    expect(statSync(script).isFile()).toBe(true);
    expect(stdout).toMatch(/^Commit ptc\.yaml and generated\/, .*\.ptc\/ holds\nyour runs and is private/m);
    expect(await project.ptc(["list"])).toMatchObject({ code: 0, stdout: "" });
  });

  it("writes over nothing", async () => {
    const project = newProject({ "ptc.yaml": "# mine\n" });
    expect(await project.ptc(["init"])).toEqual({
      code: 2,
      stdout: "",
      stderr: "ptc: ptc.yaml is already here; edit it, or remove it first\n",
    });
    expect(project.read("ptc.yaml")).toBe("# mine\n");
  });

  it("takes servers over from .mcp.json here, else from ~/.claude.json", async () => {
    const project = newProject({
      ".claude.json": { projects: {}, mcpServers: { mine: { command: "x", env: { KEY: "value" } } } },
    });
    const env = { HOME: project.directory, CLAUDE_CONFIG_DIR: undefined };
    const { code, stderr } = await project.ptc(["init", "--import"], { env });
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("values of env or headers (mine)"),
    });
    expect(project.read("ptc.yaml")).toContain("name: mine");
    expect(statSync(join(project.directory, "ptc.yaml")).mode & 0o777).toBe(0o600);
  });

  it.each([
    ["x.json", '// Mine\n{"mcpServers": {"mine": {"command": "x"},},}'],
    ["x.toml", '[mcp_servers.mine]\ncommand = "x"\n'],
  ])("takes servers over from %s (%s)", async (file, content) => {
    const project = newProject({ [file]: content });
    expect(await project.ptc(["init", "--import", file])).toMatchObject({ code: 0 });
    expect(project.read("ptc.yaml")).toContain("name: mine");
  });

  it.each([
    ["missing.json", undefined, "missing.json: there is no such file"],
    ["x.json", "{", "x.json: is not JSON"],
    ["x.json", "{}", "x.json: there are no mcpServers in it"],
  ])("says what is wrong with %s (%s)", async (file, content, message) => {
    const project = newProject(content === undefined ? {} : { [file]: content });
    const { code, stderr } = await project.ptc(["init", "--import", file]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: `ptc: ${message}\n` });
    expect(() => project.read("ptc.yaml")).toThrow();
  });
});
