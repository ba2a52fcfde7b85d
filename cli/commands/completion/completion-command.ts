import type { DefineCommand } from "../../command.ts";
import { EXIT, UsageError } from "../../exit-code.ts";
import { write } from "../../surroundings.ts";
import { COMPLETION_SCRIPTS } from "./shell-scripts.ts";

const SHELLS = Object.keys(COMPLETION_SCRIPTS).join(", ");

/** `ptc completion SHELL` */
export const completionCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("completion")
    .description("print what makes a shell complete commands, options, tools, servers and runs")
    .argument("<shell>", SHELLS)
    .addHelpText(
      "after",
      '\nIn ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish:\n  eval "$(ptc completion bash)"\n  eval "$(ptc completion zsh)"\n  ptc completion fish | source\n\nExample:\n  eval "$(ptc completion bash)"\n',
    )
    .action(async (shell: string) => {
      const script = Object.hasOwn(COMPLETION_SCRIPTS, shell) ? COMPLETION_SCRIPTS[shell] : undefined;
      if (script === undefined)
        throw new UsageError(`'${shell.slice(0, 40)}' is not one of ${SHELLS}; those are completed`);
      await write(surroundings.stdout, script);
      finish(EXIT.done);
    });
};
