import { messageOf } from "../../base/faults.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { RUNNER_STARTS, runnerOf } from "../../languages/languages.ts";
import { type PrunedImages, pruneImages, UNUSED_DAYS } from "../../sandbox/image/image-uses.ts";
import { buildRunnerImage, type RunnerImage } from "../../sandbox/image/runner-image.ts";
import { runscFolders } from "../../sandbox/runsc/runsc-folders.ts";
import { ENGINE_NAMES, type ImageStore } from "../../sandbox/sandbox-engine.ts";
import { SandboxError } from "../../sandbox/sandbox-error.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { openState } from "../../system/state-directory.ts";
import { ENGINE } from "./engine.ts";
import { imageOf, openImageUses, runnerFiles } from "./project-image.ts";
import { sandboxOptions } from "./sandboxes.ts";

export interface ImageOptions {
  env: EnvironmentVariables;
  /** A base image with Node.js, or `debian-packages` to make one on this machine; defaults to what is available. */
  base?: string | undefined;
  /** Receives the progress, one short line at a time. */
  onProgress: (line: string) => void;
}

/**
 * The images that ptc has built in all available engines: the images that programs run in and their bases. `snapshots` is the folder
 * of snapshots.
 */
export async function openOwnImages(
  env: EnvironmentVariables,
): Promise<Pick<ImageStore, "listOwn" | "remove"> & { snapshots: string }> {
  const { state } = openState(env);
  const stores = await Promise.all(
    // A cluster's images are in a registry, and interpreters in WebAssembly are a part of ptc.
    ENGINE_NAMES.filter((choice) => choice !== "kubernetes" && choice !== "wasm").map((choice) =>
      ENGINE.open({ choice, folder: state.path, runners: RUNNER_STARTS }).openImages?.(),
    ),
  ).finally(() => state.remove());
  const found = stores.filter((store) => store !== undefined);
  return {
    snapshots: runscFolders(env).snapshots,
    async listOwn() {
      const listed = await Promise.allSettled(found.map((store) => store.listOwn()));
      const images = listed.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
      const [failed] = listed.filter((each) => each.status === "rejected");
      // An absent engine has no images, but an engine that does not answer may have some.
      if (images.length === 0 && failed !== undefined) throw failed.reason;
      return images;
    },
    async remove(reference) {
      const removed = await Promise.allSettled(found.map((store) => store.remove(reference)));
      if (removed.every(({ status }) => status === "rejected"))
        for (const each of removed) if (each.status === "rejected") throw each.reason;
    },
  };
}

/**
 * Builds the image that a project needs, for the engine in use, and the snapshots from which that engine starts sandboxes. Does nothing
 * when both are up to date. Then removes the images of this engine that no project of this user has used for long.
 *
 * @throws SandboxError `base_unavailable`, `build_failed`, `engine_unreachable`
 */
export async function buildImage(
  configuration: Configuration,
  { env, base, onProgress }: ImageOptions,
): Promise<RunnerImage & { reference: string }> {
  const { languages } = configuration;
  const own = openState(env);
  try {
    const { engine, owner, runtime, limits } = sandboxOptions(configuration, own);
    const { engine: settled = engine } = (await engine.settled?.()) ?? {};
    const store = await settled.openImages?.();
    if (store === undefined)
      throw new SandboxError(
        "build_failed",
        `${settled.name} builds no images: build it where sandbox.engine is docker, and push it to the registry of the cluster`,
      );
    const { reference, withOrWithoutPython = reference } = imageOf(configuration);
    const image = await build(configuration, store, { base, onProgress });
    const uses = openImageUses(env);
    for (const name of [reference, withOrWithoutPython]) uses.note(name);
    for (const runner of new Set(languages.map(runnerOf)))
      await settled
        .snapshot?.({ image: image.digest, runtime, runner, limits, owner })
        .catch((error: unknown) =>
          onProgress(`No snapshot is kept of a runner for ${runner}, so each is booted: ${messageOf(error)}`),
        );
    const pruned = await pruneImages({ store, uses, unusedDays: UNUSED_DAYS, except: reference }).catch(
      () => undefined,
    );
    for (const old of pruned?.removed ?? [])
      onProgress(
        `Removed the image ${old.reference}, which no project here has used for ${UNUSED_DAYS} days.`,
      );
    return { ...image, reference };
  } finally {
    own.state.remove();
  }
}

function build(
  configuration: Configuration,
  store: ImageStore,
  { base, onProgress }: Pick<ImageOptions, "base" | "onProgress">,
): Promise<RunnerImage> {
  const files = runnerFiles();
  if (files === undefined)
    throw new SandboxError(
      "build_failed",
      "dist/image is not there: build ptc first, with `node scripts/build.ts`",
    );
  return buildRunnerImage({
    store,
    needed: imageOf(configuration),
    files,
    ...(base === undefined ? {} : { base }),
    runners: configuration.languages.map(runnerOf),
    onProgress,
  });
}

/**
 * Removes images of all available engines that no project of this user has used or built for some days.
 *
 * @throws SandboxError `engine_unreachable` if no engine answers.
 */
export async function pruneUnusedImages(
  configuration: Configuration,
  env: EnvironmentVariables,
  unusedDays = UNUSED_DAYS,
): Promise<PrunedImages> {
  const { reference } = imageOf(configuration);
  return pruneImages({
    store: await openOwnImages(env),
    uses: openImageUses(env),
    unusedDays,
    except: reference,
  });
}

export interface ManifestOptions {
  /** The runner image as the cluster pulls it, with its digest. */
  image: string;
  replicas: number;
  runtimeClass: string;
  /** The Secret with the launchers' certificates. */
  certificates?: string | undefined;
  imagePullPolicy?: "Always" | "IfNotPresent" | "Never" | undefined;
}

/** What a cluster needs so that programs of this configuration can run there, as a List of Kubernetes. */
export async function clusterManifests(
  { sandbox, execution, languages }: Configuration,
  options: ManifestOptions,
): Promise<object> {
  const { programManifests } = await import("../../sandbox/kubernetes/manifests.ts");
  const { memoryMb, cpus, pids } = execution;
  const items = programManifests({
    ...options,
    namespace: sandbox.kubernetes.namespace ?? "default",
    template: sandbox.kubernetes.template,
    runners: [...new Set(languages.map((name) => runnerOf(name)))],
    starts: RUNNER_STARTS,
    limits: { memoryMb, cpus, pids },
  });
  return { apiVersion: "v1", kind: "List", items };
}
