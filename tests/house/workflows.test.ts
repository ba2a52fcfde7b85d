import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const root = join(import.meta.dirname, "../..");
const FILES = globSync(".github/workflows/*.yml", { cwd: root }).sort();
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};

/** The only jobs that may write something or have an identity, and what. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  npm: ["id-token"],
  pypi: ["id-token"],
  registry: ["id-token"],
  images: ["packages"],
  "publish-images": ["packages", "id-token"],
  chart: ["packages", "id-token"],
};

/** Commands that are no files of this repository. */
const KNOWN = [
  /^npm install --no-save /,
  /^npm publish --provenance --access public \.\/packages\/\*\.tgz$/,
  /^go install \S+@v[\d.]+$/,
  /^mkdir packages$/,
];

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
}
interface Job {
  uses?: string;
  steps?: Step[];
  permissions?: Record<string, string>;
  "timeout-minutes"?: number;
}
interface Workflow {
  on?: { push?: { tags?: string[] } };
  permissions?: Record<string, string>;
  jobs: Record<string, Job>;
}

const read = (file: string) => readFileSync(join(root, file), "utf8");
const jobsOf = (file: string) => Object.entries((parse(read(file)) as Workflow).jobs);
const stepsOf = (file: string) => jobsOf(file).flatMap(([, { steps = [] }]) => steps);

/** What a line of a step names that is not there. */
function unknownIn(line: string): string[] {
  const command = line.replace(/^sudo (?:--preserve-env=\S+ )?/, "");
  const [, script] = /^npm (?:run )?([\w:]+)/.exec(command) ?? [];
  if (script !== undefined && scripts[script] !== undefined) return [];
  const [, file] = /^(?:sh|node) (\S+)/.exec(command) ?? [];
  if (file !== undefined && existsSync(join(root, file))) return [];
  return KNOWN.some((each) => each.test(command)) ? [] : [line];
}

describe("the workflows", () => {
  it("are those of continuous integration, releases and the night", () => {
    expect(FILES.map((file) => file.replace(/.*\//, ""))).toEqual(["ci.yml", "nightly.yml", "release.yml"]);
  });

  it.each(FILES)(
    "run in %s only npm scripts and files that there are, and nothing made of what others wrote",
    (file) => {
      const lines = stepsOf(file).flatMap(({ run }) => run?.trim().split("\n") ?? []);
      expect(lines.length).toBeGreaterThan(0);
      expect(lines.flatMap(unknownIn)).toEqual([]);
      expect(lines.filter((line) => line.includes("${{"))).toEqual([]);
    },
  );

  it.each(FILES)("in %s may read, and write only where a job has to", (file) => {
    const { permissions, jobs } = parse(read(file)) as Workflow;
    expect(permissions).toEqual({ contents: "read" });
    for (const [name, job] of Object.entries(jobs)) {
      const written = Object.entries(job.permissions ?? {}).filter(([, may]) => may !== "read");
      expect([name, written.map(([what]) => what).sort()]).toEqual([name, [...(MAY[name] ?? [])].sort()]);
    }
  });

  it.each(FILES)("in %s pin actions by commit and name the version, keep no credentials, and end", (file) => {
    const used = [...read(file).matchAll(/\buses: (\S+)(.*)/g)].map(([, action = "", rest = ""]) => ({
      action,
      rest,
    }));
    expect(used.length).toBeGreaterThan(0);
    for (const { action, rest } of used)
      if (action.startsWith("./")) expect(existsSync(join(root, action))).toBe(true);
      else expect(`${action}${rest}`).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    for (const { uses, with: given } of stepsOf(file))
      if (uses?.startsWith("actions/checkout@"))
        expect(given).toMatchObject({ "persist-credentials": false });
    for (const [name, job] of jobsOf(file))
      expect([name, job.uses ?? job["timeout-minutes"]]).toEqual([name, expect.anything()]);
  });

  it("publish only what all tests have run on", () => {
    const jobs = Object.fromEntries(jobsOf(".github/workflows/release.yml")) as Record<
      string,
      Job & { needs?: string | string[] }
    >;
    const needed = (name: string): string[] =>
      [jobs[name]?.needs ?? []].flat().flatMap((each) => [each, ...needed(each)]);
    for (const name of Object.keys(MAY))
      expect([name, needed(name)]).toEqual([name, expect.arrayContaining(["test"])]);
  });

  it("release of tags only those of whole versions, which npm may make its latest", () => {
    const { on } = parse(read(".github/workflows/release.yml")) as Workflow;
    expect(on?.push?.tags).toEqual(["v[0-9]+.[0-9]+.[0-9]+"]);
  });

  const { error } = spawnSync("actionlint", ["-version"]);
  it.skipIf(error !== undefined)("have nothing that actionlint complains of", () => {
    const { stdout } = spawnSync("actionlint", ["-no-color", ...FILES], { cwd: root, encoding: "utf8" });
    expect(stdout).toBe("");
  });
});
