import { jsonLine } from "../../../base/json.ts";
import { loadConfiguration } from "../../../configuration/load.ts";
import { type FoundSessions, findSessions } from "../../../execution/sessions/find-sessions.ts";
import { projectOf } from "../../../execution/sessions/open-sessions.ts";
import { whyNoSession } from "../../../execution/sessions/session-name.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, UsageError } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";

interface SessionsFlags {
  config?: string;
  json?: boolean;
}

interface EndFlags extends SessionsFlags {
  pid?: string;
}

/** `ptc sessions list|end`: the sessions of `ptc run --session`, which the background host has, and those of each `ptc serve`. */
export const sessionsCommand: DefineCommand = (program, surroundings, finish) => {
  const sessions = program
    .command("sessions")
    .description("show and end sessions, whose names and files stay for the next program")
    .addHelpText("after", "\nExample:\n  ptc sessions list\n  ptc sessions end report\n");
  sessions
    .command("list")
    .description("show the sessions that are open")
    .option("--config <file>", "configuration file")
    .option("--json", "print them as JSON")
    .addHelpText("after", "\nExample:\n  ptc sessions list --json | jq -r '.[].name'\n")
    .action(async (flags: SessionsFlags) => {
      const { sessions: found } = await openSessions(flags, surroundings);
      const lines = found.map(
        ({ name, language, programs, idle_since, through, pid }) =>
          `${name}: ${language}, ${count(programs, "program")}, ${idle_since === undefined ? "runs one now" : `idle since ${idle_since}`}, of ${keeperOf(through)} (pid ${pid})`,
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
    .option("--pid <pid>", "of the process that keeps it, where several have one of this name")
    .option("--config <file>", "configuration file")
    .addHelpText("after", "\nExample:\n  ptc sessions end report\n")
    .action(async (name: string, flags: EndFlags) => {
      const { sessions: all, end } = await openSessions(flags, surroundings, name);
      const named = all.filter((each) => each.name === name);
      const [found, ...others] = named.filter(
        ({ pid }) => flags.pid === undefined || String(pid) === flags.pid,
      );
      if (others.length > 0) {
        const which = named.map(({ through, pid }) => `${keeperOf(through)} (pid ${pid})`).join(", ");
        throw new UsageError(
          `${named.length} processes have a session '${name}': ${which}; say which with --pid`,
        );
      }
      if (found === undefined || !(await end(found)))
        throw new UsageError(`there is no session '${name}'; see \`ptc sessions list\``);
      await write(surroundings.stderr, `ptc: session '${name}' has ended\n`);
      finish(EXIT.done);
    });
};

/** The sessions of this user and project, in whatever process they are. @throws UsageError */
async function openSessions(
  flags: SessionsFlags,
  { env, cwd }: Surroundings,
  name = "any",
): Promise<FoundSessions> {
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: cwd() });
  const refused = whyNoSession(name, configuration);
  if (refused !== undefined) throw new UsageError(refused);
  return findSessions(projectOf(configuration), env);
}

function keeperOf(through: string): string {
  return through === "serve" ? "`ptc serve`" : "the background host";
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
