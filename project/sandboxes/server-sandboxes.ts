/** Runs servers in sandboxes as the configuration says: joins the engine, the egress of servers and the MCP client. */

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import type { AuditedConnection } from "../../archive/audit/audit-line.ts";
import { messageOf } from "../../base/faults.ts";
import type { Configuration, ServerConfiguration, ServerSandbox } from "../../configuration/configuration.ts";
import { isWithin, sandboxOf } from "../../configuration/server-sandbox.ts";
import { WORKSPACE } from "../../protocol/runners.ts";
import {
  SERVER_FILES,
  SERVER_FOLDER,
  SERVER_PROJECT,
  type ServerLaunch,
} from "../../protocol/server-launch.ts";
import type { OpenEngine, SandboxEngine } from "../../sandbox/sandbox-engine.ts";
import { SandboxError } from "../../sandbox/sandbox-error.ts";
import type { Mount } from "../../sandbox/sandbox-profile.ts";
import { isInherited } from "../../secrets/inherited-environment.ts";
import { PRIVATE_FOLDER_NAME } from "../../system/private-folder.ts";
import { LaunchError, type LaunchServer } from "../../upstream/mcp/launch-server.ts";
import {
  fetchesPackages,
  type PackageCommand,
  readPackageCommand,
} from "../../upstream/packages/package-command.ts";
import { PackageError } from "../../upstream/packages/package-error.ts";
import type { PackageLayer, PackageLayers } from "../../upstream/packages/package-layers.ts";
import type { Project } from "../open-project.ts";

type Stdio = ServerConfiguration & { transport: "stdio" };

/** What a server has of the programs of its image. */
const COMMANDS: ReadonlyMap<string, string> = new Map([
  ["node", "/usr/local/bin/node"],
  ["python", "/usr/bin/python3"],
  ["python3", "/usr/bin/python3"],
]);
/** Where a server finds its packages. */
const PACKAGES = `${SERVER_FOLDER}/packages`;
/** The Python of the image, for which packages are fetched. */
const IMAGE_PYTHON = "3.11";
const AUTHORITIES = `${SERVER_FOLDER}/authorities.pem`;
const ENVIRONMENT = {
  HOME: "/tmp",
  TMPDIR: "/tmp",
  TZ: "UTC",
  LANG: "C.UTF-8",
  LC_ALL: "C.UTF-8",
  PATH: "/usr/local/bin:/usr/bin:/bin",
  NODE_EXTRA_CA_CERTS: AUTHORITIES,
  SSL_CERT_FILE: AUTHORITIES,
  REQUESTS_CA_BUNDLE: AUTHORITIES,
};
const SERVER_CPUS = 1;
const SERVER_PIDS = 256;
const SCRATCH_MB = 64;

export interface ServerSandboxesOptions {
  /** Opens the engine; by default that of `./engine.ts`. */
  engine?: OpenEngine | undefined;
  /**
   * Whether the packages of servers are found anew and written into the lock; `missing`: only those that it does not have. By default
   * servers start from those that the lock has.
   */
  resolvesPackages?: boolean | "missing" | undefined;
  /** Receives the connections of servers, and the hosts that they may not reach, as the audit log has them. */
  onConnection?: ((connection: AuditedConnection) => void) | undefined;
}

/** For whom a server is started, and with which of its accounts. */
type ServerUse = Pick<AuditedConnection, "principal" | "account">;

/** The sandboxes of the servers of one configuration of a project. Contacts no engine before the first of them is started. */
export class ServerSandboxes {
  readonly #configuration: Configuration;
  readonly #project: Project;
  readonly #open: OpenEngine | undefined;
  #engine: SandboxEngine | undefined;
  readonly #resolvesPackages: boolean | "missing";
  readonly #onConnection: ServerSandboxesOptions["onConnection"];
  #layers: PackageLayers | undefined;
  #hasWarned = false;

  constructor(
    configuration: Configuration,
    project: Project,
    { engine, resolvesPackages = false, onConnection }: ServerSandboxesOptions = {},
  ) {
    this.#configuration = configuration;
    this.#project = project;
    this.#open = engine;
    this.#resolvesPackages = resolvesPackages;
    this.#onConnection = onConnection;
  }

