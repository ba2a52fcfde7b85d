import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import type { RunnerName } from "../../protocol/runners.ts";
import type { ImageStore, OnProgress, StoredImage } from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import { describeDebianBase, ensureDebianBase } from "./debian-base.ts";
import { packDirectory } from "./run-process.ts";

export interface RunnerImageRequest {
  store: ImageStore;
  /** The path of the bundled runner, which is one file. */
  runnerPath: string;
  /** The path of the guard script. */
  guardPath: string;
  /** The folder of the Python runner. */
  pythonPath: string;
  dockerfilePath: string;
  /** An image with /usr/local/bin/node and /usr/bin/perl; or `debian-packages`, for a base made on this machine. */
  base?: string;
  /** Packages of the distribution for programs in Python. They need a base that is made on this machine. */
  pythonPackages?: readonly string[];
  /** The runners that programs need. The public base has Node.js alone; without them, that is enough. */
  runners?: readonly RunnerName[];
  reference: string;
  onProgress: OnProgress;
}

export type RunnerImage = StoredImage & {
  /** False when the existing image already had the same content. */
  built: boolean;
};

interface ImageFiles {
  dockerfile: Uint8Array;
  runner: Uint8Array;
  guard: Uint8Array;
  /** The files of the Python runner, by their paths in its folder. */
  python: ReadonlyMap<string, Uint8Array>;
}

type Base = StoredImage & { reference: string };

const publicBase = "node:24-slim";
export const digestLabel = "dev.ptc.runner";

/**
 * Builds the image that programs run in, unless there is one with the same runner, Dockerfile and base.
 * Throws SandboxError: `base_unavailable` when there is no base, `build_failed`, `engine_unreachable`.
 */
export async function buildRunnerImage(request: RunnerImageRequest): Promise<RunnerImage> {
  const { store, reference, onProgress } = request;
  const base = await chooseBase(request);
  const [dockerfile, runner, guard, python] = await Promise.all([
    readFile(request.dockerfilePath),
    readFile(request.runnerPath),
    readFile(request.guardPath),
    readFolder(request.pythonPath),
  ]);
  const files: ImageFiles = { dockerfile, runner, guard, python };
  const contentDigest = digestContent({ ...files, baseDigest: base.digest });

  const present = await store.inspect(reference);
  if (present?.labels[digestLabel] === contentDigest) {
    onProgress(`The image ${reference} is up to date.`);
    return { ...present, built: false };
  }

  onProgress(`Building the image ${reference} on ${base.reference} ...`);
  const image = await withContext(files, async (directory) => {
    const { tar, ended } = packDirectory(directory);
    const buildArgs = { BASE: base.reference, RUNNER_DIGEST: contentDigest };
    const [built] = await Promise.all([
      store.build({ context: tar, reference, buildArgs, onProgress: () => {} }),
      ended,
    ]);
    return built;
  });
  await store.removeNameless(digestLabel);
  onProgress(`The image ${reference} is ready.`);
  return { ...image, built: true };
}

/** A digest of everything in the image: images with equal digests behave alike. */
export function digestContent(content: ImageFiles & { baseDigest: string }): string {
  const hash = createHash("sha256");
  const python = [...content.python].sort(([a], [b]) => (a < b ? -1 : 1)).flat();
  for (const part of [content.dockerfile, content.runner, content.guard, content.baseDigest, ...python]) {
    hash.update(createHash("sha256").update(part).digest());
  }
  return `sha256:${hash.digest("hex")}`;
}

/** Prefers a base that is already here, then one from a registry, then one made on this machine. */
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

/** The files of a folder and of those in it, by their paths in it. */
async function readFolder(folder: string): Promise<Map<string, Uint8Array>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const read = files.map(async ({ parentPath, name }): Promise<[string, Uint8Array]> => {
    const path = join(parentPath, name);
    return [relative(folder, path), await readFile(path)];
  });
  return new Map(await Promise.all(read));
}

/** Copies the files of the build into a temporary directory, readable for the user that the container runs as. */
async function withContext<T>(files: ImageFiles, use: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), "ptc-image-"));
  try {
    const python = [...files.python].map(([name, content]) => [join("python", name), content] as const);
    for (const [name, content] of [
      ["Dockerfile", files.dockerfile] as const,
      ["runner.mjs", files.runner] as const,
      ["guard.pl", files.guard] as const,
      ...python,
    ]) {
      const path = join(directory, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, content);
      await chmod(path, 0o644);
    }
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
