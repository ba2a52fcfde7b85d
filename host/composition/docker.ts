import { DockerEngine } from "../../sandbox/docker/docker-engine.ts";
import { DockerImageStore, type ListedImage } from "../../sandbox/docker/docker-image-store.ts";
import { DockerSandboxEngine } from "../../sandbox/docker/docker-sandbox-engine.ts";
import type { ImageStore } from "../../sandbox/image/image-store.ts";
import { digestLabel } from "../../sandbox/image/runner-image.ts";
import type { OpenEngine } from "../../sandbox/sandbox-engine.ts";

/** The engine where nobody names another. Loads the Docker client along with this module, and asks it nothing yet. */
export const openDocker: OpenEngine = (folder, channel, socket) =>
  new DockerSandboxEngine(new DockerEngine(undefined, socket), folder, channel);

/** The images that ptc has made there: those that programs run in, and the bases of these. */
export function openOwnImages(): {
  list(): Promise<ListedImage[]>;
  remove(reference: string): Promise<void>;
} {
  const store = new DockerImageStore(new DockerEngine().docker);
  return {
    list: () => store.list([{ label: digestLabel }, { reference: "ptc-base" }]),
    remove: (reference) => store.remove(reference),
  };
}

/** Where the images of that engine are. */
export function openImageStore(): ImageStore {
  return new DockerImageStore(new DockerEngine().docker);
}