  has(server: ServerConfiguration): boolean {
    return sandboxOf(server, this.#configuration.sandbox.servers) !== undefined;
  }

  /** The folders that ptc names to a server: in a sandbox those of them that are mounted, by their paths there. */
  rootsOf(server: ServerConfiguration): readonly string[] | undefined {
    const sandbox = sandboxOf(server, this.#configuration.sandbox.servers);
    if (sandbox === undefined) return server.roots;
    if (server.roots === undefined) return undefined;
    try {
      const { inside } = placesOf(sandbox, this.#configuration.directory);
      return server.roots.flatMap((root) => inside(root) ?? []);
    } catch {
      // The launch fails for the same reason, and reports it.
      return undefined;
    }
  }

  /**
   * How a server is started in its sandbox; undefined where it is a process of this machine. Fetches its packages if they are not here.
   *
   * @param use for whom it is started, and with which of its accounts.
   * @param env the server's own variables.
   */
  async launcherFor(
    server: ServerConfiguration,
    use: ServerUse,
    env: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<LaunchServer | undefined> {
    const { sandbox: settings } = this.#configuration;
    const sandbox = sandboxOf(server, settings.servers);
    if (sandbox === undefined || server.transport !== "stdio") return undefined;
    if (settings.servers === "wanted") {
      const why = await this.#whyNoEngine();
      if (why !== undefined) {
        if (!this.#hasWarned)
          this.#project.onWarning(
            `servers run without a sandbox, because none can be started here: ${why}; with \`sandbox.servers: required\` they would not run`,
          );
        this.#hasWarned = true;
        return undefined;
      }
    }
    // The time of the start, which is bounded, begins when the packages are here.
    const packages = await this.#packagesOf(server, env, signal);
    return async (program, signal) => {
      try {
        if (packages instanceof PackageError) throw packages;
        return await this.#launch(server, sandbox, use, program, packages, signal);
      } catch (error) {
        if (error instanceof SandboxError || error instanceof PackageError)
          throw new LaunchError(error.message, { cause: error });
        throw error;
      }
    };
  }

  /** The packages that the server's command fetches; undefined for another command, and the error if they cannot be fetched. */
  async #packagesOf(
    { name, command, args }: Stdio,
    env: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Packages | PackageError | undefined> {
    if (!fetchesPackages(command)) return undefined;
    try {
      const read = readPackageCommand(command, args);
      if (read === undefined) return undefined;
      const about = Object.entries(env).filter(([variable]) => isInherited(variable));
      const layers = await this.#openLayers();
      return { read, layer: await layers.get(name, read, Object.fromEntries(about), signal) };
    } catch (error) {
      if (error instanceof PackageError) return error;
      throw error;
    }
  }

  async #openLayers(): Promise<PackageLayers> {
    const { PackageLayers } = await import("../../upstream/packages/package-layers.ts");
    const { directory, servers } = this.#configuration;
    const { groups } = this.#project.own.state;
    this.#layers ??= new PackageLayers({
      directory,
      servers: new Set(servers.map(({ name }) => name)),
      resolves: this.#resolvesPackages,
      arch: process.arch,
      python: IMAGE_PYTHON,
      observer: { onSpawn: (pid) => groups.record(pid), onExit: (pid) => groups.forget(pid) },
    });
    return this.#layers;
  }

  async #launch(
    server: Stdio,
    sandbox: ServerSandbox,
    use: ServerUse,
    program: Parameters<LaunchServer>[0],
    packages: Packages | undefined,
    signal: AbortSignal,
  ): ReturnType<LaunchServer> {
    const { own, env } = this.#project;
    const { directory } = this.#configuration;
    const [
      { startSandboxedServer },
      { SandboxStarter },
      { Egress },
      { sandboxOptions },
      { trustedAuthorities },
      known,
      images,
    ] = await Promise.all([
      import("../../sandbox/servers/sandboxed-server.ts"),
      import("../../sandbox/sandbox-starter.ts"),
      import("../../upstream/egress/egress.ts"),
      import("./sandboxes.ts"),
      import("../../system/outgoing.ts"),
      import("./open-known-walls.ts"),
      import("./project-image.ts"),
    ]);
    const places = placesOf(sandbox, directory);
    const start = packages?.layer.start(PACKAGES);
    const command = start?.command ?? commandInside(server, program.command, places.inside);
    const args = [...(start?.args ?? []), ...(packages?.read.args ?? program.args)];
    const hosts = hostsOf(sandbox);
    const folder = join(own.state.path, randomBytes(6).toString("hex"));
    mkdirSync(folder, { mode: 0o755 });
    const remove = () => rmSync(folder, { recursive: true, force: true });
    try {
      const mounts: Mount[] = [
        { source: writeOpen(folder, "hosts", hostsFile(hosts)), target: "/etc/hosts" },
        { source: writeOpen(folder, "resolv.conf", "nameserver 127.0.0.1\n"), target: "/etc/resolv.conf" },
        { source: writeOpen(folder, "authorities.pem", trustedAuthorities()), target: AUTHORITIES },
        ...(packages === undefined ? [] : [{ source: packages.layer.folder, target: PACKAGES }]),
        ...places.mounts,
      ];
      const options = sandboxOptions(this.#configuration, own, this.#open);
      this.#engine ??= options.engine;
      const source = new SandboxStarter({
        ...options,
        engine: this.#engine,
        server: { mounts, scratchMb: SCRATCH_MB, hidden: places.hidden },
        limits: { memoryMb: sandbox.memoryMb, cpus: SERVER_CPUS, pids: SERVER_PIDS },
        walls: known.openKnownWalls(env),
        uses: images.openImageUses(env),
      });
      const note = (connection: Omit<AuditedConnection, "server" | keyof ServerUse>) => {
        const audited = { server: server.name, ...use, ...connection };
        this.#project.auditConnection(audited);
        this.#onConnection?.(audited);
      };
      const egress = new Egress({
        allowed: sandbox.network,
        onConnection: ({ problem, ...connection }) =>
          note({ ...connection, outcome: problem === undefined ? "ok" : "failed", reason: problem }),
        onRefused: (refused) => {
          note({ host: refused, outcome: "refused" });
          this.#project.onWarning(
            `server '${server.name}'${use.account === undefined ? "" : ` of the account '${use.account}'`} wanted ${refused}, which its sandbox.network does not have`,
          );
        },
      });
      const launch: ServerLaunch = {
        command,
        args: args.map((argument) => places.inside(argument) ?? argument),
        env: {
          ...ENVIRONMENT,
          ...start?.env,
          PATH: [start?.env.PATH, ENVIRONMENT.PATH].filter((each) => each !== undefined).join(":"),
          ...Object.fromEntries(
            Object.entries(program.env).map(([name, value]) => [name, places.inside(value) ?? value]),
          ),
        },
        cwd: places.workingDirectory(server.cwd),
        hosts: hosts.map(({ host, address, ports }) => ({ host, address, ports })),
        patterns: sandbox.network
          .filter(({ host }) => host.startsWith("*."))
          .map(({ host, ports }) => ({ pattern: host, ports })),
      };
      const started = await startSandboxedServer(source, launch, egress, signal);
      started.ended.then(remove, remove);
      return started;
    } catch (error) {
      remove();
      throw error;
    }
  }

