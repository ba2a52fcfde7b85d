import type { Agent as HttpAgent } from "node:http";
import { Agent } from "node:https";
import type { DockerOptions } from "dockerode";
import { SandboxError } from "../../sandbox-error.ts";
import type { DockerEndpoint } from "./docker-endpoint.ts";
import { SshAgent } from "./ssh-agent.ts";

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
