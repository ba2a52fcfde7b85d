import { DockerEngine } from "../../sandbox/docker/docker-engine.ts";
import { OWNER_LABEL } from "../../sandbox/docker/docker-sandbox-engine.ts";
import { parseIdentity } from "../../system/process-identity.ts";

/** Ids of the containers of a ptc process, running or not. */
export async function containersOf(pid: number): Promise<string[]> {
  const containers = await new DockerEngine().listLabelled(OWNER_LABEL);
  return containers
    .filter(({ labels }) => parseIdentity(labels[OWNER_LABEL] ?? "")?.pid === pid)
    .map(({ id }) => id);
}
