/** Lists the servers of a project, and generates their modules, catalog and lock. */
import type { WrittenFiles } from "../catalog/store/write-generated.ts";
import type { ServerConfiguration } from "../configuration/configuration.ts";
import { type Generation, learnForGeneration, ModuleGenerator } from "../generation/generate.ts";
import { GeneratedFolder } from "../generation/generated-folder.ts";
import { generatedDirectory } from "../generation/generated-modules.ts";
import { type ListOutcome, ToolChanges, watchTools } from "../generation/list-servers.ts";
import { UnlistedServers } from "../generation/unlisted-servers.ts";
import { LOCAL_USER } from "./local-user.ts";
import type { Project } from "./open-project.ts";
import { Refusal } from "./refusal.ts";
import { openServers } from "./servers/upstreams.ts";

export interface GenerateOptions {
  /** The servers that are listed; by default all. */
  names?: readonly string[];
  /** An absolute path; by default the configured folder. */
  directory?: string | undefined;
  /** Whether the modules have what the archive of this machine says of results. */
  learns?: boolean;
  /** Whether the packages of sandboxed servers are looked up where their lock names none, or others; not by default. */
  resolvesPackages?: boolean;
  /** Whether changes of the servers' tools are followed ({@link ProjectGenerator.follow}). */
  follows?: boolean;
}

/** Generates the modules of some or all servers of a project. The servers end with the project. */
export class ProjectGenerator {
  /** The folder of the modules. */
  readonly directory: string;
  /** The names of the servers that are listed. */
  readonly names: readonly string[];
  readonly #project: Project;
  readonly #generator: ModuleGenerator;
  readonly #changes: ToolChanges | undefined;

  /** @throws Refusal for a server that the configuration does not have; StateDirectoryError */
  constructor(
    project: Project,
    { names = [], directory, learns, resolvesPackages, follows }: GenerateOptions,
  ) {
    const { configuration, env, onWarning } = project;
    const servers = selectServers(configuration.servers, names);
    this.#project = project;
    this.names = servers.map(({ name }) => name);
    this.directory = directory ?? generatedDirectory(configuration);
    const upstreams = openServers(project, LOCAL_USER.principal, { resolvesPackages });
    // Created before anything is listed, so that no change is missed while the modules are written.
    this.#changes = follows ? new ToolChanges(upstreams, servers) : undefined;
    const folder = new GeneratedFolder(configuration, this.directory);
    const learn = learns ? learnForGeneration(configuration, env, onWarning) : undefined;
    this.#generator = new ModuleGenerator({ configuration, servers, upstreams, folder, learn });
  }

  /** Lists the servers, and proposes the content of the folder. @param onListed receives each outcome as it comes. */
  propose(signal: AbortSignal, onListed?: (outcome: ListOutcome) => void): Promise<Generation> {
    return this.#generator.propose(signal, onListed);
  }

  /** Remembers which servers could not be listed, so that other commands can say so. */
  noteFailures({ failures }: Generation): void {
    new UnlistedServers(this.directory, this.#project.env).note(this.names, failures);
  }

  /** @throws Refusal if a pattern of the configuration matches no tool. */
  refuseUnmatchedPattern(generation: Generation): void {
    const unmatched = this.#generator.findUnmatchedPattern(generation);
    if (unmatched !== undefined) throw new Refusal(unmatched.message);
  }

  /** The files of the folder that writing would change. */
  findStale(generation: Generation): Promise<readonly string[]> {
    return this.#generator.findStale(generation);
  }

  write(generation: Generation): Promise<WrittenFiles> {
    return this.#generator.write(generation);
  }

  /** Proposes again whenever a server says that its tools have changed, until the signal. */
  async follow(
    first: Generation,
    signal: AbortSignal,
    onNext: (next: Generation) => Promise<void>,
  ): Promise<void> {
    if (this.#changes === undefined) throw new Error("this generator does not follow changes");
    await watchTools(this.#changes, signal, isComplete(first), async () => {
      const next = await this.propose(signal);
      if (signal.aborted) return true;
      await onNext(next);
      return isComplete(next);
    });
  }
}

/** Whether every server was listed, except those that the configuration turns off. */
function isComplete({ failures }: Generation): boolean {
  return failures.every(({ isOff }) => isOff);
}

function selectServers(
  configured: readonly ServerConfiguration[],
  names: readonly string[],
): readonly ServerConfiguration[] {
  if (names.length === 0) return configured;
  const unknown = names.find((name) => !configured.some((server) => server.name === name));
  if (unknown !== undefined) {
    const known = configured.map((server) => server.name).join(", ");
    throw new Refusal(`there is no server '${unknown}' in the configuration; it has ${known || "none"}`);
  }
  return configured.filter((server) => names.includes(server.name));
}
