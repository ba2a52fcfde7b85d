import { join } from "node:path";
import { oneLine } from "../../base/visible-text.ts";
import { projectFolder } from "../../configuration/configuration-paths.ts";
import { serve } from "../../project/serve.ts";
import { SIGNALS, type Surroundings } from "../../project/surroundings.ts";
import { claudeCommand } from "../claude-command.ts";
import { CONFIG, type DefineCommand, EXIT, tell } from "../command.ts";

const MAX_WARNINGS = 10_000;

/** `ptc serve` */
export const serveCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("serve")
    .description(
      "serve execute_program, search_tools and three more tools over stdio (MCP), or to many over HTTP",
    )
    .option(...CONFIG)
    .option("--http [address]", "serve over HTTP, at HOST:PORT; by default where http.listen says")
    .option("--toolset <name>", "serve no tools but those of a toolset of ptc.yaml")
    .addHelpText(
      "after",
      () =>
        `\nExample:\n  ${claudeCommand(surroundings, join(projectFolder({ env: surroundings.env, cwd: surroundings.cwd() }), "ptc.yaml"))}\n`,
    )
    .action(async (flags: ServeFlags) => {
      const { env, stdin, stdout, stderr } = surroundings;
      const hasServed = await serve(
        { config: flags.config, http: flags.http, toolset: flags.toolset },
        {
          env,
          cwd: surroundings.cwd(),
          stdin,
          stdout,
          onSignal: (listener) => void SIGNALS.forEach((signal) => void surroundings.on(signal, listener)),
          onWarning: warnOnce(stderr),
          tell: (line) => tell(stderr, line),
        },
      );
      finish(hasServed ? EXIT.done : EXIT.failed);
    });
};

interface ServeFlags {
  config?: string;
  /** `true` where no address is given. */
  http?: string | true;
  toolset?: string;
}

/** Prints each distinct message once. */
function warnOnce(stderr: Surroundings["stderr"]): (message: string) => void {
  const said = new Set<string>();
  return (message) => {
    if (said.has(message) || said.size >= MAX_WARNINGS) return;
    said.add(message);
    stderr.write(`ptc: warning: ${oneLine(message)}\n`);
  };
}
