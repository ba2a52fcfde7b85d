import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openForWriting } from "../../../archive/sqlite/connection.ts";
import { COMPLETION_SCRIPTS } from "../../../cli/commands/completion.ts";
import { storeSample } from "../../server/reports/sample-archive.ts";
import { ptcIn } from "../in-process.ts";
import { hasPython, WITHOUT_PYTHON } from "../terminal/run-on-terminal.ts";

const ROOT = join(import.meta.dirname, "../../..");
const ON_A_TERMINAL = join(import.meta.dirname, "../../fixtures/keys-on-a-terminal.py");

/** A folder with this repository's servers and modules, one run, and a `ptc` that a shell finds. */
const folder = mkdtempSync(join(tmpdir(), "ptc-completion-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
cpSync(join(ROOT, "ptc.yaml"), join(folder, "ptc.yaml"));
cpSync(join(ROOT, "generated"), join(folder, "generated"), { recursive: true });
mkdirSync(join(folder, ".ptc"));
mkdirSync(join(folder, "bin"));
writeFileSync(join(folder, "a-program.ts"), "");
const db = openForWriting(join(folder, ".ptc/archive.db"));
const { record } = storeSample(db, { code: "console.log('weekly report')" });
db.close();
const script = `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, "cli/start.ts")}' "$@"\n`;
writeFileSync(join(folder, "bin/ptc"), script, { mode: 0o755 });
const path = `${join(folder, "bin")}:${process.env.PATH}`;
const plain = { TERM: "xterm", LANG: "C.UTF-8", PTC_HOST: "off", NODE_NO_WARNINGS: "1" };
const env = { ...plain, PATH: path, HOME: folder };

async function complete(...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await ptcIn(folder, ["complete-words", "--", ...words]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.split("\n").slice(0, -1);
}

const wordsOf = async (...words: string[]) => (await complete(...words)).map((line) => line.split("\t")[0]);
const runId = record.run_id.slice(0, 8);

describe("the words that may come next", () => {
  it.each([
    ["ins", ["install", "inspect"]],
    ["runs s", ["show", "stats"]],
    ["runs list --cl", ["--client-session", "--client"]],
    ["list f", ["filesystem"]],
    ["search x --server mem", ["memory"]],
    ["inspect mcp__memory__read", ["mcp__memory__read_graph"]],
    ["run x.ts --approve mcp__everything__ec", ["mcp__everything__echo"]],
    ["call filesystem.read_t", ["filesystem.read_text_file"]],
    ["call filesystem.read_text_file ", ["path=", "tail=", "head="]],
    ["call filesystem.read_text_file path=x ", ["tail=", "head="]],
    ["replay ", [runId]],
    [`runs show ${runId.slice(0, 3)}`, [runId]],
    [`replay ${record.input_digest.slice(7, 10)}`, [record.input_digest.slice(7, 19)]],
    ["install c", ["claude", "cursor", "codex"]],
    ["install codex --scope u", ["user"]],
    ["run ", [":files"]],
    ["run --data ", []],
    ["nonsense ", []],
    ["list --config none.yaml ", []],
  ])("after %j are %j", async (words, expected) => {
    const found = await wordsOf(...words.split(" "));
    if (/^replay ./.test(words)) expect(found).toEqual(expect.arrayContaining(expected));
    else expect(found).toEqual(expected);
  });

  it("are saved programs too, beside files that may be programs", async () => {
    mkdirSync(join(folder, "programs"));
    const manifest =
      "version: 1\ndescription: What happened\nprogram: weekly-report.ts\ninput: { type: object }\n";
    writeFileSync(join(folder, "programs/weekly-report.yaml"), manifest);
    writeFileSync(join(folder, "programs/weekly-report.ts"), "globalThis.result = 1;\n");
    expect(await complete("test", "")).toEqual(["weekly-report\tWhat happened"]);
    expect(await wordsOf("run", "")).toEqual(["weekly-report", "a-program.ts"]);
    expect(await wordsOf("run", "elsewhere/")).toEqual([":files"]);
    rmSync(join(folder, "programs"), { recursive: true });
  });

  it("say what they are, and are harmless to a shell, whatever a server calls its tools", async () => {
    expect(await complete("replay", "")).toEqual([`${runId}\tok: console.log('weekly report')`]);
    for (const line of await complete("inspect", "")) expect(line).toMatch(/^[\w.:@/+=-]+\t[^\t]*$/);
  });

  it("are all that commands have: every command is completed, and accepts the options that are shown", async () => {
    const commands = await wordsOf("");
    expect(commands).toEqual(
      expect.arrayContaining(["run", "serve", "runs", "install", "completion", "help"]),
    );
    for (const command of commands.filter((each) => each !== "help" && each !== "call"))
      expect(await wordsOf(command ?? "", "--hel")).toEqual(["--help"]);
  });
});

/** Whether a shell is installed here, and what a title says where it is not. */
function shell(name: string): { there: boolean; title: string } {
  const there = spawnSync(name, ["-c", "exit 0"]).status === 0;
  return { there, title: there ? "" : ` (skipped: ${name} is not installed)` };
}

/** Types into a shell on a terminal, and returns what it showed, without white space. */
function typeInto(command: string[], steps: [string, string][]): string {
  const args = [ON_A_TERMINAL, JSON.stringify(steps), "120", "40", ...command];
  return spawnSync("python3", args, { cwd: folder, env, encoding: "utf8" }).stdout;
}

/** Each word is typed up to where the rest follows, and the line is given up once that was shown. */
const STEPS: [string, string][] = [
  ["READY>", "ptc call memory.read_g\t"],
  ["memory\\.read_graph", "\u0003"],
  ["READY>", "ptc run a-p\t"],
  ["a-program\\.ts", "\u0003"],
  ["READY>", ""],
];

describe.skipIf(!hasPython)(`completion in a shell${WITHOUT_PYTHON}`, () => {
  const bash = shell("bash");
  it.skipIf(!bash.there)(`of bash${bash.title} completes commands, tools and arguments`, () => {
    writeFileSync(join(folder, "rc.bash"), `PS1='READY> '\nset -o emacs\n${COMPLETION_SCRIPTS.bash}`);
    const shown = typeInto(["bash", "--noprofile", "--rcfile", join(folder, "rc.bash"), "-i"], STEPS);
    expect(shown).toMatch(/memory\.read_graph.*a-program\.ts/);
  });

  const zsh = shell("zsh");
  it.skipIf(!zsh.there)(`of zsh${zsh.title} completes commands, tools and arguments`, () => {
    const rc = `PS1='READY> '\nautoload -Uz compinit && compinit -u -D\n${COMPLETION_SCRIPTS.zsh}`;
    writeFileSync(join(folder, ".zshrc"), rc);
    const shown = typeInto(["zsh", "-i"], STEPS);
    expect(shown).toMatch(/memory\.read_graph.*a-program\.ts/);
  });

  const fish = shell("fish");
  it.skipIf(!fish.there)(`of fish${fish.title} completes commands, tools and arguments`, () => {
    writeFileSync(join(folder, "ptc.fish"), COMPLETION_SCRIPTS.fish ?? "");
    const ask = (line: string) => `complete -C '${line}'`;
    const source = `source ${join(folder, "ptc.fish")}; ${ask("ptc runs sh")}; ${ask("ptc call memory.read_g")}; ${ask("ptc run a-p")}; ${ask("ptc replay ")}`;
    const { stdout } = spawnSync("fish", ["--no-config", "-c", source], {
      cwd: folder,
      env,
      encoding: "utf8",
    });
    const words = stdout.split("\n").map((line) => line.split("\t")[0]);
    expect(words).toEqual(["show", "memory.read_graph", "a-program.ts", runId, ""]);
  });
});
