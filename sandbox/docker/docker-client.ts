import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { Agent as HttpAgent } from "node:http";
import { Agent } from "node:https";
import { homedir } from "node:os";
import { join } from "node:path";
import type { DockerOptions } from "dockerode";
import Docker from "dockerode";
import { messageOf } from "../../base/faults.ts";
import { isObject, parseForeignJson } from "../../base/json.ts";
import { visibleLine } from "../../base/visible-text.ts";
import { SandboxError } from "../sandbox-error.ts";
import { DOCKER_ADVICE, DOCKER_INSTALLATION, GVISOR_INSTALLATION } from "./docker-advice.ts";
import { SshAgent } from "./ssh-agent.ts";

/** A client of a Docker Engine, and what named its address. */
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

/** The address of a Docker Engine, and what named it. */
interface DockerEndpoint {
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
 * Finds the engine in the order in which the `docker` command does: `DOCKER_HOST`, `DOCKER_CONTEXT`, the current context of
 * its configuration, the default socket. Where that socket is not there, the sockets of rootless Docker, Docker Desktop, Colima,
 * OrbStack, Rancher Desktop and Lima are tried.
 *
 * @throws SandboxError `engine_unreachable` for a context that is not there or cannot be read.
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
    { of: "Lima", path: join(home, ".lima/docker/sock/docker.sock") },
  ];
}

/** `DOCKER_TLS_VERIFY` and `DOCKER_CERT_PATH` go with `DOCKER_HOST`, as for the `docker` command. */
function endpointOfHost(host: string, env: Environment, folder: string): DockerEndpoint {
  const whole = /^[a-z]+:\/\//.test(host) ? host : `tcp://${host}`;
  const endpoint = { host: whole, source: "DOCKER_HOST" };
  if (!env.DOCKER_TLS_VERIFY && !env.DOCKER_CERT_PATH) return endpoint;
  const files = readTls(env.DOCKER_CERT_PATH || folder);
  return { ...endpoint, tls: { ...files, skipVerify: !env.DOCKER_TLS_VERIFY } };
}

/** The context that `docker context use` has set. */
function currentContext(folder: string): string | undefined {
  const path = join(folder, "config.json");
  const configuration = existsSync(path) ? readObject(path) : {};
  const { currentContext: name } = configuration;
  return typeof name === "string" && name !== "" ? name : undefined;
}

/** The folder of a context is named by the SHA-256 of its name. */
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
      `Docker does not know the sandbox runtime (${message}); ${DOCKER_ADVICE.missingRuntime}`,
    );
  }
  return build(otherwise, `Docker: ${message}`);
}

/** The HTTP status that the engine answered with. */
export function httpStatusOf(error: unknown): number | undefined {
  return error instanceof Error && "statusCode" in error ? Number(error.statusCode) : undefined;
}
