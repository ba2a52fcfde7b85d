import { jsonLine } from "../../../base/json.ts";
import { visibleLines } from "../../../base/visible-text.ts";
import { isProgramFile, readProgram } from "../../../project/arguments/program-file.ts";
import { openHost } from "../../../project/open-host.ts";
import type { Project } from "../../../project/open-project.ts";
import { originOfRun, type ProgramOrigin, saveProgram } from "../../../project/programs/save-program.ts";
import { selectRun } from "../../../project/runs.ts";
import type { Surroundings } from "../../../project/surroundings.ts";
import {
  CONFIG,
  type CommonFlags,
  EXIT,
  type ExitCode,
  exitOnSignals,
  tell,
  UsageError,
  write,
} from "../../command.ts";
import { defineProjectCommand } from "../../project-command.ts";

interface SaveFlags extends CommonFlags {
  name?: string;
  description?: string;
  expose?: boolean;
  force?: boolean;
}

/** `ptc save RUN|FILE --name NAME` */
export const saveCommand = defineProjectCommand("save", save, (command) =>
  command
    .description("save an archived run, or a file, as a named program in programs/ beside ptc.yaml")
    .argument("<run>", "input digest or run id, or the beginning of one; or the file of a program")
    .option(...CONFIG)
    .option("--name <name>", "its name: lower-case words joined by -")
    .option("--description <text>", "what it does; by default what its first comment says")
    .option("--expose", "make it a tool of `ptc serve`")
    .option("--force", "replace a program of this name; what was edited in its manifest is kept")
    .option("--json", "print what was written as JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  ptc save 3f9a2c --name weekly-report\n  ptc save report.ts --name weekly-report --description 'What happened in a month'\n",
    ),
);

async function save(
  project: Project,
  from: string,
  flags: SaveFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  exitOnSignals(surroundings);
  const { name } = flags;
  if (name === undefined) throw new UsageError("give the program a name: --name weekly-report");
  const { configuration, runs } = project;
  const isFile = isProgramFile(from, surroundings.cwd());
  const origin = isFile
    ? await readOrigin(from, configuration, surroundings)
    : await originOfRun(runs, (await selectRun(runs, from)).run.run_id);
  const { description, expose, force = false } = flags;
  const saved = await saveProgram(project, origin, { name, description, expose, force }, openHost(project));
  if (flags.json === true) await write(stdout, `${jsonLine({ name, ...saved })}\n`);
  else {
    for (const file of saved.files) await write(stdout, `wrote ${file}\n`);
    await write(stdout, `run it with \`ptc run ${name}\`; \`ptc run ${name} --help\` shows what it takes\n`);
  }
  for (const note of saved.notes) await tell(stderr, visibleLines(note));
  return EXIT.done;
}

async function readOrigin(
  file: string,
  configuration: Project["configuration"],
  surroundings: Surroundings,
): Promise<ProgramOrigin> {
  const { code, language = "" } = await readProgram(file, {}, surroundings, configuration.languages);
  return { code, language };
}
