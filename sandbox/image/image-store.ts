import type { Readable } from "node:stream";

export interface StoredImage {
  /** The id of the image, `sha256:...`. */
  digest: string;
  labels: Record<string, string>;
}

/** Receives the progress, one short line at a time. */
export type OnProgress = (line: string) => void;

/** The image operations of a container engine that are needed to build the runner image. */
export interface ImageStore {
  /** Undefined when there is no such image. */
  inspect(reference: string): Promise<StoredImage | undefined>;
  /** Pulls an image. Throws `base_unavailable`, without a long wait, when no registry can be reached. */
  pull(reference: string, onProgress: OnProgress): Promise<StoredImage>;
  /** Builds the `Dockerfile` in a tar stream. Throws `build_failed`. */
  build(request: {
    context: Readable;
    reference: string;
    buildArgs: Record<string, string>;
    onProgress: OnProgress;
  }): Promise<StoredImage>;
  /** Makes an image of a root file system in a tar stream; the reference is `name:tag`. Throws `build_failed`. */
  importRootfs(request: { tar: Readable; reference: string }): Promise<StoredImage>;
  /** Removes images that have a label and no name, unless a container uses them. Never rejects. */
  removeNameless(label: string): Promise<void>;
}
