import { DockerEngine } from "../../sandbox/docker/docker-engine.ts";
import { DockerImageStore } from "../../sandbox/docker/docker-image-store.ts";
import { DockerSandboxEngine } from "../../sandbox/docker/docker-sandbox-engine.ts";
import type { ImageStore } from "../../sandbox/image/image-store.ts";
import type { OpenEngine } from "../../sandbox/sandbox-engine.ts";

/** The engine where nobody names another. Loads the Docker client along with this module, and asks it nothing yet. */
export const openDocker: OpenEngine = (folder, channel) =>
  new DockerSandboxEngine(new DockerEngine(), folder, channel);

/** Where the images of that engine are. */
export function openImageStore(): ImageStore {
  return new DockerImageStore(new DockerEngine().docker);
}
