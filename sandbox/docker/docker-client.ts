import type { Agent as HttpAgent } from "node:http";
import { Agent } from "node:https";
import type { DockerOptions } from "dockerode";
import Docker from "dockerode";
import { messageOf } from "../../base/faults.ts";
import { SandboxError } from "../sandbox-error.ts";
import { DOCKER_ADVICE, DOCKER_INSTALLATION, GVISOR_INSTALLATION } from "./docker-advice.ts";
import { type DockerEndpoint, findDockerEndpoint } from "./docker-endpoint.ts";
import { SshAgent } from "./ssh-agent.ts";

/** A client of a Docker Engine, and the source of its address. */
export interface DockerClient {
  docker: Docker;
  /** The address of the engine. */
  host: string;
  /** Names what decided on that address. */
  source: string;
}

/**
 * A client of the engine that the `docker` command would use here. Does not connect yet.
 *
 * @param socket the address of the only engine to use, whatever that command would use.
 * @throws SandboxError `engine_unreachable` if that command would find no engine.
 */
export function openDockerClient(env = process.env, socket?: string): DockerClient {
  const endpoint =
    socket === undefined ? findDockerEndpoint(env) : { host: socket, source: "managed settings" };
  return { docker: new Docker(dockerOptions(endpoint)), host: endpoint.host, source: endpoint.source };
}

const TLS_PORT = "2376";

/** The endpoint in the Docker client's terms. @throws SandboxError `engine_unreachable` for an address that it cannot reach. */
export function dockerOptions({ host, source, tls }: DockerEndpoint): DockerOptions & { agent?: HttpAgent } {
  const [, scheme = "", rest = ""] = /^([a-z]+):\/\/(.*)$/.exec(host) ?? [];
  if (scheme === "unix" || scheme === "npipe") return { socketPath: rest };
  const url = URL.canParse(host) ? new URL(host) : undefined;
  if (url === undefined || url.hostname === "") throw unknownAddress(source);
  const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
  switch (scheme) {
    case "ssh":
      return {
        protocol: "http",
        host: hostname,
        agent: new SshAgent({
          hostname,
          port: url.port || undefined,
          user: decodeURIComponent(url.username) || undefined,
          socketPath: url.pathname.length > 1 ? decodeURIComponent(url.pathname) : undefined,
        }),
      };
    case "tcp":
    case "http":
    case "https": {
      const isTls = tls !== undefined || scheme === "https" || url.port === TLS_PORT;
      const { skipVerify, ...files } = tls ?? {};
      return {
        protocol: isTls ? "https" : "http",
        host: hostname,
        port: url.port || (isTls ? TLS_PORT : "2375"),
        ...files,
        ...(skipVerify ? { agent: new Agent({ ...files, rejectUnauthorized: false }) } : {}),
      };
    }
    default:
      throw unknownAddress(source);
  }
}

function unknownAddress(source: string): SandboxError {
  return new SandboxError(
    "engine_unreachable",
    `${source} does not name an engine that ptc can reach; it takes unix://, tcp://, ssh:// and npipe://`,
  );
}

/** Explains an error of the Docker Engine or its client in one line that says what to do. */
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
      `Docker does not know the sandbox runtime (${message}); ${DOCKER_ADVICE.missingRuntime}`,
    );
  }
  return build(otherwise, `Docker: ${message}`);
}

/** The HTTP status of the engine's answer. */
export function httpStatusOf(error: unknown): number | undefined {
  return error instanceof Error && "statusCode" in error ? Number(error.statusCode) : undefined;
}
