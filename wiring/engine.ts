import { DockerEngine } from "../sandbox/docker/docker-engine.ts";
import { DockerSandboxEngine } from "../sandbox/docker/docker-sandbox-engine.ts";
import type { EngineRegistration } from "../sandbox/sandbox-engine.ts";

/** The engine where nobody names another: the one place that chooses. Loads the Docker client along with this module. */
export const ENGINE: EngineRegistration = {
  open: (options) => new DockerSandboxEngine(new DockerEngine(undefined, options.address), options),
  async openImages(address) {
    const { DockerImageStore } = await import("../sandbox/docker/docker-image-store.ts");
    return new DockerImageStore(new DockerEngine(undefined, address).docker);
  },
};
