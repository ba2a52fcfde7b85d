import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { RUNNER_STARTS } from "../languages/languages.ts";
import { DockerEngine } from "../sandbox/docker/docker-engine.ts";
import { DockerSandboxEngine } from "../sandbox/docker/docker-sandbox-engine.ts";
import { SocketFolder } from "../sandbox/guard-channel.ts";
import type { Bench } from "./measurement.ts";
import type { SandboxedBench } from "./parts/brokered-call.ts";

/** What measurements need that start sandboxes themselves, without a `ptc` around them. */
export function openSandboxed({ folder, image }: Bench): SandboxedBench {
  const containers = new DockerEngine();
  const sockets = join(folder, "s");
  mkdirSync(sockets, { recursive: true });
  return {
    engine: new DockerSandboxEngine(containers, { folder: sockets, runners: RUNNER_STARTS }),
    containers,
    sockets: new SocketFolder(sockets),
    image,
  };
}
