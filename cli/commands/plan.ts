import { jsonLine } from "../../base/json.ts";
import { visibleLines } from "../../base/visible-text.ts";
import {
  parseTimeout,
  parseTypecheck,
  readProgram,
  readProgramFiles,
} from "../../project/arguments/program-file.ts";
import { planLocally } from "../../project/open-host.ts";
import type { Project } from "../../project/open-project.ts";
import { SIGNALS, type Surroundings } from "../../project/surroundings.ts";
import { CHECK_PATIENCE_MS } from "../../project/terminal/program-console.ts";
import { CONFIG, type CommonFlags, collect, EXIT, type ExitCode, tell, write } from "../command.ts";
import { defineProjectCommand } from "../project-command.ts";

interface PlanFlags extends CommonFlags {
  data?: string;
  file: string[];
  language?: string;
  timeout?: string;
  typecheck?: string;
}

/** `ptc plan FILE|-` */
export const planCommand = defineProjectCommand("plan", plan, (command) =>
  command
    .description(
      "rehearse one program and print which calls would change something, without making them; exit 5 when any would",
    )
    .argument("<program>", "a .ts, .mts, .js, .mjs or .py file, or - for stdin")
    .option(...CONFIG)
    .option("--data <json>", "JSON that the program sees as `data`, or @FILE to read it from a file")
    .option(
      "--file <path>",
      "copy a file to the program's files/ folder, or NAME=PATH under another name (repeatable)",
      collect,
      [],
    )
    .option("--language <name>", "typescript, javascript or python, instead of what the file's name says")
    .option("--timeout <seconds>", "time limit of the rehearsal, instead of the configured one")
    .option("--typecheck <mode>", "error, warn or off, instead of the configured one")
    .option("--json", "print the plan as JSON")
    .addHelpText("after", "\nExample:\n  ptc plan report.ts && echo it would change nothing\n"),
);

async function plan(
  project: Project,
  file: string,
  flags: PlanFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { configuration } = project;
  const { stdout, stderr } = surroundings;
  const timeoutMs = flags.timeout === undefined ? undefined : parseTimeout(flags.timeout);
  const typecheck = parseTypecheck(flags.typecheck);
  const read = await readProgram(file, flags, surroundings, configuration.languages);
  const files = await readProgramFiles(flags.file, surroundings);
  const cancel = new AbortController();
  for (const signal of SIGNALS) surroundings.on(signal, () => cancel.abort());
  const planned = await planLocally(project, {
    timeoutMs,
    typecheck,
    signal: cancel.signal,
    checkPatienceMs: CHECK_PATIENCE_MS,
    program: files.length === 0 ? read : { ...read, files },
  });
  if (planned.typeWarning !== undefined) {
    await tell(stderr, "type warnings:");
    await write(stderr, `${visibleLines(planned.typeWarning)}\n`);
  }
  const { kind, report, lines } = planned;
  if (flags.json === true) await write(stdout, `${jsonLine(report)}\n`);
  else if (kind === "failed") await tell(stderr, visibleLines(lines.join("\n")));
  else await write(stdout, `${lines.join("\n")}\n`);
  if (kind === "failed") return report.error?.type === "SandboxUnavailable" ? EXIT.noSandbox : EXIT.failed;
  return kind === "changes" ? EXIT.changes : EXIT.done;
}