  async #whyNoEngine(): Promise<string | undefined> {
    try {
      const { sandboxOptions } = await import("./sandboxes.ts");
      const { runtime, engine } = sandboxOptions(this.#configuration, this.#project.own, this.#open);
      this.#engine ??= engine;
      const { engine: settled = this.#engine } = (await this.#engine.settled?.()) ?? {};
      if (settled.hasServers !== true) return `the engine ${settled.name} has none for servers`;
      const found = (await settled.describe()).runtimes.get(runtime);
      return found === undefined ? `it does not know the runtime ${runtime}` : found.problem;
    } catch (error) {
      return messageOf(error);
    }
  }
}

/** What a server's command fetches, and where it is. */
interface Packages {
  read: PackageCommand;
  layer: PackageLayer;
}

/** Where a server finds what is mounted for it. */
interface Places {
  mounts: readonly Mount[];
  /** Folders inside that must not be seen. */
  hidden: readonly string[];
  /** The path inside of an absolute path of this machine; undefined for what is not mounted. */
  inside(path: string): string | undefined;
  workingDirectory(cwd: string): string;
}

/** @throws LaunchError for a path that is not there, or leads out of a folder that the server can write. */
function placesOf({ files }: ServerSandbox, directory: string): Places {
  const targetOf = (path: string) =>
    isWithin(path, directory) ? join(SERVER_PROJECT, relative(directory, path)) : join(SERVER_FILES, path);
  const mounts = files
    .map(({ path, write }): Mount & { path: string } => ({
      path,
      source: realPathOf(path),
      target: targetOf(path),
      isWritable: write,
    }))
    .sort((a, b) => a.target.length - b.target.length);
  for (const mount of mounts) {
    const around = mounts.find(
      (each) => each !== mount && each.isWritable === true && isWithin(mount.path, each.path),
    );
    // Otherwise the server could have put a link there.
    if (around !== undefined && !isWithin(mount.source, around.source))
      throw new LaunchError(`files: ${mount.path} leads out of ${around.path}, which the server can write`);
  }
  const inside = (path: string) =>
    path.startsWith(sep) && mounts.some((mount) => isWithin(path, mount.path)) ? targetOf(path) : undefined;
  const privateFolder = join(directory, PRIVATE_FOLDER_NAME);
  return {
    mounts: mounts.map(({ source, target, isWritable }) => ({ source, target, isWritable })),
    hidden:
      mounts.some(({ path }) => isWithin(privateFolder, path) && path !== privateFolder) &&
      existsSync(privateFolder)
        ? [targetOf(privateFolder)]
        : [],
    inside,
    workingDirectory: (cwd) =>
      mounts.some(({ path }) => isWithin(cwd, path) || isWithin(path, cwd)) ? targetOf(cwd) : WORKSPACE,
  };
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    throw new LaunchError(`files: ${path} is not there`);
  }
}

