import { jsonLine } from "../../base/json.ts";
import { formatDuration } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import { findBackgroundHost, statusOfHost, stopHostAt } from "../../project/background/host-control.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import {
  CONFIG,
  type CommonFlags,
  defineCommand,
  defineGroup,
  EXIT,
  type ExitCode,
  tell,
  write,
} from "../command.ts";

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
  const reached = findBackgroundHost(flags.config, surroundings);
  const { stdout, stderr } = surroundings;
  const found = typeof reached === "string" ? undefined : await statusOfHost(reached);
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
  const reached = findBackgroundHost(flags.config, surroundings);
  const say = (line: string) => tell(surroundings.stderr, oneLine(line));
  if (typeof reached === "string") {
    await say(reached);
    return EXIT.done;
  }
  await say(await stopHostAt(reached));
  return EXIT.done;
}

function render({
  pid,
  version,
  started,
  idleMs,
  running,
  served,
}: NonNullable<Awaited<ReturnType<typeof statusOfHost>>>): string {
  const lines = [
    `process ${pid}, ptc ${version}, started ${started}`,
    `runs ${running} commands now, has run ${served}`,
    `ends after ${formatDuration(idleMs)} without any`,
  ];
  return `${lines.join("\n")}\n`;
}
