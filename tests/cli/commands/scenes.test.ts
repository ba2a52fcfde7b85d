/**
 * Commands as scenes: each file of `scenes/` has scenes by their claims, and each scene is a list of steps in one project, in which
 * commands run in this process. A step is one of
 *
 * - `ptc: WORDS`, with `in` (its stdin), and what it is expected to end with and to print: `code` (0 by default), `out`, `err`;
 * - `refused: { WORDS: EXPECTED, ... }`, for commands that end with `code` (2 by default) and one line, which has that;
 * - `write: { FILE: CONTENT }`, `edit: { FILE: [BEFORE, AFTER] }` or `remove: FILE`;
 * - `files: { FILE: EXPECTED }`, where `null` expects no file, and a folder is a line for each name in it.
 *
 * What is expected is a text that is contained, `/a pattern/m`, `{ is: TEXT }`, `{ json: PART }`, `{ yaml: WHOLE }`, `{ not: [TEXT, ...] }`, or a list
 * of these. `<node>`, `<fixtures>` and `<folder>` stand for paths, `<example>` for a recorded example
 * without calls, and `<NAME>` for what a step has kept (`keep: { NAME: PATTERN }`).
 */
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { shellWords } from "../help/printed-examples.ts";
import { expectRefusal, projectInProcess } from "../in-process.ts";

type Expected =
  | string
  | { is: string }
  | { json: unknown }
  | { yaml: unknown }
  | { not: string[] }
  | Expected[]
  | null;
interface Step {
  ptc?: string | string[];
  in?: string;
  code?: number;
  out?: Expected;
  err?: Expected;
  keep?: Record<string, string>;
  refused?: Record<string, string>;
  write?: Record<string, string | object>;
  edit?: Record<string, [before: string, after: string]>;
  remove?: string;
  files?: Record<string, Expected>;
}
interface Scenes {
  /** The only system on which the scenes are as they are told. */
  platform?: string;
  project: Record<string, string | object>;
  /** Steps that every scene begins with. */
  begin?: Step[];
  scenes: Record<string, Step[]>;
}

const FOLDER = join(import.meta.dirname, "scenes");
const FIXTURES = join(import.meta.dirname, "../../fixtures/servers");
const RECORDED = join(import.meta.dirname, "../../../examples/recipes/programs/open-tasks.example.json");
const EXAMPLE = JSON.stringify({
  ...JSON.parse(readFileSync(RECORDED, "utf8")),
  ...{ tools: [], calls: [], data: {} },
});

describe.each(globSync("*.yaml", { cwd: FOLDER }).sort())("%s", (file) => {
  const known = { node: process.execPath, fixtures: FIXTURES, example: EXAMPLE };
  const told = parse(readFileSync(join(FOLDER, file), "utf8"));
  const { platform, project, begin = [], scenes }: Scenes = filled(told, known);
  const isHere = platform === undefined || platform === process.platform;
  it.skipIf(!isHere).each(Object.entries(scenes))("%s", async (_, steps) => {
    const { "ptc.yaml": configuration = {}, ...files } = project;
    const made = projectInProcess(configuration, files);
    const kept: Record<string, string> = { folder: made.project.directory };
    for (const step of [...begin, ...steps])
      await take(filled(step, kept), made, kept).catch((error: Error) => {
        error.message = `${JSON.stringify(step).slice(0, 200)}: ${error.message}`;
        throw error;
      });
  });
});

async function take(
  step: Step,
  { project, ptc }: ReturnType<typeof projectInProcess>,
  kept: Record<string, string>,
): Promise<void> {
  const at = (file: string) => join(project.directory, file);
  for (const [file, content] of Object.entries(step.write ?? {})) {
    mkdirSync(dirname(at(file)), { recursive: true });
    project.write(file, content);
  }
  for (const [file, [before, after]] of Object.entries(step.edit ?? {})) {
    expect(project.read(file)).toContain(before);
    project.write(file, project.read(file).replaceAll(before, after));
  }
  if (step.remove !== undefined) rmSync(at(step.remove), { recursive: true });
  for (const [line, message] of Object.entries(step.refused ?? {}))
    expectRefusal(await ptc(shellWords(line), {}, step.in), patternOf(message) ?? message, step.code);
  if (step.ptc !== undefined) {
    const words = typeof step.ptc === "string" ? shellWords(step.ptc) : step.ptc;
    const { code, stdout, stderr } = await ptc(words, {}, step.in);
    expect({ words, code, stderr: code === (step.code ?? 0) ? "" : stderr }).toEqual({
      ...{ words, code: step.code ?? 0, stderr: "" },
    });
    check(stdout, step.out);
    check(stderr, step.err);
    for (const [name, pattern] of Object.entries(step.keep ?? {}))
      kept[name] = new RegExp(pattern, "m").exec(stdout)?.[1] ?? expect.unreachable(`no ${pattern}`);
  }
  for (const [file, expected] of Object.entries(step.files ?? {}))
    if (expected === null) expect(existsSync(at(file)), file).toBe(false);
    else check(statSync(at(file)).isFile() ? project.read(file) : readdirSync(at(file)).join("\n"), expected);
}

function check(text: string, expected: Expected | undefined): void {
  if (expected === undefined || expected === null) return;
  if (Array.isArray(expected)) for (const each of expected) check(text, each);
  else if (typeof expected === "string") {
    const pattern = patternOf(expected);
    if (pattern === undefined) expect(text).toContain(expected);
    else expect(text).toMatch(pattern);
  } else if ("is" in expected) expect(text).toBe(expected.is);
  else if ("yaml" in expected) expect(parse(text)).toEqual(expected.yaml);
  else if ("json" in expected) expect(JSON.parse(text)).toMatchObject(expected.json as object);
  else for (const each of expected.not) expect(text).not.toContain(each);
}

function patternOf(text: string): RegExp | undefined {
  const [, source, flags] = /^\/([\s\S]*)\/([a-z]*)$/.exec(text) ?? [];
  return source === undefined ? undefined : new RegExp(source, flags);
}

/** The value with known names for `<NAME>` in its texts and keys. */
function filled<T>(value: T, known: Record<string, string>): T {
  const names = new RegExp(`<(${Object.keys(known).join("|")})>`, "g");
  const text = JSON.stringify(value).replaceAll(names, (_, name: string) =>
    JSON.stringify(known[name]).slice(1, -1),
  );
  return JSON.parse(text) as T;
}
