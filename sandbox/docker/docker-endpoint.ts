/** Finds the address of a Docker Engine without the client, which takes long to load. */

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../base/faults.ts";
import { isObject, parseForeignJson } from "../../base/json.ts";
import { visibleLine } from "../../base/visible-text.ts";
import { SandboxError } from "../sandbox-error.ts";
import { DOCKER_INSTALLATION } from "./docker-advice.ts";

/** The address of a Docker Engine, and the source of it. */
export interface DockerEndpoint {
  /** `unix:///path`, `tcp://host:port`, `ssh://user@host` or `npipe://path`. */
  host: string;
  /** Names what decided: `DOCKER_HOST`, `context 'colima'`, `the default socket` or `the socket of Colima`. */
  source: string;
  /** PEM texts for TCP with TLS. */
  tls?: { ca?: string; cert?: string; key?: string; skipVerify: boolean };
}

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_CONTEXT = "default";
const DEFAULT_SOCKET = "/var/run/docker.sock";

const LIMITS = { maxBytes: 16 * 1024 * 1024, maxDepth: 64 };

/**
 * Finds the engine in the same order as the `docker` command: `DOCKER_HOST`, `DOCKER_CONTEXT`, the current context of its
 * configuration, the default socket. If that socket does not exist, tries the sockets of rootless Docker, Docker Desktop, Colima,
 * OrbStack, Rancher Desktop and Lima.
 *
 * @throws SandboxError `engine_unreachable` for a context that does not exist or cannot be read.
 */
export function findDockerEndpoint(
  env: Environment,
  exists: (path: string) => boolean = existsSync,
): DockerEndpoint {
  const home = env.HOME || homedir();
  const folder = env.DOCKER_CONFIG || join(home, ".docker");
  if (env.DOCKER_HOST) return endpointOfHost(env.DOCKER_HOST, env, folder);
  const named = env.DOCKER_CONTEXT || currentContext(folder);
  if (named !== undefined && named !== DEFAULT_CONTEXT) return endpointOfContext(named, folder);
  const found = exists(DEFAULT_SOCKET) ? undefined : otherSockets(env, home).find(({ path }) => exists(path));
  if (found === undefined) return { host: `unix://${DEFAULT_SOCKET}`, source: "the default socket" };
  return { host: `unix://${found.path}`, source: `the socket of ${found.of}` };
}

function otherSockets({ XDG_RUNTIME_DIR }: Environment, home: string): { of: string; path: string }[] {
  return [
    ...(XDG_RUNTIME_DIR ? [{ of: "rootless Docker", path: join(XDG_RUNTIME_DIR, "docker.sock") }] : []),
    { of: "Docker Desktop", path: join(home, ".docker/run/docker.sock") },
    { of: "Docker Desktop", path: join(home, ".docker/desktop/docker.sock") },
    { of: "Colima", path: join(home, ".colima/default/docker.sock") },
    { of: "Colima", path: join(home, ".config/colima/default/docker.sock") },
    { of: "OrbStack", path: join(home, ".orbstack/run/docker.sock") },
    { of: "Rancher Desktop", path: join(home, ".rd/docker.sock") },
    // The machine that `ptc setup` makes.
    { of: "Lima", path: join(home, ".lima/ptc/sock/docker.sock") },
    { of: "Lima", path: join(home, ".lima/docker/sock/docker.sock") },
  ];
}

/** `DOCKER_TLS_VERIFY` and `DOCKER_CERT_PATH` apply to `DOCKER_HOST`, as in the `docker` command. */
function endpointOfHost(host: string, env: Environment, folder: string): DockerEndpoint {
  const whole = /^[a-z]+:\/\//.test(host) ? host : `tcp://${host}`;
  const endpoint = { host: whole, source: "DOCKER_HOST" };
  if (!env.DOCKER_TLS_VERIFY && !env.DOCKER_CERT_PATH) return endpoint;
  const files = readTls(env.DOCKER_CERT_PATH || folder);
  return { ...endpoint, tls: { ...files, skipVerify: !env.DOCKER_TLS_VERIFY } };
}

/** The context set by `docker context use`. */
function currentContext(folder: string): string | undefined {
  const path = join(folder, "config.json");
  const configuration = existsSync(path) ? readObject(path) : {};
  const { currentContext: name } = configuration;
  return typeof name === "string" && name !== "" ? name : undefined;
}

/** The folder of a context is named after the SHA-256 of the context's name. */
function endpointOfContext(name: string, folder: string): DockerEndpoint {
  const id = createHash("sha256").update(name).digest("hex");
  const source = `context '${visibleLine(name)}'`;
  const path = join(folder, "contexts/meta", id, "meta.json");
  if (!existsSync(path)) {
    throw new SandboxError(
      "engine_unreachable",
      `Docker's ${source} is not there; \`docker context ls\` lists them, \`docker context use NAME\` or DOCKER_CONTEXT chooses one`,
    );
  }
  const { Endpoints } = readObject(path);
  const docker = isObject(Endpoints) ? Endpoints.docker : undefined;
  const host = isObject(docker) ? docker.Host : undefined;
  if (!isObject(docker) || typeof host !== "string" || host === "") {
    throw new SandboxError(
      "engine_unreachable",
      `Docker's ${source} names no engine: ${path} has no Endpoints.docker.Host`,
    );
  }
  const skipVerify = docker.SkipTLSVerify === true;
  const tlsFolder = join(folder, "contexts/tls", id, "docker");
  if (!existsSync(tlsFolder) && !skipVerify) return { host, source };
  return { host, source, tls: { ...readTls(tlsFolder), skipVerify } };
}

function readTls(folder: string): { ca?: string; cert?: string; key?: string } {
  const read = (name: "ca" | "cert" | "key") => {
    const path = join(folder, `${name}.pem`);
    return existsSync(path) ? { [name]: readFileSync(path, "utf8") } : {};
  };
  return { ...read("ca"), ...read("cert"), ...read("key") };
}

function readObject(path: string): Record<string, unknown> {
  try {
    const value = parseForeignJson(readFileSync(path), LIMITS);
    return isObject(value) ? value : {};
  } catch (error) {
    throw new SandboxError("engine_unreachable", `${path} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * Why no engine can answer here, as far as can be seen without a request: its socket does not exist. Undefined if one may answer.
 *
 * @param address the address of the only engine to use.
 */
export function whyNoDocker(env: Environment, address?: string): string | undefined {
  try {
    const { host } = address === undefined ? findDockerEndpoint(env) : { host: address };
    const path = /^unix:\/\/(.*)$/.exec(host)?.[1];
    return path === undefined || existsSync(path)
      ? undefined
      : `there is no ${path} (to have it: ${DOCKER_INSTALLATION})`;
  } catch (error) {
    return messageOf(error);
  }
}
