import { join } from "node:path";
import type { Configuration } from "../configuration/configuration.ts";
import { runnerOf } from "../languages/languages.ts";
import { buildRunnerImage, type RunnerImage } from "../sandbox/image/runner-image.ts";
import type { ImageStore } from "../sandbox/sandbox-engine.ts";
import { packageDirectory } from "../system/package.ts";
import { ENGINE } from "./engine.ts";

export interface ImageOptions {
  /** A base image with Node.js, or `debian-packages` to make one on this machine; defaults to what is available. */
  base?: string | undefined;
  /** Receives the progress, one short line at a time. */
  onProgress: (line: string) => void;
}

/** The images that ptc has made there: those that programs run in, and the bases of these. */
export function openOwnImages(): Promise<ImageStore> {
  return ENGINE.openImages();
}

/**
 * Builds the image that programs run in, under its configured name. Does nothing when it is up to date.
 *
 * @throws SandboxError `base_unavailable`, `build_failed`, `engine_unreachable`
 */
export async function buildImage(
  { sandbox, languages }: Configuration,
  { base, onProgress }: ImageOptions,
): Promise<RunnerImage> {
  return buildRunnerImage({
    store: await ENGINE.openImages(sandbox.engine),
    filesPath: join(packageDirectory, "dist/image"),
    dockerfilePath: join(packageDirectory, "Dockerfile.runner"),
    ...(base === undefined ? {} : { base }),
    pythonPackages: sandbox.pythonPackages,
    runners: languages.map(runnerOf),
    reference: sandbox.image,
    onProgress,
  });
}
