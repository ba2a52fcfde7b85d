import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { RECORDED_FILE, renderRecorded } from "../../scripts/docs/savings/recorded.ts";
import { type Exited, envelopeOf, type Project, usePtc } from "./ptc-process.ts";
import { type RanExample, recordExamples } from "./recipes/record-examples.ts";

const REPOSITORY = join(import.meta.dirname, "../..");
const RECIPES = join(REPOSITORY, "examples/recipes");
const COMMITS = 23;
/** The commands that the folder's README prints, by program. */
const PRINTED = new Map(
  [...readFileSync(join(RECIPES, "README.md"), "utf8").matchAll(/^npx (ptc run (\S+).*?)(?: +#.*)?$/gm)].map(
    ([, command = "", program = ""]) => [program, command],
  ),
);

const newProject = usePtc();
let project: Project;
let env: Record<string, string>;
const ran = new Map<string, RanExample>();

/** The pages that programs fetch. */
let site: ChildProcess;
let origin: string;

/** A copy of the folder, in which programs run as its ptc.yaml says, with a git repository of its own. */
beforeAll(async () => {
  project = newProject();
  const state = join(project.directory, "state");
  const repository = join(project.directory, "repository");
  for (const folder of [state, repository]) mkdirSync(folder);
  cpSync(RECIPES, join(project.directory, "examples/recipes"), {
    recursive: true,
    filter: (path) => basename(path) !== ".ptc",
  });
  symlinkSync(join(REPOSITORY, "node_modules"), join(project.directory, "node_modules"));
  const bin = join(project.directory, "bin");
  mkdirSync(bin);
  const words = project.command([]).map((word) => `'${word}'`);
  writeFileSync(join(bin, "ptc"), `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`, { mode: 0o755 });
  env = { RECIPES_STATE: state, RECIPES_REPOSITORY: repository, PATH: `${bin}:${process.env.PATH}` };
  // Digests of commits are the same whenever they are made.
  const dates = { GIT_AUTHOR_DATE: "2026-01-01T12:00:00Z", GIT_COMMITTER_DATE: "2026-01-01T12:00:00Z" };
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: repository, stdio: "ignore", env: { ...process.env, ...dates } });
  git("init");
  for (let i = 0; i < COMMITS; i++) {
    const author = i % 3 === 0 ? "Ada" : "Grace";
    const who = ["-c", `user.name=${author}`, "-c", "user.email=nobody@example.com"];
    git(...who, "commit", "--allow-empty", "--message", `Change ${i}`);
  }
  site = spawn(process.execPath, [join(RECIPES, "site.mjs")], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: site.stdout ?? process.stdin })) {
    origin = line;
    break;
  }
  env.SITE = origin;
});

afterAll(() => void site?.kill());

const url = (path: string) => `${origin}${path}`;
const ptc = (...args: string[]) => project.ptc([...args, "--config", "examples/recipes/ptc.yaml"], { env });

