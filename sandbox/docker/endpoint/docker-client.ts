import Docker from "dockerode";
import { findDockerEndpoint } from "./docker-endpoint.ts";
import { dockerOptions } from "./docker-options.ts";

/** A client of a Docker Engine, and what said where the engine is. */
export interface DockerClient {
  docker: Docker;
  /** The address of the engine. */
  host: string;
  /** Names what decided on that address. */
  source: string;
}

/**
 * A client of the engine that the `docker` command would use here. Connects to nothing yet.
 *
 * @param socket the address of the only engine to use, whatever that command would.
 * @throws SandboxError `engine_unreachable` where that command would find none.
 */
export function openDockerClient(env = process.env, socket?: string): DockerClient {
  const endpoint =
    socket === undefined ? findDockerEndpoint(env) : { host: socket, source: "managed settings" };
  return { docker: new Docker(dockerOptions(endpoint)), host: endpoint.host, source: endpoint.source };
}
