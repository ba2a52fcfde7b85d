import { Command } from "commander";
import type { Surroundings } from "../../cli/command.ts";
import { defineCommands } from "../../cli/main.ts";

const INTRODUCTION = `# Commands

What \`--help\` prints of each. Exit codes: 0 done, 1 the program failed, 2 bad usage or configuration, 3 the sandbox cannot run here, 4
drift. Results go to stdout, everything else to stderr. Made from the definitions: \`node scripts/docs.ts\`.
`;

/** Wide enough for every line of a description, so that the page does not depend on a terminal. */
const COLUMNS = 120;

/** The page of all commands. */
export async function printCommands(): Promise<string> {
  const program = new Command("ptc").exitOverride();
  await defineCommands(program, NOWHERE, () => {});
  const pages = program.commands.flatMap((command) => withBelow(command)).map(renderHelp);
  return `${INTRODUCTION}\n${pages.join("\n\n")}\n`;
}

function withBelow(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withBelow)];
}

function renderHelp(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => COLUMNS });
  command.outputHelp();
  return `## ${nameOf(command)}\n\n\`\`\`text\n${text.trim().replaceAll(/[ \t]+$/gm, "")}\n\`\`\``;
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

/** Commands are defined here and never run. The folder is in examples, and no machine's. */
const NOWHERE = { argv: [], env: {}, cwd: () => "/path/to/project" } as unknown as Surroundings;
