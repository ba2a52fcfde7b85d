import { readdir } from "node:fs/promises";
import type { Command } from "commander";
import { oneLine } from "../../../base/text/one-line.ts";
import { toolParameters } from "../../../catalog/arguments/tool-parameters.ts";
import type { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import { loadConfiguration } from "../../../host/configuration/load.ts";
import { openArchive } from "../../../host/open-archive.ts";
import { readPrograms } from "../../../host/programs/program-folder.ts";
import { loadProgramTools } from "../../../host/tools/program-tools.ts";
import { EXIT, type ExitCode } from "../../exit-code.ts";
import { LOCAL_USER } from "../../local-user.ts";
import { shortRunId } from "../../run-report/list-text.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { type Candidate, completionOf, type WordKind } from "./complete-words.ts";

const MAX_RUNS = 50;
const MAX_CANDIDATES = 500;
const MAX_ABOUT_CHARS = 80;
/** Characters of a digest by which an input is named. */
const DIGEST_CHARS = 12;

/** Words that no shell takes for anything else. Names of servers and tools come from others. */
const HARMLESS = /^[\w.:@/+=-]+$/;

/**
 * `ptc complete-words -- WORD...`: prints what the last word may be, a candidate a line, with a tab and what it is. Prints nothing
 * where anything is wrong: a shell has no place for a message.
 */
export async function printCandidates(program: Command, surroundings: Surroundings): Promise<ExitCode> {
  const [separator, ...rest] = surroundings.argv.slice(3);
  const words = separator === "--" ? rest : [];
  const current = words.at(-1) ?? "";
  const { candidates, value } = completionOf(program, words);
  const values = await valuesOf(value, words, surroundings).catch(() => []);
  const fitting = [...candidates, ...values].filter(
    ({ word }) => word.startsWith(current) && HARMLESS.test(word),
  );
  if ((value.kind === "files" || value.kind === "program") && fitting.length === 0) {
    await write(surroundings.stdout, ":files\n");
    return EXIT.done;
  }
  const lines = fitting
    .slice(0, MAX_CANDIDATES)
    .map(({ word, about }) => `${word}\t${oneLine(about ?? "", MAX_ABOUT_CHARS)}\n`);
  await write(surroundings.stdout, lines.join(""));
  return EXIT.done;
}

async function valuesOf(
  value: WordKind,
  words: readonly string[],
  surroundings: Surroundings,
): Promise<Candidate[]> {
  switch (value.kind) {
    case "words":
      return value.words.map((word) => ({ word }));
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
      // Where nothing is saved, the shell completes files, and knows better how.
      return saved.length === 0 ? [] : [...saved, ...(await programFiles(surroundings))];
    }
    case "runs":
      return runsOf(words, surroundings);
    default:
      return [];
  }
}

async function savedPrograms(words: readonly string[], surroundings: Surroundings): Promise<Candidate[]> {
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

/** The newest runs, by their ids; by their inputs' digests too, where one has been begun. */
async function runsOf(words: readonly string[], surroundings: Surroundings): Promise<Candidate[]> {
  const current = words.at(-1) ?? "";
  const archive = openArchive(await configurationOf(words, surroundings));
  try {
    if (!(await archive.exists())) return [];
    const { runs } = await archive.list({ limit: MAX_RUNS });
    return runs.flatMap(({ run_id: runId, input_digest: input, status, title, file_name: file }) => {
      const about = `${status}: ${title === "" ? file : title}`;
      const digest = input.replace(/^sha256:/, "").slice(0, DIGEST_CHARS);
      const byInput = current !== "" && digest.startsWith(current) ? [{ word: digest, about }] : [];
      return [{ word: shortRunId(runId), about }, ...byInput];
    });
  } finally {
    await archive.close();
  }
}

/** With the configuration that the command line names. */
function configurationOf(words: readonly string[], { env, cwd }: Surroundings) {
  const at = words.lastIndexOf("--config", words.length - 3);
  const flag = at >= 0 ? words[at + 1] : words.findLast((word) => word.startsWith("--config="))?.slice(9);
  return loadConfiguration({ flag, env, cwd: cwd() });
}

async function catalogOf(words: readonly string[], surroundings: Surroundings): Promise<ToolCatalog> {
  const tools = await loadProgramTools(await configurationOf(words, surroundings));
  return tools.callableFor(LOCAL_USER);
}
