import { Command } from "commander";
import { defineCommands } from "../../../cli/main.ts";
import { surroundingsIn } from "../surroundings.ts";

/** Every command with what its help says, as it is printed. */
export async function allCommands(): Promise<{ program: Command; helps: Map<string, string> }> {
  const program = new Command("ptc");
  await defineCommands(program, surroundingsIn("/path/to/project", ["node", "ptc"]), () => {});
  const helps = new Map<string, string>();
  const visit = (command: Command, path: string): void => {
    let text = "";
    command.exitOverride().configureOutput({
      writeOut: (part) => {
        text += part;
      },
      writeErr: () => {},
    });
    command.outputHelp();
    helps.set(path, text);
    // What a command does is another test's matter: here only its words are read.
    command.action(() => {});
    for (const inner of command.commands) visit(inner, `${path} ${inner.name()}`);
  };
  for (const command of program.commands) visit(command, command.name());
  program.exitOverride().configureOutput({ writeErr: () => {} });
  return { program, helps };
}

/** The calls of ptc in the examples of a help, as words. */
export function examplesOf(help: string): string[][] {
  const [, examples = ""] = /^Examples?:\n((?: {2}.*\n?)+)/m.exec(help) ?? [];
  const inner = [...examples.matchAll(/\$\(([^)]*)\)/g)].map(([, call = ""]) => call);
  return [...examples.replaceAll(/\$\([^)]*\)/g, "text").split(/\n|&&|[|>]/), ...inner]
    .map((part) => part.trim().replace(/^claude .*? -- (?:node )?/, ""))
    .filter((part) => /^ptc /.test(part))
    .map((part) => shellWords(part).slice(1));
}

/** Words as a shell takes them, with both kinds of quotes. */
export function shellWords(text: string): string[] {
  return [...text.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, single = "", double = "") => single + double),
  );
}
