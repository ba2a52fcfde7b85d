import { DockerEngine } from "../sandbox/docker/docker-engine.ts";
import { DockerImageStore, type ListedImage } from "../sandbox/docker/docker-image-store.ts";
import { DockerSandboxEngine } from "../sandbox/docker/docker-sandbox-engine.ts";
import type { ImageStore } from "../sandbox/image/image-store.ts";
import { digestLabel } from "../sandbox/image/runner-image.ts";
import type { OpenEngine } from "../sandbox/sandbox-engine.ts";

/** The engine where nobody names another. Loads the Docker client along with this module, and asks it nothing yet. */
export const openDocker: OpenEngine = (folder, channel, socket) =>
  new DockerSandboxEngine(new DockerEngine(undefined, socket), folder, channel);

/** The last step of Dockerfile.runner: an image that is built on ptc's has another. */
const LAST_STEP = /\bCMD\b.*\/opt\/ptc\/runner\.mjs/;
/** As `debianBaseReference` makes it. Such an image is imported as one layer. */
const BASE_NAME = /^ptc-base:[\w.-]+-node[\w.]+-[0-9a-f]{12}$/;

/** The images that ptc has made there: those that programs run in, and the bases of these. */
export function openOwnImages(): {
  list(): Promise<ListedImage[]>;
  remove(reference: string): Promise<void>;
} {
  const store = new DockerImageStore(new DockerEngine().docker);
  return {
    list: () =>
      store.list([
        { label: digestLabel, isOwn: (_, [last = ""]) => LAST_STEP.test(last) },
        { reference: "ptc-base", isOwn: (name, steps) => BASE_NAME.test(name) && steps.length === 1 },
      ]),
    remove: (reference) => store.remove(reference),
  };
}

/** Where the images of that engine are. @param socket the address of another one, as managed settings name it. */
export function openImageStore(socket?: string): ImageStore {
  return new DockerImageStore(new DockerEngine(undefined, socket).docker);
}
