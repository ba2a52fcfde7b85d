import { jsonLine } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import type { Delegation } from "../../project/background/ask-host.ts";
import type { Project } from "../../project/open-project.ts";
import { openSessions, refuseSession } from "../../project/sessions.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import {
  CONFIG,
  type CommonFlags,
  defineGroup,
  EXIT,
  type ExitCode,
  tell,
  UsageError,
  write,
} from "../command.ts";
import { defineProjectCommand, openProjectOf } from "../project-command.ts";
import type { RunFlags } from "./run.ts";

interface EndFlags extends CommonFlags {
  pid?: string;
}

/** `ptc sessions list|end`: the sessions of `ptc run --session` in the background host, and those of each `ptc serve`. */
export const sessionsCommand = defineGroup(
  "sessions",
  () => [defineList, defineEnd],
  (command) =>
    command
      .description("show and end sessions, whose names and files stay for the next program")
      .addHelpText("after", "\nExample:\n  ptc sessions list\n  ptc sessions end report\n"),
);

const defineList = defineProjectCommand("list", list, (command) =>
  command
    .description("show the sessions that are open")
    .option(...CONFIG)
    .option("--json", "print them as JSON")
    .addHelpText("after", "\nExample:\n  ptc sessions list --json | jq -r '.[].name'\n"),
);

async function list(project: Project, flags: CommonFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { sessions: found } = await openSessions(project);
  const lines = found.map(({ name, language, programs, idle_since, through, pid }) => {
    const state = idle_since === undefined ? "runs one now" : `idle since ${idle_since}`;
    return `${name}: ${language}, ${countNoun(programs, "program")}, ${state}, of ${keeperOf(through)} (pid ${pid})`;
  });
  if (flags.json) await write(surroundings.stdout, `${jsonLine(found)}\n`);
  else if (lines.length > 0) await write(surroundings.stdout, `${lines.join("\n")}\n`);
  else await tell(surroundings.stderr, "no session is open");
  return EXIT.done;
}

const defineEnd = defineProjectCommand("end", end, (command) =>
  command
    .description("end a session, also while a program runs in it; its names and files are lost")
    .argument("<name>", "the name of the session")
    .option("--pid <pid>", "of the process that keeps it, where several have one of this name")
    .option(...CONFIG)
    .addHelpText("after", "\nExample:\n  ptc sessions end report\n"),
);

async function end(
  project: Project,
  name: string,
  flags: EndFlags,
  { stderr }: Surroundings,
): Promise<ExitCode> {
  const open = await openSessions(project, name);
  const named = open.sessions.filter((each) => each.name === name);
  const [found, ...others] = named.filter(({ pid }) => flags.pid === undefined || String(pid) === flags.pid);
  if (others.length > 0) {
    const which = named.map(({ through, pid }) => `${keeperOf(through)} (pid ${pid})`).join(", ");
    throw new UsageError(
      `${named.length} processes have a session '${name}': ${which}; say which with --pid`,
    );
  }
  if (found === undefined || !(await open.end(found)))
    throw new UsageError(`there is no session '${name}'; see \`ptc sessions list\``);
  await tell(stderr, `session '${name}' has ended`);
  return EXIT.done;
}

function keeperOf(through: string): string {
  return through === "serve" ? "`ptc serve`" : "the background host";
}

/**
 * Asks the background host to run a program of a session, because only the host can keep the session. Resolves with `undefined` in
 * that host itself.
 *
 * @throws Refusal, UsageError if no program can run in a session.
 */
export async function askForSession(
  session: string,
  flags: RunFlags,
  surroundings: Surroundings,
): Promise<Delegation | undefined> {
  const { env, shared, withoutHost } = surroundings;
  const { ticket, suspend, host } = flags;
  const project = await openProjectOf(flags, surroundings);
  refuseSession(project, session, "--session: ");
  if (ticket !== undefined || suspend === true)
    throw new UsageError("a program in a session cannot be suspended; leave out --suspend and --ticket");
  if (shared !== undefined || withoutHost?.lostRun !== undefined) return undefined;
  if (project.configuration.host.off || host === false || env.PTC_HOST === "off")
    throw new UsageError(
      "--session needs the background host, which is off (`host: off`, --no-host or PTC_HOST); a command that runs alone keeps nothing for the next one",
    );
  const { askStartedHost } = await import("../../project/background/start-host.ts");
  const asked = await askStartedHost(surroundings, flags.config);
  if (asked.kind === "done" || asked.lostRun !== undefined) return asked;
  const why = asked.why ?? "none can be started here (`CI` is set, or there is no ptc.yaml)";
  throw new UsageError(`--session needs the background host: ${why}`);
}
