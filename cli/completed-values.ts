import { readdir } from "node:fs/promises";
import { toolParameters } from "../catalog/arguments.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import { LOCAL_USER } from "../project/local-user.ts";
import type { Surroundings } from "./command.ts";
import type { Candidate, WordKind } from "./completed-word.ts";
import { openProjectOf } from "./project-command.ts";

const MAX_RUNS = 50;
/** How many characters of a digest name an input. */
const DIGEST_CHARS = 12;

/** What a word of the command line can be that is found in the project: a tool, a server, a program or a run. */
export async function findValues(
  value: WordKind,
  words: readonly string[],
  surroundings: Surroundings,
): Promise<Candidate[]> {
  switch (value.kind) {
    case "servers":
      return (await configurationOf(words, surroundings)).servers.map(({ name, description }) => ({
        word: name,
        about: description,
      }));
    case "tools":
      return toolsOf(await catalogOf(words, surroundings)).map((tool) => ({
        word: tool.namespacedName,
        about: tool.description ?? tool.title,
      }));
    case "called-tool":
      return toolsOf(await catalogOf(words, surroundings)).map((tool) => ({
        word: `${tool.server}.${tool.name}`,
        about: tool.description ?? tool.title,
      }));
    case "tool-arguments": {
      const tool = (await catalogOf(words, surroundings)).find(value.tool);
      const given = new Set(words.slice(0, -1).map((word) => word.replace(/=.*$/s, "")));
      return (tool === undefined ? [] : toolParameters(tool.inputSchema).parameters)
        .filter(({ name }) => !given.has(name))
        .map(({ name, description }) => ({ word: `${name}=`, about: description }));
    }
    case "programs":
      return savedPrograms(words, surroundings);
    case "program": {
      const saved = await savedPrograms(words, surroundings);
      // If nothing is saved, the shell completes files itself, which it does better.
      return saved.length === 0 ? [] : [...saved, ...(await programFiles(surroundings))];
    }
    case "runs":
      return runsOf(words, surroundings);
    default:
      return [];
  }
}

async function savedPrograms(words: readonly string[], surroundings: Surroundings): Promise<Candidate[]> {
  const { readPrograms } = await import("../programs/program-folder.ts");
  const { programs } = readPrograms(await configurationOf(words, surroundings));
  return programs.map(({ name, manifest }) => ({ word: name, about: manifest.description }));
}

/** The files in this folder that may be programs. */
async function programFiles({ cwd }: Surroundings): Promise<Candidate[]> {
  const files = await readdir(cwd());
  return files.filter((file) => /\.(?:m?[jt]s|py)$/.test(file)).map((word) => ({ word }));
}

function toolsOf(catalog: ToolCatalog) {
  return catalog.servers.flatMap(({ tools }) => tools);
}

/** The newest runs by their ids, and by their inputs' digests if a digest has been typed in part. */
async function runsOf(words: readonly string[], surroundings: Surroundings): Promise<Candidate[]> {
  const current = words.at(-1) ?? "";
  const { shortRunId } = await import("./run-report/list-text.ts");
  const project = await openProjectOf({ config: configIn(words) }, surroundings);
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

/** Loads the configuration that the command line names. */
async function configurationOf(words: readonly string[], surroundings: Surroundings) {
  return (await openProjectOf({ config: configIn(words) }, surroundings)).configuration;
}

async function catalogOf(words: readonly string[], surroundings: Surroundings): Promise<ToolCatalog> {
  const project = await openProjectOf({ config: configIn(words) }, surroundings);
  return (await project.tools()).callableFor(LOCAL_USER);
}
