import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type Project, withoutSlowness } from "../ptc-process.ts";

const TERMINAL = join(import.meta.dirname, "../../fixtures/on-a-terminal.py");

export const hasPython = spawnSync("python3", ["-c", "import pty"]).status === 0;
export const WITHOUT_PYTHON = hasPython ? "" : " (skipped: there is no python3 to make a terminal with)";

/** Runs ptc on a terminal, on which each text is typed once its pattern was shown. Returns all that it showed. */
export async function onTerminal(
  folder: Pick<Project, "command" | "directory">,
  steps: [string, string][],
  args: string[],
  env: Record<string, string | undefined> = {},
): Promise<string> {
  const [command, ...rest] = folder.command(args);
  const child = spawn("python3", [TERMINAL, JSON.stringify(steps), command ?? "", ...rest], {
    cwd: folder.directory,
    env: {
      ...process.env,
      XDG_RUNTIME_DIR: join(folder.directory, "run"),
      NO_COLOR: "1",
      TERM: "xterm",
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [screen] = await Promise.all([text(child.stdout), once(child, "close")]);
  return withoutSlowness(screen.replaceAll("\r\n", "\n"));
}
