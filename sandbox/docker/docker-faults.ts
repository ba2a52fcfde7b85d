import { messageOf } from "../../base/faults.ts";
import { SandboxError } from "../sandbox-error.ts";
import { DOCKER_INSTALLATION, GVISOR_INSTALLATION, REGISTER_GVISOR } from "../setup-advice.ts";
import type { DockerClient } from "./endpoint/docker-client.ts";

/** What the Docker Engine or its client has thrown, as one line that says what to do. */
export function explainDockerFault(
  error: unknown,
  otherwise: "engine_unreachable" | "start_failed",
  client?: Pick<DockerClient, "source">,
): SandboxError {
  if (error instanceof SandboxError) return error;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const message = messageOf(error).replaceAll(/\s+/g, " ");
  const build = (kind: SandboxError["code"], text: string) => new SandboxError(kind, text, { cause: error });
  if (code === "ENOENT" || code === "ECONNREFUSED") {
    const at = client?.source ? `, which is ${client.source}` : "";
    const advice = `start it, or install Docker (${DOCKER_INSTALLATION}) and gVisor (${GVISOR_INSTALLATION})`;
    return build("engine_unreachable", `no Docker engine answers (${message}${at}); ${advice}`);
  }
  if (code === "EACCES") {
    const advice = "add your user to the group that owns it, usually `docker`";
    return build("engine_unreachable", `the Docker socket refuses this user (${message}); ${advice}`);
  }
  if (/\/perl\b.*no such file/i.test(message)) {
    const advice = "run `ptc image build`, with a base that has Perl if you name one";
    return build("start_failed", `the image has nothing to guard a sandbox with; ${advice}`);
  }
  if (/runtime/i.test(message) && httpStatusOf(error) === 400) {
    return build(
      "runtime_missing",
      `Docker does not know the sandbox runtime (${message}); ${REGISTER_GVISOR}`,
    );
  }
  return build(otherwise, `Docker: ${message}`);
}

/** The HTTP status that the engine answered with. */
export function httpStatusOf(error: unknown): number | undefined {
  return error instanceof Error && "statusCode" in error ? Number(error.statusCode) : undefined;
}
