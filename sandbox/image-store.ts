import type { Readable } from "node:stream";

export interface StoredImage {
  /** The image's own id, `sha256:...`. */
  digest: string;
  labels: Record<string, string>;
}

/** Called with one short line each time there is something to tell. */
export type OnProgress = (line: string) => void;

/** Where images live: the few things that building the runner image asks of a container engine. */
export interface ImageStore {
  /** Undefined when there is no such image. */
  inspect(reference: string): Promise<StoredImage | undefined>;
  /** Fetches an image from its registry. Throws `base_unavailable`, and soon, where none can be reached. */
  pull(reference: string, onProgress: OnProgress): Promise<StoredImage>;
  /** Builds the `Dockerfile` of a tar stream. Throws `build_failed`. */
  build(request: {
    context: Readable;
    reference: string;
    buildArgs: Record<string, string>;
    onProgress: OnProgress;
  }): Promise<StoredImage>;
  /** Makes an image of a root file system in a tar stream; the reference is `name:tag`. Throws `build_failed`. */
  importRootfs(request: { tar: Readable; reference: string }): Promise<StoredImage>;
  /** Removes images that carry a label and no name any more, but for those that a container uses. Never rejects. */
  removeNameless(label: string): Promise<void>;
}
