import { createInterface } from "node:readline";
import { messageOf } from "../../base/faults.ts";
import { oneLine } from "../../base/visible-text.ts";
import { type LocalConsole, openLocalConsole } from "../../project/console/local-console.ts";
import type { Project } from "../../project/open-project.ts";
import { SIGNALS, type Surroundings } from "../../project/surroundings.ts";
import { CONFIG, EXIT, type ExitCode, tell, UsageError, write } from "../command.ts";
import { canOpenBrowser, openBrowser } from "../open-browser.ts";
import { defineProjectCommand } from "../project-command.ts";

/** `ptc console` */
export const consoleCommand = defineProjectCommand("console", openConsole, (command) =>
  command
    .description("open the console in a browser: what runs, what waits for you, and what may be called")
    .option(...CONFIG)
    .option("--port <number>", "the port on 127.0.0.1 (default: one that is free)")
    .option("--no-open", "print the address, and open no browser")
    .addHelpText(
      "after",
      "\nThe address works once, for ten minutes, in one browser, which keeps the console for twelve hours. Enter prints another. It ends with Ctrl-C. With approvals.require: passkey the address is one of localhost, which passkeys need.\n\nExample:\n  ptc console --no-open\n",
    ),
);

interface ConsoleFlags {
  config?: string;
  port?: string;
  /** False with `--no-open`. */
  open: boolean;
}

async function openConsole(
  project: Project,
  flags: ConsoleFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { env, stderr } = surroundings;
  const port = portIn(flags.port);
  const stopped = Promise.withResolvers<void>();
  for (const signal of SIGNALS) surroundings.on(signal, () => stopped.resolve());
  let console: LocalConsole;
  try {
    console = await openLocalConsole(project, port);
  } catch (error) {
    await tell(stderr, `cannot listen at 127.0.0.1:${port}: ${oneLine(messageOf(error))}`);
    return EXIT.failed;
  }
  const show = async (isFirst: boolean) => {
    const url = console.address();
    const isOpened = isFirst && flags.open && canOpenBrowser(env) && (await openBrowser(url, env));
    const line = isOpened
      ? "ptc: the console was opened in a browser; it is at"
      : "ptc: open the console, once, at";
    await write(stderr, `${line}\n  ${url}\n`);
  };
  await show(true);
  const reader =
    surroundings.stdin.isTTY === true ? createInterface({ input: surroundings.stdin }) : undefined;
  reader?.on("line", () => void show(false));
  reader?.on("close", () => stopped.resolve());
  await stopped.promise;
  reader?.close();
  await console.close();
  return EXIT.done;
}

function portIn(text = "0"): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port >= 0 && port <= 65_535) return port;
  throw new UsageError(`--port: '${oneLine(text, 40)}' is not a port, a number from 0 to 65535`);
}
