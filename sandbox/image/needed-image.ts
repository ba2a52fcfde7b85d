/**
 * Which image a project needs, known before any engine is asked. ptc tags its images by what they are made of, `ptc-runner:<12 hex>`,
 * so that projects with other packages, languages or versions of ptc have images side by side. An image that `sandbox.image` names by
 * hand is compared with what the project needs as far as the image says what is in it.
 */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { RunnerName } from "../../protocol/runners.ts";
import type { StoredImage } from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import { debianBaseRecipe, debianName, findNodeBinary } from "./debian-base.ts";

/** The name that stands for the images that ptc tags by content. Alone, it is the image that was built last. */
export const RUNNER_IMAGE = "ptc-runner";

/** Matches the names of images that are tagged by content. */
export const contentTaggedName = /^ptc-runner:[0-9a-f]{12}$/;

/** What a project needs of its image. */
export interface NeededImage {
  /** The name under which the engine has it. */
  readonly reference: string;
  /** The digest of the runners' files and of the Dockerfile of this ptc; undefined where they are not known. */
  readonly runner: string | undefined;
  /** Packages of the distribution for Python programs, sorted, with `python3-` in front. */
  readonly pythonPackages: readonly string[];
  /** The name for projects that differ only in whether they run Python. An image that has Python suits both. */
  readonly withOrWithoutPython?: string | undefined;
}

export interface ImageNeeds {
  /** `sandbox.image` */
  image: string;
  /** `sandbox.python_packages` */
  pythonPackages: readonly string[];
  /** The runners of the project's languages. */
  runners: readonly RunnerName[];
  /** Everything that goes into the image; see {@link readRunnerFiles}. Undefined where the image comes from elsewhere, as in a cluster. */
  files: ReadonlyMap<string, Uint8Array> | undefined;
}

/** Names the image that a project needs. `ptc-runner` stands for the image with exactly this content; any other name is taken as it is. */
export function neededImage({ image, pythonPackages, runners, files }: ImageNeeds): NeededImage {
  const packages = [...new Set(pythonPackages.map(debianName))].sort();
  if (files === undefined) return { reference: image, runner: undefined, pythonPackages: packages };
  const runner = digestContent(files, "");
  if (image !== RUNNER_IMAGE) return { reference: image, runner, pythonPackages: packages };
  // The public base has no Python.
  const python = runners.includes("python") || packages.length > 0;
  const content = { runner, node: findNodeBinary().version, base: debianBaseRecipe, python, packages };
  const named = (each: typeof content) =>
    `${RUNNER_IMAGE}:${createHash("sha256").update(JSON.stringify(each)).digest("hex").slice(0, 12)}`;
  return {
    reference: named(content),
    runner,
    pythonPackages: packages,
    withOrWithoutPython: packages.length > 0 ? undefined : named({ ...content, python: !python }),
  };
}

/**
 * Reads the files that go into the image, by path: everything in `filesPath`, and the `Dockerfile`. Undefined if the folder is not
 * there, as in sources that were not built.
 */
export function readRunnerFiles(
  filesPath: string,
  dockerfilePath: string,
): ReadonlyMap<string, Uint8Array> | undefined {
  try {
    const entries = readdirSync(filesPath, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
    return new Map([
      ["Dockerfile", readFileSync(dockerfilePath)],
      ...paths.map((path) => [relative(filesPath, path), readFileSync(path)] as const),
    ]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** A digest of everything in the image. Images with equal digests behave the same. */
export function digestContent(files: ReadonlyMap<string, Uint8Array>, baseDigest: string): string {
  const hash = createHash("sha256");
  const sorted = [...files].sort(([a], [b]) => (a < b ? -1 : 1)).flat();
  for (const part of [baseDigest, ...sorted]) hash.update(createHash("sha256").update(part).digest());
  return `sha256:${hash.digest("hex")}`;
}

/** Names the image that is needed, such as "the image ptc-runner:0123456789ab (with python3-pandas)". */
function describeNeeded({ reference, pythonPackages }: NeededImage): string {
  return `the image ${reference}${pythonPackages.length === 0 ? "" : ` (with ${pythonPackages.join(", ")})`}`;
}

/**
 * The image that a project needs, if the engine has it.
 *
 * @param found what the engine has under its name.
 * @throws SandboxError `image_missing` that says what is missing, and the command that mends it.
 */
export function requireNeeded(needed: NeededImage, found: StoredImage | undefined): StoredImage {
  const { reference, pythonPackages } = needed;
  if (found === undefined) {
    const advice = reference.includes("@")
      ? "pull it, or correct sandbox.image"
      : contentTaggedName.test(reference)
        ? "run `ptc image build`"
        : "run `ptc image build`, or correct sandbox.image";
    throw new SandboxError(
      "image_missing",
      `${describeNeeded(needed)}, which this project needs, is not here; ${advice}`,
    );
  }
  const has = found.pythonPackages;
  const missing = has === undefined ? [] : pythonPackages.filter((name) => !has.includes(name));
  if (missing.length === 0) return found;
  const advice = reference.includes("@")
    ? "name an image in sandbox.image that has it"
    : "run `ptc image build`; where other projects use that image, leave sandbox.image out, and each project has its own";
  throw new SandboxError(
    "image_missing",
    `the image ${reference} lacks ${missing.join(", ")}, which sandbox.python_packages names: ${advice}`,
  );
}

/** Why an image may not fit although nothing that the project names is missing; undefined if nothing is known against it. */
export function doubtAbout(needed: NeededImage, found: StoredImage): string | undefined {
  if (needed.runner === undefined || found.runner === undefined || needed.runner === found.runner)
    return undefined;
  return `has the runner of another version of ptc: ${needed.reference.includes("@") ? "name a newer one in sandbox.image" : "run `ptc image build`"}`;
}