/** Runs a command as a shell in the folder of the examples does. */
function shell(command: string, more: Record<string, string> = {}): Promise<Exited> {
  const cwd = join(project.directory, "examples/recipes");
  return new Promise((resolve) => {
    const child = execFile(
      "sh",
      ["-c", command],
      { cwd, env: { ...process.env, XDG_RUNTIME_DIR: join(project.directory, "run"), ...env, ...more } },
      (_, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    );
    child.stdin?.end();
  });
}

/** What each program is given by the command that is printed, and what comes of it. */
const EXPECTED: Readonly<Record<string, { data?: () => Record<string, unknown>; result: unknown }>> = {
  "fan-out.ts": { result: expect.arrayContaining([{ note: "fair.md", words: 13 }]) },
  "filter.py": {
    result: [
      { note: "apples.md", todo: "ask Orchard Ltd for a price" },
      { note: "fair.md", todo: "book the stand" },
      { note: "fair.md", todo: "print leaflets" },
    ],
  },
  "join.py": { result: expect.objectContaining({ DE: expect.any(Number), MX: expect.any(Number) }) },
  "paging.ts": { data: () => ({ repository: env.RECIPES_REPOSITORY }), result: { Grace: 15, Ada: 8 } },
  "retry.py": { data: () => ({ url: url("/flaky") }), result: { answer: { there: true }, attempts: 3 } },
  "approval.ts": {
    result: { removed: ["fair 2024", "fair 2025"] },
  },
  "large-data.py": {
    result: { errors: expect.any(Number), p95_ms: expect.objectContaining({ "/": expect.any(Number) }) },
  },
  "images.ts": { result: { mimeType: "image/png", bytes: expect.any(Number) } },
  "resources.py": { result: expect.objectContaining({ "features.md": expect.any(Number) }) },
  "web-to-database.ts": {
    data: () => ({ url: url("/stations") }),
    result: { stations: 40, bikes: 60, empty: 10 },
  },
  "graph.py": { data: () => ({ repository: env.RECIPES_REPOSITORY }), result: { Ada: 3, Grace: 3 } },
  "saved.ts": { result: "3 open tasks, the first of them: ask Orchard Ltd for a price" },
};

describe("the programs of examples/recipes", () => {
  it("are as many as are tried, and have modules of the tools that there are", async () => {
    const programs = readdirSync(RECIPES).filter((name) => /\.(?:ts|py)$/.test(name));
    expect(programs.sort()).toEqual(Object.keys(EXPECTED).sort());
    expect([...PRINTED.keys()].sort()).toEqual(Object.keys(EXPECTED).sort());
    expect(await ptc("generate", "--check")).toMatchObject({ code: 0, stderr: "" });
  });

  it.each(Object.entries(EXPECTED))(
    "%s comes to what it says, run by the command that is printed",
    async (name, { data, result }) => {
      const exited = await shell(PRINTED.get(name) ?? "false");
      const { run_id: runId, result: ended } = envelopeOf(exited);
      expect(ended, exited.stderr).toMatchObject({ ok: true, data: result });
      ran.set(name, { runId, data: data?.() ?? {} });
    },
  );

  it.each(Object.entries(EXPECTED))(
    "%s comes to the same in an interpreter in WebAssembly",
    async (name, { result }) => {
      const folder = join(project.directory, "examples/recipes");
      const configuration = parse(readFileSync(join(folder, "ptc.yaml"), "utf8")) as object;
      const sandbox = { engine: "wasm", wasm: { tools: "all" } };
      writeFileSync(join(folder, "wasm.yaml"), stringify({ ...configuration, sandbox }));
      const state = join(project.directory, `wasm-state-${name}`);
      mkdirSync(state);
      const exited = await shell(`${PRINTED.get(name)} --config wasm.yaml`, { RECIPES_STATE: state });
      const { result: ended } = envelopeOf(exited);
      expect(ended, exited.stderr).toMatchObject({ ok: true, data: result });
    },
  );

  it("make the calls that the figures of docs/savings.md are of", async () => {
    const directState = join(project.directory, "direct-state");
    mkdirSync(directState);
    const recorded = await recordExamples(ran, {
      file: join(project.directory, "examples/recipes/ptc.yaml"),
      env,
      directEnv: { ...env, RECIPES_STATE: directState },
      // The same on any machine.
      replace: new Map([
        [project.directory, "/recipes"],
        [url(""), "http://127.0.0.1:8080"],
      ]),
      async run(name, code, data) {
        project.write(`examples/recipes/look-${name}`, code);
        const looked = await ptc("run", `examples/recipes/look-${name}`, "--data", JSON.stringify(data));
        return envelopeOf(looked).run_id;
      },
    });
    // After a change that is meant: vitest --update with this file, then node scripts/docs.ts.
    await expect(renderRecorded(recorded)).toMatchFileSnapshot(RECORDED_FILE);
  });

  it("are saved so that they can be tested without servers", async () => {
    expect(await ptc("test")).toMatchObject({ code: 0 });
  });
});
