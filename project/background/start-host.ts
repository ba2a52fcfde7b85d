import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Surroundings } from "../surroundings.ts";
import { askHost, type CallersProcess, type Delegation } from "./ask-host.ts";
import { findProject } from "./host-place.ts";
import { HOST_PROCESS } from "./host-process.ts";

/** The folder of the logs of this user's hosts. */
function logFolder({ XDG_STATE_HOME, HOME }: Surroundings["env"]): string {
  return join(XDG_STATE_HOME || join(HOME || homedir(), ".local/state"), "ptc/hosts");
}

/**
 * Starts the background host of this project without waiting for it. Does nothing in CI, where no process should stay behind.
 */
export function startHost({ argv, env, cwd }: Surroundings, config: string | undefined): void {
  if (env.CI !== undefined && env.CI !== "" && env.CI !== "false") return;
  try {
    const project = findProject({ flag: config, env, cwd: cwd() });
    if (project === undefined) return;
    const folder = logFolder(env);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const log = openSync(join(folder, `${project.key.slice(0, 16)}.log`), "w", 0o600);
    const named = config === undefined ? [] : [config];
    spawn(process.execPath, [argv[1] ?? "", HOST_PROCESS, ...named], {
      cwd: cwd(),
      env,
      detached: true,
      stdio: ["ignore", "ignore", log],
    })
      .on("error", () => {})
      .unref();
    closeSync(log);
  } catch {
    // The command has done its work. Failing to start a host does not make it fail.
  }
}

const LOOK_EVERY_MS = 100;
const START_PATIENCE_MS = 30_000;

/**
 * Offers the command of this process to the background host of this project, for a command that only a host can run. If there is no
 * host, starts one and waits for it.
 *
 * @param config the value of `--config`.
 */
export async function askStartedHost(
  caller: CallersProcess,
  config: string | undefined,
): Promise<Delegation> {
  const deadline = performance.now() + START_PATIENCE_MS;
  let asked: Delegation = await askHost(caller);
  let isToStart = true;
  while (
    asked.kind === "here" &&
    asked.mayStart &&
    asked.lostRun === undefined &&
    asked.stdin === undefined
  ) {
    if (performance.now() > deadline)
      return { ...asked, why: asked.why ?? "the background host did not start" };
    // A host that refused has another configuration, and ends.
    if (isToStart || asked.why !== undefined) startHost(caller, config);
    isToStart = false;
    await delay(LOOK_EVERY_MS);
    asked = await askHost(caller);
  }
  return asked;
}
