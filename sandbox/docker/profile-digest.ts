import { createHash } from "node:crypto";
import { buildContainerRequest } from "./container-profile.ts";

/** Digest of the container's profile without image, runtime and limits. Another profile may have other walls. */
export function profileDigest(): string {
  const request = buildContainerRequest({
    image: "",
    runtime: "",
    limits: { memoryMb: 512, cpus: 1, pids: 256 },
    socketDirectory: "",
    emptyFile: "",
    labels: {},
  });
  return createHash("sha256").update(JSON.stringify(request)).digest("hex");
}
