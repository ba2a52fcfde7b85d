import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { beforeAll, describe, expect, it } from "vitest";
import { type DeclaredCommand, describeCommands } from "../../cli/declared-commands.ts";
import { runAtFront } from "../../cli/front.ts";
import { defineCommands, main } from "../../cli/main.ts";
import { newFolder } from "../temporary-folder.ts";
import { surroundingsIn } from "./surroundings.ts";

async function programIn(folder: string): Promise<Command> {
  const program = new Command("ptc");
  await defineCommands(program, surroundingsIn(folder, ["node", "ptc"]), () => {});
  return program;
}

/** The path of each command, such as `runs show`. */
function pathsOf(commands: readonly DeclaredCommand[], above = ""): string[] {
  return commands.flatMap(({ name, commands: below }) => {
    const path = `${above}${name}`;
    return [path, ...pathsOf(below, `${path} `)];
  });
}

let declared: DeclaredCommand[] = [];
beforeAll(async () => {
  const written = describeCommands(await programIn("/a"), await programIn("/b"));
  declared = JSON.parse(JSON.stringify(written)) as DeclaredCommand[];
});

/** What the front and the commands themselves print for the same words; `passed` where the front leaves them to the command. */
async function both(words: readonly string[]) {
  const argv = ["node", "ptc", ...words];
  const [front, whole] = [surroundingsIn("/path", argv), surroundingsIn("/path", argv)];
  const at = await runAtFront(front, () => declared);
  if (typeof at !== "number") return { front: "passed" as const, whole: undefined };
  const code = await main(whole);
  return {
    front: { code: at, stdout: front.stdout.text, stderr: front.stderr.text },
    whole: { code, stdout: whole.stdout.text, stderr: whole.stderr.text },
  };
}

describe("what ptc does before it loads a command", () => {
  it("prints the same help as each command prints itself", async () => {
    const paths = pathsOf(declared);
    expect(paths.length).toBeGreaterThan(60);
    for (const path of paths) {
      if (path === "serve") continue;
      const { front, whole } = await both([...path.split(" "), "--help"]);
      expect(front, path).toEqual(whole);
    }
  });

  it.each([
    ["--version"],
    ["-V"],
    ["--help"],
    ["help"],
    ["help", "runs"],
    ["help", "nothing"],
    ["bogus"],
    ["lst"],
    ["--bogus"],
    ["list", "--bogus"],
    ["list", "--jsn"],
    ["list", "a", "b"],
    ["list", ""],
    ["runs"],
    ["runs", "sho"],
    ["runs", "list", "--since"],
    ["search"],
    ["inspect"],
    ["approvals", "approve"],
    ["call", "--bogus"],
    ["completion", "bash"],
    ["completion", "tcsh"],
    ["completion"],
    ["complete-words"],
    ["complete-words", "--", "runs", "sh"],
    ["complete-words", "--", "run", "--ap"],
    ["complete-words", "--", "install", ""],
    ["complete-words", "--", "help", ""],
  ])("says of `ptc %s %s %s %s` what the whole of ptc says", async (...words) => {
    const { front, whole } = await both(words);
    expect(front).not.toBe("passed");
    expect(front).toEqual(whole);
  });

  it.each([
    ["list"],
    ["list", "github", "--json"],
    ["run", "report.ts", "--unknown", "1"],
    ["run", "weekly-report", "--help"],
    ["call", "github.list_issues", "--help"],
    ["learn"],
    ["runs", "list", "--limit", "x"],
    // Its help names the configuration of the folder.
    ["serve", "--help"],
  ])("leaves `ptc %s %s %s %s` to the command", async (...words) => {
    expect(await both(words)).toMatchObject({ front: "passed" });
  });

  it("says in five lines what it is and what comes next, where nothing is set up", async () => {
    const nothing = () => {
      throw new Error("reads the commands");
    };
    const here = surroundingsIn(newFolder(), ["node", "ptc"]);
    expect(await runAtFront(here, nothing)).toBe(0);
    expect(here.stderr.text).toBe("");
    expect(here.stdout.text.trimEnd().split("\n")).toHaveLength(5);
    expect(here.stdout.text).toMatch(/^Next.*: {2}ptc up$/m);
  });

  it("names itself as it was started, by npx", async () => {
    const here = surroundingsIn(newFolder(), ["node", "ptc"]);
    await runAtFront({ ...here, env: { npm_command: "exec" } }, () => declared);
    expect(here.stdout.text).toMatch(/^Next.*: {2}npx ptc up$/m);
  });

  it("lists all commands in a folder that has a ptc.yaml", async () => {
    const folder = newFolder();
    writeFileSync(join(folder, "ptc.yaml"), "servers: []\n");
    const [front, whole] = [surroundingsIn(folder, ["node", "ptc"]), surroundingsIn(folder, ["node", "ptc"])];
    expect(await runAtFront(front, () => declared)).toBe(await main(whole));
    expect(front.stderr.text).toContain("Start here");
    expect(front.stderr.text).toBe(whole.stderr.text);
  });
});
