import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RECORDED_FILE, renderRecorded } from "../../scripts/docs/savings/recorded.ts";
import { envelopeOf, type Project, usePtc } from "./ptc-process.ts";
import { type RanExample, recordExamples } from "./recipes/record-examples.ts";

const REPOSITORY = join(import.meta.dirname, "../..");
const RECIPES = join(REPOSITORY, "examples/recipes");
const COMMITS = 23;
const STATIONS = Array.from({ length: 40 }, (_, i) => ({ name: `station ${i}`, bikes: i % 4 }));

const newProject = usePtc();
let project: Project;
let env: Record<string, string>;
const ran = new Map<string, RanExample>();

/** Pages that programs fetch: a list, and one that is not there the first two times. */
let asked = 0;
const site = createServer((request, response) => {
  const isThere = request.url === "/stations" || ++asked > 2;
  response.writeHead(isThere ? 200 : 503, { "content-type": "application/json" });
  response.end(JSON.stringify(request.url === "/stations" ? { stations: STATIONS } : { there: true }));
});

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
  env = { RECIPES_STATE: state, RECIPES_REPOSITORY: repository };
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
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
});

afterAll(() => {
  site.closeAllConnections();
  site.close();
});

const url = (path: string) => `http://127.0.0.1:${(site.address() as AddressInfo).port}${path}`;
const ptc = (...args: string[]) => project.ptc([...args, "--config", "examples/recipes/ptc.yaml"], { env });

/** What each program is given, and what comes of it. */
const EXPECTED: Readonly<
  Record<string, { data?: () => Record<string, unknown>; flags?: string[]; result: unknown }>
> = {
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
    flags: ["--approve", "mcp__memory__delete_entities"],
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
    expect(await ptc("generate", "--check")).toMatchObject({ code: 0, stderr: "" });
  });

  it.each(Object.entries(EXPECTED))(
    "%s comes to what it says",
    async (name, { data, flags = [], result }) => {
      const given = data?.() ?? {};
      asked = 0;
      const exited = await ptc("run", `examples/recipes/${name}`, "--data", JSON.stringify(given), ...flags);
      const { run_id: runId, result: ended } = envelopeOf(exited);
      expect(ended, exited.stderr).toMatchObject({ ok: true, data: result });
      ran.set(name, { runId, data: given });
    },
  );

  it("make the calls that the figures of docs/savings.md are of", async () => {
    asked = 0;
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
