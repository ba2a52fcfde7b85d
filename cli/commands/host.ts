import { jsonLine } from "../../base/json.ts";
import { formatDuration } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import { killHost } from "../../project/background/host-files.ts";
import { findHost, findProject, placeOf, UnsafePlaceError } from "../../project/background/host-place.ts";
import { askOnce, connectTo } from "../background/ask-host.ts";
import type { HostStatus } from "../background/host-messages.ts";
import {
  CONFIG,
  type CommonFlags,
  defineCommand,
  defineGroup,
  EXIT,
  type ExitCode,
  type Surroundings,
  tell,
  UsageError,
  write,
} from "../command.ts";

const ANSWER_PATIENCE_MS = 5_000;

/** `ptc host status|stop` */
export const hostCommand = defineGroup(
  "host",
  () => [defineStatus, defineStop],
  (command) =>
    command
      .description("the background host of this project, which keeps what later commands need")
      .addHelpText("after", "\nExample:\n  ptc host status\n"),
);

const defineStatus = defineCommand("status", status, (command) =>
  command
    .description("show whether it runs, and what it does")
    .option(...CONFIG)
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExample:\n  ptc host status --json | jq .running\n"),
);

const defineStop = defineCommand("stop", stop, (command) =>
  command
    .description("end it when the commands that it runs have ended, or at once if it hangs")
    .option(...CONFIG)
    .addHelpText("after", "\nExample:\n  ptc host stop\n"),
);

async function status(flags: CommonFlags, surroundings: Surroundings): Promise<ExitCode> {
  const reached = await reach(flags, surroundings);
  const { stdout, stderr } = surroundings;
  const answer = typeof reached === "string" ? undefined : await askHostAt(reached, "status");
  const found = answer?.kind === "status" ? answer.status : undefined;
  if (flags.json) {
    const { identity: _, ...shown } = found ?? {};
    await write(stdout, `${jsonLine({ running: found !== undefined, ...(found && { host: shown }) })}\n`);
  } else if (found !== undefined) await write(stdout, render(found));
  if (found !== undefined) return EXIT.done;
  const why =
    typeof reached === "string" ? reached : "the background host does not answer; `ptc host stop` ends it";
  await tell(stderr, oneLine(why));
  return typeof reached === "string" ? EXIT.done : EXIT.failed;
}

async function stop(flags: CommonFlags, surroundings: Surroundings): Promise<ExitCode> {
  const reached = await reach(flags, surroundings);
  const say = (line: string) => tell(surroundings.stderr, oneLine(line));
  if (typeof reached === "string") {
    await say(reached);
    return EXIT.done;
  }
  await say(await stopHostAt(reached));
  return EXIT.done;
}

/** Asks a host to end, and kills it if it does not answer. Returns the outcome as text. */
export async function stopHostAt({ socket, token }: { socket: string; token: string }): Promise<string> {
  const answer = await askHostAt({ socket, token }, "stop");
  if (answer?.kind === "stopping") {
    const { running } = answer;
    const rest = running === 0 ? "" : `; it ends with the last of the commands that it runs (${running})`;
    return `the background host was stopped${rest}`;
  }
  const pid = killHost(socket);
  return pid === undefined
    ? "the background host has ended unexpectedly"
    : `the background host did not answer, and its process ${pid} was killed`;
}

async function askHostAt({ socket, token }: { socket: string; token: string }, wants: "status" | "stop") {
  const connection = await connectTo(socket);
  if (typeof connection === "string") return undefined;
  try {
    return await askOnce(connection, wants, { token, patienceMs: ANSWER_PATIENCE_MS });
  } finally {
    connection.destroy();
  }
}

/** The host of this project, or why there is none to ask. @throws UsageError */
async function reach({ config }: CommonFlags, { env, cwd }: Surroundings) {
  const project = findProject({ flag: config, env, cwd: cwd() });
  if (project === undefined) throw new UsageError(`${config ?? "the configuration"}: there is no such file`);
  try {
    const found = findHost(placeOf(project, env));
    if (found === undefined) return "no background host runs for this project";
    return found;
  } catch (error) {
    if (error instanceof UnsafePlaceError) throw new UsageError(error.message);
    throw error;
  }
}

function render({ pid, version, started, idleMs, running, served }: HostStatus): string {
  const lines = [
    `process ${pid}, ptc ${version}, started ${started}`,
    `runs ${running} commands now, has run ${served}`,
    `ends after ${formatDuration(idleMs)} without any`,
  ];
  return `${lines.join("\n")}\n`;
}
