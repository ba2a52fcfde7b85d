import { homedir } from "node:os";
import { join } from "node:path";
import type { Configuration } from "../../configuration/configuration.ts";
import { runnerOf } from "../../languages/languages.ts";
import { ImageUses } from "../../sandbox/image/image-uses.ts";
import { type NeededImage, neededImage, readRunnerFiles } from "../../sandbox/image/needed-image.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { packageDirectory } from "../../system/package.ts";

/** The only image of the engine `wasm`, which is a part of ptc, and its only runtime. */
const WASM = "wasm";

/** The runtime that a project's sandboxes have. */
export function runtimeOf({ sandbox }: { sandbox: { engine: string; runtime: string } }): string {
  return sandbox.engine === "wasm" ? WASM : sandbox.runtime;
}

/** What of a configuration decides about the image. */
export interface ImageConfiguration {
  readonly languages: Readonly<Configuration["languages"]>;
  readonly sandbox: Readonly<Pick<Configuration["sandbox"], "engine" | "image">> & {
    readonly pythonPackages: readonly string[];
  };
}

/** The image that a project needs. A cluster's pods have the image of their template, which ptc finds by its configured name. */
export function imageOf({ sandbox, languages }: ImageConfiguration): NeededImage {
  if (sandbox.engine === "wasm") return { reference: WASM, runner: undefined, pythonPackages: [] };
  return neededImage({
    image: sandbox.image,
    pythonPackages: sandbox.pythonPackages,
    runners: languages.map(runnerOf),
    files: sandbox.engine === "kubernetes" ? undefined : runnerFiles(),
  });
}

let read: ReadonlyMap<string, Uint8Array> | undefined;

/** The files of this ptc that go into the image; undefined in sources that were not built. Read once. */
export function runnerFiles(): ReadonlyMap<string, Uint8Array> | undefined {
  read ??= readRunnerFiles(join(packageDirectory, "dist/image"), join(packageDirectory, "Dockerfile.runner"));
  return read;
}

/** Opens this user's record of the images that were used. */
export function openImageUses({ XDG_STATE_HOME, HOME }: EnvironmentVariables): ImageUses {
  const folder = XDG_STATE_HOME || join(HOME || homedir(), ".local/state");
  return new ImageUses(join(folder, "ptc/images"));
}
