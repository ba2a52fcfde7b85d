import { jsonLine } from "../../../base/json/json-line.ts";
import { loadConfiguration } from "../../../host/configuration/load.ts";
import { whyNoSession } from "../../../host/sessions/session-name.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, UsageError } from "../../exit-code.ts";
import { LOCAL_USER } from "../../local-user.ts";
import { type Surroundings, write } from "../../surroundings.ts";

interface SessionsFlags {
  config?: string;
  json?: boolean;
}

/** `ptc sessions list|end`: the sessions of `ptc run --session`, which the background host has. */
export const sessionsCommand: DefineCommand = (program, surroundings, finish) => {
  const sessions = program
    .command("sessions")
    .description("show and end sessions, whose names and files stay for the next `ptc run --session`")
    .addHelpText("after", "\nExample:\n  ptc sessions list\n  ptc sessions end report\n");
  sessions
    .command("list")
    .description("show the sessions that are open")
    .option("--config <file>", "configuration file")
    .option("--json", "print them as JSON")
    .addHelpText("after", "\nExample:\n  ptc sessions list --json | jq -r '.[].name'\n")
    .action(async (flags: SessionsFlags) => {
      const open = (await openSessions(flags, surroundings))?.list() ?? [];
      const found = await open;
      const lines = found.map(
        ({ name, language, programs, idle_since }) =>
          `${name}: ${language}, ${programs} programs, ${idle_since === undefined ? "runs one now" : `idle since ${idle_since}`}`,
      );
      if (flags.json) await write(surroundings.stdout, `${jsonLine(found)}\n`);
      else if (lines.length > 0) await write(surroundings.stdout, `${lines.join("\n")}\n`);
      else await write(surroundings.stderr, "ptc: no session is open\n");
      finish(EXIT.done);
    });
  sessions
    .command("end")
    .description("end a session, also under the program that runs in it; what it kept is lost")
    .argument("<name>", "the name of the session")
    .option("--config <file>", "configuration file")
    .addHelpText("after", "\nExample:\n  ptc sessions end report\n")
    .action(async (name: string, flags: SessionsFlags) => {
      const hasEnded = (await (await openSessions(flags, surroundings, name))?.end(name)) ?? false;
      if (!hasEnded) throw new UsageError(`there is no session '${name}'; see \`ptc sessions list\``);
      await write(surroundings.stderr, `ptc: session '${name}' has ended\n`);
      finish(EXIT.done);
    });
};

/** The sessions of this user; `undefined` where no background host runs. @throws UsageError */
async function openSessions(flags: SessionsFlags, { env, shared, cwd }: Surroundings, name = "any") {
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: cwd() });
  shared?.accept(configuration);
  const refused = whyNoSession(name, configuration);
  if (refused !== undefined) throw new UsageError(refused);
  return shared?.host.sessions(LOCAL_USER.principal);
}