/** @throws LaunchError for a command that the sandbox does not have. */
function commandInside(
  { name }: Stdio,
  command: string,
  inside: (path: string) => string | undefined,
): string {
  const known = COMMANDS.get(basename(command));
  if (known !== undefined && (command === basename(command) || inside(command) === undefined)) return known;
  if (command.includes(sep)) {
    // A relative path is found from the working directory, as everywhere.
    const found = command.startsWith(sep) ? inside(command) : command;
    if (found !== undefined) return found;
    throw new LaunchError(`its sandbox has no ${command}; name its folder in sandbox.files of '${name}'`);
  }
  throw new LaunchError(
    `its sandbox has no ${command}: it has ${[...COMMANDS.keys()].join(", ")}, and what sandbox.files of '${name}' names`,
  );
}

interface InsideHost {
  host: string;
  address: string;
  ports: readonly number[];
}

/** Gives each host an address inside. `localhost` keeps its own. */
function hostsOf({ network }: ServerSandbox): InsideHost[] {
  const ports = new Map<string, Set<number>>();
  for (const { host, ports: own } of network)
    if (!host.startsWith("*.")) ports.set(host, new Set([...(ports.get(host) ?? []), ...own]));
  return [...ports].map(([host, own], index) => ({
    host,
    address: host === "localhost" ? "127.0.0.1" : `127.0.${(index >> 8) + 1}.${(index & 255) + 1}`,
    ports: [...own],
  }));
}

function hostsFile(hosts: readonly InsideHost[]): string {
  const named = hosts.filter(({ host }) => host !== "localhost");
  return `127.0.0.1\tlocalhost\n${named.map(({ host, address }) => `${address}\t${host}\n`).join("")}`;
}

/** Writes a file that the sandbox's user can read. The folder around it keeps other users out. */
function writeOpen(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o644 });
  return path;
}
