import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ago, DAY_MS, idsOf, useProjects } from "./runs-projects.ts";

const newProject = useProjects();

describe("ptc runs, before anything was archived", () => {
  it.each([
    [["list"], 0, ""],
    [["list", "--json"], 0, "[]\n"],
    [["stats"], 0, ""],
    [["verify"], 0, ""],
    [["prune"], 0, "no run older than 10 days to delete\n"],
    [["show", "abcd"], 2, ""],
    [["export", "--all", "--out", "x.ptc"], 2, ""],
  ])("%j says so in one line and makes no archive", async (args, code, stdout) => {
    const { folder, file, ptc } = newProject();
    expect(await ptc(...args)).toEqual({ code, stdout, stderr: `ptc: nothing is archived yet in ${file}\n` });
    expect(readdirSync(folder)).toEqual(["ptc.yaml"]);
  });
});

describe("ptc runs list", () => {
  const SESSION = "7b1e6f0a-2c4d-4e8f-9a1b-3c5d7e9f0a2b";
  const calling = (tool: string) => ({ calls: [{ from: 0, took: 1, tool }] });
  const { records, ptc } = newProject(
    {
      startedAt: ago(30 * DAY_MS),
      clientSession: SESSION,
      user: "ada",
      ...calling("mcp__github__list_issues"),
    },
    {
      startedAt: ago(2 * DAY_MS),
      failure: { type: "Timeout", message: "slow" },
      ...calling("mcp__slack__post"),
    },
    { startedAt: ago(1_000), data: { other: 1 }, failure: { type: "ScriptError", message: "no" } },
  );
  const [oldest = "", middle = "", newest = ""] = records.map(({ run_id }) => run_id);

  it.each([
    [[], [newest, middle, oldest]],
    [
      ["--status", "failed"],
      [newest, middle],
    ],
    [["--status", "ok"], [oldest]],
    [["--status", "Timeout"], [middle]],
    [["--tool", "mcp__*__list_*"], [oldest]],
    [["--server", "slack"], [middle]],
    [
      ["--since", "7d"],
      [newest, middle],
    ],
    [["--since", new Date(ago(7 * DAY_MS)).toISOString().slice(0, 10), "--until", "24h"], [middle]],
    [["--until", new Date(ago(7 * DAY_MS)).toISOString()], [oldest]],
    [
      ["--digest", records[0]?.input_digest ?? ""],
      [middle, oldest],
    ],
    [["--digest", newest], [newest]],
    [["--limit", "1"], [newest]],
    [["--client-session", "7b1e6f0a"], [oldest]],
    [["--client-session", "b1e6"], []],
    [["--user", "ada"], [oldest]],
    [["--host", "desk-7", "--client", "claude-code"], [oldest]],
    [["--user", "ad"], []],
  ])("finds by %j", async (flags, expected) => {
    const { code, stdout } = await ptc("list", "--json", ...flags);
    expect(code).toBe(0);
    expect(idsOf(stdout)).toEqual(expected);
  });

  it("prints a table for people, and says when there is more and when there is nothing", async () => {
    const limited = await ptc("list", "--limit", "2");
    expect(limited.stdout.split("\n")).toHaveLength(4);
    expect(limited.stderr).toBe("ptc: the newest 2; --limit shows more\n");
    expect(await ptc("list", "--tool", "nothing")).toEqual({
      code: 0,
      stdout: "",
      stderr: "ptc: no archived run matches\n",
    });
  });

  it.each([
    [["--status", "Broken"], "--status: 'Broken' is not one of ok, failed, TypeCheckError"],
    [["--since", "yesterday"], "--since: 'yesterday' is not a time; give 24h"],
    [["--until", "12"], "--until: '12' is not a time"],
    [["--limit", "0"], "--limit: '0' is not a whole number from 1 to"],
    [["--digest", "../../etc/passwd"], "'../../etc/passwd' finds no run"],
    [["--digest", "' OR 1=1 --"], "finds no run"],
    [["--client-session", "current"], "--client-session: no client has started this shell"],
    [["--digest", "\u001b[2J"], "'?[2J' finds no run"],
  ])("refuses %j in one line", async (flags, message) => {
    const { code, stdout, stderr } = await ptc("list", ...flags);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^ptc: [^\n]+\n$/);
    expect(stderr).toContain(message);
  });
});

describe("ptc runs", () => {
  it.each(["list", "show", "stats", "prune", "export", "import", "verify"])(
    "%s explains itself with an example",
    async (command) => {
      const { code, stdout } = await newProject().ptc(command, "--help");
      expect(code).toBe(0);
      expect(stdout).toContain(`Example:\n  ptc runs ${command}`);
      expect(stdout).toContain("--config <file>");
      expect(stdout).toContain("--json");
    },
  );
});
