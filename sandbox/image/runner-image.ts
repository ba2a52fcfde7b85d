import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import type { RunnerName } from "../../protocol/runners.ts";
import type { ImageStore, OnProgress, StoredImage } from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import { describeDebianBase, ensureDebianBase } from "./debian-base.ts";

export interface RunnerImageRequest {
  store: ImageStore;
  /** The folder with everything that goes into the image: both runners, the guard, and the library that seeds OpenSSL. */
  filesPath: string;
  dockerfilePath: string;
  /** An image with /usr/local/bin/node and /usr/bin/perl; or `debian-packages`, for a base made on this machine. */
  base?: string;
  /** Packages of the distribution for Python programs. They need a base made on this machine. */
  pythonPackages?: readonly string[];
  /** The runners that programs need; by default only the one for Node.js, which is all that the public base supports. */
  runners?: readonly RunnerName[];
  reference: string;
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
  const { store, reference, onProgress } = request;
  const base = await chooseBase(request);
  const files = new Map<string, Uint8Array>([
    ["Dockerfile", await readFile(request.dockerfilePath)],
    ...(await readFolder(request.filesPath)),
  ]);
  const content = digestContent(files, base.digest);

  const present = await store.inspect(reference);
  if (present?.content === content) {
    onProgress(`The image ${reference} is up to date.`);
    return { ...present, built: false };
  }

  onProgress(`Building the image ${reference} on ${base.reference} ...`);
  const image = await store.build({ reference, base: base.reference, files, content, onProgress: () => {} });
  onProgress(`The image ${reference} is ready.`);
  return { ...image, built: true };
}

/** A digest of everything in the image. Images with equal digests behave the same. */
export function digestContent(files: ReadonlyMap<string, Uint8Array>, baseDigest: string): string {
  const hash = createHash("sha256");
  const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1)).flat();
  for (const part of [baseDigest, ...sorted]) hash.update(createHash("sha256").update(part).digest());
  return `sha256:${hash.digest("hex")}`;
}

/** Prefers an existing base, then one from a registry, then one made on this machine. */
async function chooseBase({
  store,
  base,
  pythonPackages = [],
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

/** The files in a folder and its subfolders, with their relative paths. */
async function readFolder(folder: string): Promise<[path: string, bytes: Uint8Array][]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return Promise.all(
    files.map(async (path): Promise<[string, Uint8Array]> => [relative(folder, path), await readFile(path)]),
  );
}
