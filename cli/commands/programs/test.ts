import { jsonLine } from "../../../base/json.ts";
import { countNoun } from "../../../base/quantities.ts";
import { visibleLine } from "../../../base/visible-text.ts";
import type { Project } from "../../../project/open-project.ts";
import { type ProgramTest, testPrograms } from "../../../project/programs/test-program.ts";
import { SIGNALS, type Surroundings } from "../../../project/surroundings.ts";
import { terminalOf } from "../../../project/terminal/terminal.ts";
import { CONFIG, type CommonFlags, EXIT, type ExitCode, write } from "../../command.ts";
import { defineProjectCommand } from "../../project-command.ts";

const MAX_LINE_CHARS = 500;
const COLOURS = {
  same: "green",
  untested: "yellow",
  changed: "yellow",
  failed: "red",
  "no-sandbox": "red",
} as const;

/** `ptc test [NAME...]` */
export const testCommand = defineProjectCommand("test", test, (command) =>
  command
    .description(
      "check saved programs, and run their recorded examples again without any server; exit 1 if one fails, 4 if one has changed",
    )
    .argument("[names...]", "the saved programs; all of them by default")
    .option(...CONFIG)
    .option("--json", "print the outcomes as JSON")
    .addHelpText("after", "\nExamples:\n  ptc test\n  ptc test weekly-report\n"),
);

async function test(
  project: Project,
  names: readonly string[],
  flags: CommonFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { env, stdout } = surroundings;
  const { style } = terminalOf(stdout, env);
  const cancel = new AbortController();
  for (const signal of SIGNALS) surroundings.on(signal, () => cancel.abort());
  const outcomes: ProgramTest[] = [];
  for await (const tested of testPrograms(project, names, cancel.signal)) {
    outcomes.push(tested);
    if (flags.json !== true)
      await write(
        stdout,
        render(tested, (text) => style(COLOURS[tested.outcome], text)),
      );
  }
  const count = (outcome: ProgramTest["outcome"]) =>
    outcomes.filter((each) => each.outcome === outcome).length;
  if (flags.json === true) await write(stdout, `${jsonLine({ programs: outcomes })}\n`);
  else await write(stdout, `${summarise(outcomes.length, count)}\n`);
  if (count("no-sandbox") > 0) return EXIT.noSandbox;
  if (count("failed") > 0 || cancel.signal.aborted) return EXIT.failed;
  return count("changed") > 0 ? EXIT.drift : EXIT.done;
}

function summarise(total: number, count: (outcome: ProgramTest["outcome"]) => number): string {
  const parts = [
    `${count("same")} the same`,
    `${count("changed")} changed`,
    `${count("failed")} failed`,
    ...(count("untested") > 0 ? [`${count("untested")} without an example`] : []),
  ];
  return `${countNoun(total, "program")}: ${parts.join(", ")}`;
}

function render(
  { name, outcome, lines, notes = [], calls }: ProgramTest,
  colour: (text: string) => string,
): string {
  const facts = outcome === "same" && calls !== undefined ? `  ${countNoun(calls, "call")}` : "";
  const shown = [...lines, ...notes].map((line) => `    ${visibleLine(line).slice(0, MAX_LINE_CHARS)}\n`);
  return `${colour(outcome)}  ${name}${facts}\n${shown.join("")}`;
}
