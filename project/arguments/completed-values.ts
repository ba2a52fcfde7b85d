import { readdir } from "node:fs/promises";
import { toolParameters } from "../../catalog/arguments.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { LOCAL_USER } from "../local-user.ts";
import { openProject, type Project } from "../open-project.ts";

/** A possible word at the cursor, with a description. */
export interface Candidate {
  word: string;
  about?: string | undefined;
}

/** What a word of the command line stands for. */
export type WordKind =
  | { kind: "words"; words: readonly string[] }
  | { kind: "files" | "servers" | "tools" | "runs" | "programs" | "none" }
  /** A saved program, or the file of one. */
  | { kind: "program" }
  /** A tool to call, and then its arguments, by the tool's name. */
  | { kind: "called-tool" }
  | { kind: "tool-arguments"; tool: string };

const MAX_RUNS = 50;
/** How many characters of a digest name an input. */
const DIGEST_CHARS = 12;

/** Where values are found: in the project that `--config` names or this folder has, and in the folder itself. */
export interface Place {
  env: EnvironmentVariables;
  cwd: string;
  onWarning: (message: string) => void;
}

/** What a word of the command line can be that is found in the project: a tool, a server, a program or a run. */
export async function findValues(
  value: WordKind,
  words: readonly string[],
  place: Place,
): Promise<Candidate[]> {
  switch (value.kind) {
    case "servers":
      return (await configurationOf(words, place)).servers.map(({ name, description }) => ({
        word: name,
        about: description,
      }));
    case "tools":
      return toolsOf(await catalogOf(words, place)).map((tool) => ({
        word: tool.namespacedName,
        about: tool.description ?? tool.title,
      }));
    case "called-tool":
      return toolsOf(await catalogOf(words, place)).map((tool) => ({
        word: `${tool.server}.${tool.name}`,
        about: tool.description ?? tool.title,
      }));
    case "tool-arguments": {
      const tool = (await catalogOf(words, place)).find(value.tool);
      const given = new Set(words.slice(0, -1).map((word) => word.replace(/=.*$/s, "")));
      return (tool === undefined ? [] : toolParameters(tool.inputSchema).parameters)
        .filter(({ name }) => !given.has(name))
        .map(({ name, description }) => ({ word: `${name}=`, about: description }));
    }
    case "programs":
      return savedPrograms(words, place);
    case "program": {
      const saved = await savedPrograms(words, place);
      // If nothing is saved, the shell completes files itself, which it does better.
      return saved.length === 0 ? [] : [...saved, ...(await programFiles(place))];
    }
    case "runs":
      return runsOf(words, place);
    default:
      return [];
  }
}

async function savedPrograms(words: readonly string[], place: Place): Promise<Candidate[]> {
  const { readPrograms } = await import("../../programs/program-folder.ts");
  const { programs } = readPrograms(await configurationOf(words, place));
  return programs.map(({ name, manifest }) => ({ word: name, about: manifest.description }));
}

/** The files in this folder that may be programs. */
async function programFiles({ cwd }: Place): Promise<Candidate[]> {
  const files = await readdir(cwd);
  return files.filter((file) => /\.(?:m?[jt]s|py)$/.test(file)).map((word) => ({ word }));
}

function toolsOf(catalog: ToolCatalog) {
  return catalog.servers.flatMap(({ tools }) => tools);
}

/** The newest runs by their ids, and by their inputs' digests if a digest has been typed in part. */
async function runsOf(words: readonly string[], place: Place): Promise<Candidate[]> {
  const current = words.at(-1) ?? "";
  const { shortRunId } = await import("../run-report/runs-text.ts");
  const project = await projectOf(words, place);
  try {
    if (!(await project.runs.exists())) return [];
    const { runs } = await project.runs.list({ limit: MAX_RUNS });
    return runs.flatMap(({ run_id: runId, input_digest: input, status, title, file_name: file }) => {
      const about = `${status}: ${title === "" ? file : title}`;
      const digest = input.replace(/^sha256:/, "").slice(0, DIGEST_CHARS);
      const byInput = current !== "" && digest.startsWith(current) ? [{ word: digest, about }] : [];
      return [{ word: shortRunId(runId), about }, ...byInput];
    });
  } finally {
    await project.close();
  }
}

/** The file that the command line names with `--config`. */
function configIn(words: readonly string[]): string | undefined {
  const at = words.lastIndexOf("--config", words.length - 3);
  return at >= 0 ? words[at + 1] : words.findLast((word) => word.startsWith("--config="))?.slice(9);
}

/** Opens the project that the command line names. */
function projectOf(words: readonly string[], { env, cwd, onWarning }: Place): Promise<Project> {
  return openProject({ flag: configIn(words), env, cwd }, { onWarning });
}

async function configurationOf(words: readonly string[], place: Place) {
  return (await projectOf(words, place)).configuration;
}

async function catalogOf(words: readonly string[], place: Place): Promise<ToolCatalog> {
  const project = await projectOf(words, place);
  return (await project.tools()).callableFor(LOCAL_USER);
}
