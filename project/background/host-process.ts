/** What tells a process of ptc whether it is a background host, or may leave its command to one. Loaded by every process. */
import type { Surroundings } from "../surroundings.ts";

/** The first argument of a background host's process. It is not a command for people. */
export const HOST_PROCESS = "background-host";

/** The commands that a background host runs. */
const SHARED_COMMANDS: ReadonlySet<string | undefined> = new Set(["run", "list", "search", "inspect"]);

/** Whether a background host may run the command of a process. */
export function mayAskHost({ argv, env }: Pick<Surroundings, "argv" | "env">): boolean {
  const [command, ...rest] = argv.slice(2);
  const isOff = env.PTC_HOST === "off" || rest.includes("--no-host");
  const isHelp = rest.includes("--help") || rest.includes("-h");
  return SHARED_COMMANDS.has(command) && !isOff && !isHelp && process.getuid !== undefined;
}
