import { RUNNER_STARTS } from "../../languages/languages.ts";
import { DockerEngine } from "../../sandbox/docker/docker-engine.ts";
import { DockerSandboxEngine } from "../../sandbox/docker/docker-sandbox-engine.ts";
import { RunscEngine } from "../../sandbox/runsc/runsc-engine.ts";
import type { ChannelPreference, SandboxEngine } from "../../sandbox/sandbox-engine.ts";

/** The engines of one machine. */
export type LocalEngine = "docker" | "runsc";

/** The engine that real tests run on: Docker, or the one that `PTC_ENGINE` names. */
export const TESTED_ENGINE: LocalEngine = process.env.PTC_ENGINE === "runsc" ? "runsc" : "docker";

/** Opens it for sandboxes with their files in a folder. @param channel for Docker; by default the one that suits it. */
export function openTestedEngine(
  folder: string,
  channel: ChannelPreference = "auto",
  engine = TESTED_ENGINE,
): SandboxEngine {
  const options = { folder, runners: RUNNER_STARTS, channel };
  return engine === "runsc" ? new RunscEngine(options) : new DockerSandboxEngine(new DockerEngine(), options);
}
