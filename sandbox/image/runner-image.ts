import type { RunnerName } from "../../protocol/runners.ts";
import type { ImageStore, OnProgress, StoredImage } from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import { debianBaseName, describeDebianBase, ensureDebianBase } from "./debian-base.ts";
import { contentTaggedName, digestContent, type NeededImage, RUNNER_IMAGE } from "./needed-image.ts";

export interface RunnerImageRequest {
  store: ImageStore;
  /** The image that is needed, and everything that goes into it by path (`readRunnerFiles`). */
  needed: NeededImage;
  files: ReadonlyMap<string, Uint8Array>;
  /** An image with /usr/local/bin/node and /usr/bin/perl; or `debian-packages`, for a base made on this machine. */
  base?: string;
  /** The runners that programs need; by default only the one for Node.js, which is all that the public base supports. */
  runners?: readonly RunnerName[];
  onProgress: OnProgress;
}

export type RunnerImage = StoredImage & {
  /** False when the existing image already had the same content. */
  built: boolean;
};

type Base = StoredImage & { reference: string };

const publicBase = "node:24-slim";

/**
 * Builds the image in which programs run, unless there is one with the same runner, Dockerfile and base.
 * Throws SandboxError: `base_unavailable` if there is no base, `build_failed`, `engine_unreachable`.
 */
export async function buildRunnerImage(request: RunnerImageRequest): Promise<RunnerImage> {
  const { store, needed, files, onProgress } = request;
  const { reference, runner, pythonPackages } = needed;
  if (reference.includes("@"))
    throw new SandboxError(
      "build_failed",
      `sandbox.image names ${reference} by its digest, so it is not built here: pull it, or give it a name without a digest`,
    );
  const base = await chooseBase(request);
  const content = digestContent(files, base.digest);
  const isTagged = contentTaggedName.test(reference);
  const tag = ({ digest }: StoredImage) => tagMore(request, base, digest);

  const present = await store.inspect(reference);
  if (present?.content === content) {
    if (isTagged) await tag(present);
    onProgress(`The image ${reference} is up to date.`);
    return { ...present, built: false };
  }

  onProgress(`Building the image ${reference} on ${base.reference} ...`);
  const contents = { content, runner, base: base.reference, pythonPackages };
  const image = await store.build({
    ...{ reference, base: base.reference, files, contents },
    onProgress: () => {},
  });
  if (isTagged) await tag(image);
  if (isTagged && present?.base !== undefined && present.base !== base.reference)
    onProgress(
      `${reference} was on ${present.base} before, for every project that needs the same. A project with a base of its own names its image in sandbox.image.`,
    );
  onProgress(`The image ${reference} is ready.`);
  return { ...image, built: true };
}

/** Names an image that is tagged by content for those who want the last one, and for projects that it suits as well. */
async function tagMore(
  { store, needed: { withOrWithoutPython: other } }: RunnerImageRequest,
  base: Base,
  digest: string,
): Promise<void> {
  await store.tag(digest, RUNNER_IMAGE);
  if (other === undefined || !debianBaseName.test(base.reference)) return;
  const before = await store.inspect(other);
  if (before === undefined || debianBaseName.test(before.base ?? "")) await store.tag(digest, other);
}

/** Prefers an existing base, then one from a registry, then one made on this machine. */
async function chooseBase({
  store,
  base,
  needed: { pythonPackages },
  runners = [],
  onProgress,
}: RunnerImageRequest): Promise<Base> {
  const needsPython = pythonPackages.length > 0 || runners.includes("python");
  if (base === "debian-packages" || (base === undefined && needsPython))
    return ensureDebianBase(store, onProgress, pythonPackages);
  if (pythonPackages.length > 0) {
    throw new SandboxError(
      "build_failed",
      `sandbox.python_packages cannot be added to ${base}: leave --base out, or name debian-packages`,
    );
  }
  const wanted = base ?? publicBase;
  const present = await store.inspect(wanted);
  if (present !== undefined) return { ...present, reference: wanted };
  if (base === undefined) {
    const local = await describeDebianBase();
    const made = await store.inspect(local);
    if (made !== undefined) return { ...made, reference: local };
  }
  try {
    onProgress(`Fetching ${wanted} ...`);
    return { ...(await store.pull(wanted, () => {})), reference: wanted };
  } catch (error) {
    if (base !== undefined || !(error instanceof SandboxError) || error.code !== "base_unavailable")
      throw error;
    onProgress("No registry can be reached.");
    return ensureDebianBase(store, onProgress);
  }
}
