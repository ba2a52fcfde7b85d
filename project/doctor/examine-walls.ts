import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Configuration } from "../../configuration/configuration.ts";
import type { Platform } from "../../protocol/platform.ts";
import { judgeWalls, type WallFinding } from "../../sandbox/walls/judge-walls.ts";
import { tryWalls } from "../../sandbox/walls/try-walls.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { packageDirectory } from "../../system/package.ts";
import { openState } from "../../system/state-directory.ts";
import { openKnownWalls } from "../sandboxes/open-known-walls.ts";
import { sandboxOptions } from "../sandboxes/sandboxes.ts";

export interface ExaminedWalls {
  /** Whether every required wall holds, as far as the test could tell. */
  hold: boolean;
  findings: readonly WallFinding[];
}

/**
 * Tries every wall from inside a sandbox. Remembers the required walls that do not hold, so that ptc refuses to run programs from
 * then on.
 *
 * @param project the folder that ptc was started in.
 * @throws SandboxError when no sandbox can be started.
 */
export async function examineWalls(
  configuration: Configuration,
  env: EnvironmentVariables,
  project: string,
): Promise<ExaminedWalls> {
  const own = openState(env);
  try {
    const options = sandboxOptions(configuration, own);
    const { engine = options.engine } = (await options.engine.settled?.()) ?? {};
    const evidence = await tryWalls({
      ...options,
      engine,
      probe: readFileSync(probePath(engine.platform), "utf8"),
      hostPaths: hostPaths(project),
    });
    const findings = judgeWalls(evidence, engine.advice.walls, engine.lacks);
    const broken = findings.filter(({ required, verdict }) => required && verdict === "does not hold");
    const isTold = findings.some(({ verdict }) => verdict !== "could not be told");
    const { runtime } = options;
    const image = await engine.findImage(options.image);
    if (image !== undefined && isTold) {
      await openKnownWalls(env).note(
        { engine, runtime, image: image.digest },
        broken.map(({ wall }) => wall),
      );
    }
    return { hold: isTold && broken.length === 0, findings };
  } finally {
    own.state.remove();
  }
}

/** The path of the probe for a platform, which lies beside this module both in the sources and in the build. */
function probePath(platform: Platform = "node"): string {
  const built = import.meta.url.endsWith(".js");
  return join(
    packageDirectory,
    built ? "dist" : "",
    `sandbox/walls/${platform === "wasm" ? "probe-wasm" : "probe"}.js`,
  );
}

/** Paths of the host that must not be visible in a sandbox. */
function hostPaths(project: string): string[] {
  return [packageDirectory, homedir(), project, process.execPath, `/proc/${process.pid}`].filter(
    (path) => !EVERYWHERE.has(path),
  );
}

/** Folders and files that exist in the image too, so that seeing them proves nothing. */
const EVERYWHERE: ReadonlySet<string> = new Set([
  "/",
  "/root",
  "/home",
  "/tmp",
  "/usr/local/bin/node",
  "/workspace",
]);
