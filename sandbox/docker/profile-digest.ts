import { createHash } from "node:crypto";
import { RUNNER_NAMES } from "../../protocol/runners/runner-name.ts";
import { buildContainerRequest } from "./container-profile.ts";

/**
 * Digest of the container's profile without image, runtime and limits. Another profile may have other walls.
 *
 * @param more what else decides on how a sandbox is isolated.
 */
export function profileDigest(more: readonly string[]): string {
  const limits = { memoryMb: 512, cpus: 1, pids: 256 };
  const requests = ["", undefined].flatMap((socketDirectory) =>
    RUNNER_NAMES.map((runner) =>
      buildContainerRequest({ image: "", runtime: "", runner, limits, socketDirectory, labels: {} }),
    ),
  );
  return createHash("sha256")
    .update(JSON.stringify([requests, more]))
    .digest("hex");
}
