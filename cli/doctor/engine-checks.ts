import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { StarterOptions } from "../../sandbox/sandbox-starter.ts";
import { REGISTER_GVISOR } from "../../sandbox/setup-advice.ts";

const RUNTIME_PATIENCE_MS = 5_000;

/** One part of the engine, and what tries it: resolves with what was found, or rejects with what to do. */
export type EngineCheck = [part: string, check: () => Promise<string | undefined>];

/** What can be asked of an engine without a sandbox, each check needing those before it. */
export function engineChecks({
  engine,
  runtime,
  image,
}: Pick<StarterOptions, "engine" | "runtime" | "image">): EngineCheck[] {
  return [
    [
      "docker",
      async () => {
        const { version: engineVersion, endpoint } = await engine.describe();
        return `${engineVersion}, ${endpoint}`;
      },
    ],
    [
      "gvisor",
      async () => {
        const { runtimes } = await engine.describe();
        const known = runtimes.get(runtime);
        if (known === undefined) throw new Error(`Docker has no runtime '${runtime}'; ${REGISTER_GVISOR}`);
        if (known.problem !== undefined) throw new Error(`runtime '${runtime}' ${known.problem}`);
        return `runtime '${runtime}', ${await runtimeVersion(known.path)}`;
      },
    ],
    [
      "channel",
      async () => {
        const { runtimes } = await engine.describe();
        const channel = runtimes.get(runtime)?.channel;
        return channel === undefined ? undefined : `${channel.kind}: ${channel.why}`;
      },
    ],
    [
      "image",
      async () => {
        const found = await engine.findImage(image);
        if (found === undefined) throw new Error(`there is no image '${image}'; run \`ptc image build\``);
        return `${image}, ${found.digest.slice(0, 19)}`;
      },
    ],
  ];
}

async function runtimeVersion(path: string | undefined): Promise<string> {
  try {
    const options = { timeout: RUNTIME_PATIENCE_MS };
    const { stdout } = await promisify(execFile)(path || "runsc", ["--version"], options);
    return stdout.split("\n")[0]?.trim() ?? "";
  } catch {
    return "version unknown";
  }
}
