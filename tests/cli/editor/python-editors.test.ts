import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { projectInProcess } from "../in-process.ts";
import { fixtureServer } from "../ptc-process.ts";

const PYRIGHT = createRequire(import.meta.url).resolve("pyright/index.js");
const PROGRAM = `import servers.x
from servers.x import echo


async def main() -> None:
    await echo(text=data["word"])
    await servers.x.echo(txt="a")
    await mcp__x__echo(text="a")
    await mcp__x__echo(text=1)
    no_such_name()
`;

/** What pyright shows in a program of a folder, as editors that are made of it do: `line:column rule`. */
function diagnose(directory: string, file: string): string[] {
  const { stdout } = spawnSync(process.execPath, [PYRIGHT, "-p", directory, "--outputjson"], {
    encoding: "utf8",
  });
  const { generalDiagnostics } = JSON.parse(stdout) as {
    generalDiagnostics: {
      file: string;
      rule?: string;
      range: { start: { line: number; character: number } };
    }[];
  };
  return generalDiagnostics.map(({ file: shown, rule, range: { start } }) =>
    [shown.endsWith(`/${file}`) ? "" : shown, `${start.line + 1}:${start.character + 1} ${rule}`].join(""),
  );
}

const MISTAKES = ["7:11 reportCallIssue", "9:29 reportArgumentType", "10:5 reportUndefinedVariable"];

/** Neither program has a mistake until its last two lines; one blocks in each call, the other awaits it. */
const BLOCKING = `import itertools
import json
from concurrent.futures import ThreadPoolExecutor

import servers.x
from servers.x import echo

text = echo(text=data["word"])
print(text.upper(), len(text), f"{echo(text='a')}" + text)
for each in echo({"text": "a"}):
    print(each["name"])
rows = sorted(servers.x.echo(text="a"), key=lambda row: row["name"])
found: dict[str, int] = json.loads(mcp__x__echo(text="a"))
echo(text="b")
if "a" in echo(text="b") and echo(text="c")[0] == "c":
    result = [row["id"] for row in itertools.chain(call_tool("mcp__x__echo", {"text": "d"}), rows)]
with ThreadPoolExecutor() as pool:
    print([each.strip() for each in pool.map(lambda word: echo(text=word), ["a"])])
print([each["id"] for each in parallel([lambda: echo(text="a")], limit=2)])
echo(txt="a")
echo(text=1)
`;
const AWAITING = `import asyncio

import servers.x
from servers.x import echo


async def main() -> list[str]:
    one = await echo(text=data["word"])
    both = await asyncio.gather(echo(text="a"), servers.x.echo(text="b"))
    task = asyncio.create_task(mcp__x__echo(text="c"))
    many = await parallel([lambda: echo(text="a")], limit=2)
    return [one, *both, await task, *many, await call_tool("mcp__x__echo", {"text": "d"})]


async def wrong() -> None:
    await echo(txt="a")
    await echo(text=1)
`;

async function generate(languages: readonly string[], files: Record<string, string> = {}) {
  const settings = { languages, servers: [fixtureServer("x", "echo-v1.mjs")] };
  const { project, ptc } = projectInProcess(settings, { "program.py": PROGRAM, ...files });
  return { project, ptc: (args: string[]) => ptc(args) };
}

describe("editors of programs in Python beside ptc.yaml", () => {
  it("find the stubs and the globals, by a file that ptc writes where there is none", async () => {
    const { project, ptc } = await generate(["python"]);
    expect(await ptc(["generate", "--check"])).toMatchObject({ code: 4 });
    const first = await ptc(["generate"]);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toMatch(
      /^x +2 tools {2}generated\/servers\/x\/__init__\.pyi\nwrote pyrightconfig\.json, by which editors find /,
    );
    expect(existsSync(`${project.directory}/tsconfig.json`)).toBe(false);
    expect(diagnose(project.directory, "program.py")).toEqual(MISTAKES);
    expect((await ptc(["generate"])).stdout).toContain("__init__.pyi  (unchanged)\n1 server listed, 2 tools");
    expect(await ptc(["generate", "--check"])).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it.each([
    ["blocks in its calls", BLOCKING, 20],
    ["awaits them", AWAITING, 16],
  ])("accept a program that %s, and find its mistakes", async (_, program, line) => {
    const { project, ptc } = await generate(["python"], { "program.py": program });
    expect(await ptc(["generate"])).toMatchObject({ code: 0 });
    const found = diagnose(project.directory, "program.py");
    const call = program === BLOCKING ? 1 : 11;
    expect(found).toEqual([`${line}:${call} reportCallIssue`, `${line + 1}:${call + 10} reportArgumentType`]);
  });

  it("are led by a file of each language that is on", async () => {
    const { project, ptc } = await generate(["typescript", "python"]);
    const { stdout } = await ptc(["generate"]);
    expect(stdout).toContain("generated/servers/x/index.ts, generated/servers/x/__init__.pyi\n");
    expect(stdout.match(/^wrote \S+,/gm)).toEqual(["wrote tsconfig.json,", "wrote pyrightconfig.json,"]);
    expect(existsSync(`${project.directory}/tsconfig.json`)).toBe(true);
  });

  it.each([
    [
      "pyrightconfig.json",
      '{ "strict": [] } // mine\n',
      '{ "extends": "generated/pyrightconfig.json" } // mine\n',
    ],
    [
      "pyproject.toml",
      '[tool.pyright] # mine\nstrict = []\n[tool.ruff]\nextends = "generated"\n',
      '[project]\nname = "a"\n[tool.pyright]\nstubPath = "./generated/"\nreportMissingModuleSource = false\n',
    ],
  ])(
    "have a %s of the user's left as it is, and the user told once what to set",
    async (name, mine, right) => {
      const { project, ptc } = await generate(["python"], { [name]: mine });
      const told = `${name} is yours and stays as it is; for editors to find ./servers/ from programs beside it, have it extend generated/pyrightconfig.json (or set its "stubPath" to "generated")`;
      expect(await ptc(["generate"])).toMatchObject({ code: 0, stderr: expect.stringContaining(told) });
      expect(project.read(name)).toBe(mine);
      expect(existsSync(`${project.directory}/pyrightconfig.json`)).toBe(name === "pyrightconfig.json");
      expect(await ptc(["generate"])).toMatchObject({ code: 0, stderr: "" });
      project.write(name, right);
      expect(diagnose(project.directory, "program.py")).toEqual(MISTAKES);
      expect(await ptc(["generate", "--check"])).toEqual({ code: 0, stdout: "", stderr: "" });
    },
  );

  it("are led by ptc's file beside a pyproject.toml that says nothing of them", async () => {
    const { project, ptc } = await generate(["python"], { "pyproject.toml": '[project]\nname = "a"\n' });
    expect(await ptc(["generate"])).toMatchObject({ code: 0, stderr: "" });
    expect(project.read("pyrightconfig.json")).toBe('{ "extends": "./generated/pyrightconfig.json" }\n');
  });
});
