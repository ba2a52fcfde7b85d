/** Lists the servers of a project, generates their modules, catalog and lock, and says as text what came of it. */

import { basename, join } from "node:path";
import { countNoun } from "../base/quantities.ts";
import { visibleLine } from "../base/visible-text.ts";
import { countTools, renderOffer } from "../catalog/parse-tool.ts";
import { shownName } from "../catalog/store/stored-catalog.ts";
import type { WrittenFiles } from "../catalog/store/write-generated.ts";
import { quoteString } from "../codegen/escape.ts";
import type { ServerConfiguration } from "../configuration/configuration.ts";
import {
  type EditorConfig,
  type Generation,
  learnForGeneration,
  ModuleGenerator,
  type ServerDrift,
} from "../generation/generate.ts";
import { GeneratedFolder } from "../generation/generated-folder.ts";
import { generatedDirectory } from "../generation/generated-modules.ts";
import { type ListOutcome, ToolChanges, watchTools } from "../generation/list-servers.ts";
import { UnlistedServers } from "../generation/unlisted-servers.ts";
import type { UpstreamErrorCode } from "../upstream/upstream-error.ts";
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

const MAX_DAMAGE_SHOWN = 20;

/** Why a server could not be listed, in a few words. The warning about it gives the whole reason. */
const WHY: Readonly<Record<UpstreamErrorCode, string>> = {
  start_failed: "cannot be started or reached",
  login_required: "needs a login",
  handshake_failed: "refused, or is no MCP server",
  connect_timeout: "timed out",
  backing_off: "failed just before",
  busy: "busy",
  off: "off",
  call_timeout: "timed out",
  disconnected: "ended",
  session_ended: "ended the session",
  protocol_error: "broke the protocol",
  remote_error: "answered with an error",
  input_refused: "asked for an input",
  cancelled: "cancelled",
};

/** Warnings before anything is written: servers that can no longer be listed, and definitions that cannot be used. */
export function proposalWarnings({ failures, warnings, damage }: Generation, isCheck: boolean): string[] {
  const lines = failures
    .filter(({ isNew }) => isNew)
    .map(({ message, isKept }) => `${message}${isKept ? "; its last modules are kept" : ""}`);
  for (const { server, tool, message } of warnings) {
    const where = tool === undefined ? `server '${server}'` : `server '${server}', tool '${shownName(tool)}'`;
    lines.push(`${where}: ${message}`);
  }
  if (isCheck) return lines;
  const outcomes = damage.map(
    ({ problem, isMended }) =>
      `${problem}; ${isMended ? "it is written anew" : "it is left out until its server can be asked"}`,
  );
  return [...lines, ...firstOf(outcomes)];
}

/** Warnings after the files were written. @param shown the folder's name in messages. */
export function writeWarnings(
  { written, edited, left }: WrittenFiles,
  { damage, editors }: Generation,
  shown: string,
): string[] {
  const foreign = editors.filter(
    ({ state, setup }) => state === "foreign" && written.includes(setup.settings),
  );
  return [
    ...foreign.map((editor) => adviceFor(editor, shown)),
    // Edited entries of the catalog were already reported one by one.
    ...edited
      .filter((path) => path !== "catalog.json" || damage.length === 0)
      .map((path) => `${join(shown, path)} had been edited, and was written again`),
    ...left.map((path) => `${join(shown, path)} is no longer needed, but was edited: delete it yourself`),
  ];
}

/** Says how a user's own editor configuration can find the modules. @param shown the folder's name in messages. */
function adviceFor({ path, setup }: EditorConfig, shown: string): string {
  return `${basename(path)} is yours and stays as it is; for editors to find ./servers/ from programs beside it, ${setup.advice(join(shown, setup.settings))}`;
}

/** The differences between the folder and the servers; empty when there are none. */
export function renderCheck({ damage, drift, failures }: Generation, stale: readonly string[]): string {
  const unchecked = failures.length === 0 ? "" : `not checked: ${renderFailures(failures)}\n`;
  const lines = firstOf(damage.map(({ problem }) => problem)).map(visibleLine);
  if (stale.length > 0 && (drift.length === 0 || damage.length > 0))
    lines.push(`out of date, run \`ptc generate\`: ${stale.join(", ")}`);
  return lines.map((line) => `${line}\n`).join("") + renderDrift(drift) + unchecked;
}

/**
 * One line for each server with its number of tools and its module. The last line says how many were listed, and which failed.
 *
 * @param shown the folder's name in messages.
 */
export function renderWritten(generation: Generation, { written }: WrittenFiles, shown: string): string {
  const { plan, failures, editors, modulePaths } = generation;
  const { servers } = plan.catalog;
  if (servers.length === 0 && failures.length === 0)
    return "no servers are configured, so there is nothing to generate: name them in ptc.yaml, which `ptc init` begins\n";
  const failed = new Set(failures.map(({ server }) => server));
  const width = Math.max(...servers.map(({ name }) => name.length));
  const offerWidth = Math.max(10, ...servers.map(({ tools }) => renderOffer(tools).length));
  const lines = servers.map(({ name, module, tools }) => {
    const paths = modulePaths(module);
    const unchanged = failed.has(name) ? "  (kept: it could not be listed)" : "  (unchanged)";
    return `${name.padEnd(width)} ${renderOffer(tools).padStart(offerWidth)}  ${paths.map((path) => join(shown, path)).join(", ")}${paths.some((path) => written.includes(path)) ? "" : unchanged}`;
  });
  const told = editors
    .filter(({ state, path }) => state === "missing" && written.includes(join("..", basename(path))))
    .map(
      ({ path }) =>
        `wrote ${join(shown, "..", basename(path))}, by which editors find ./servers/ from programs beside it`,
    );
  return `${[...lines, ...told, summarize(generation)].join("\n")}\n`;
}

function summarize({ plan, listed, failures }: Generation): string {
  if (listed.size === 0 && failures.length > 0)
    return `no server could be listed: ${renderFailures(failures)}`;
  const tools = plan.catalog.servers
    .filter(({ name }) => listed.has(name))
    .reduce((sum, server) => sum + countTools(server.tools), 0);
  if (failures.length === 0) return `${countNoun(listed.size, "server")} listed, ${countNoun(tools, "tool")}`;
  const all = countNoun(listed.size + failures.length, "server");
  return `${listed.size} of ${all} listed, ${countNoun(tools, "tool")}; failed: ${renderFailures(failures)}`;
}

function renderFailures(failures: Generation["failures"]): string {
  return failures.map(({ server, code }) => `${server} (${WHY[code]})`).join(", ");
}

/** The drift as text for people; empty when there is none. */
export function renderDrift(drift: readonly ServerDrift[]): string {
  const lines = drift.flatMap((server) => [
    server.change === "changed" ? nameOf(server.server) : `${nameOf(server.server)} (${server.change})`,
    ...server.added.map((tool) => `  + ${nameOf(tool)}`),
    ...server.removed.map((tool) => `  - ${nameOf(tool)}`),
    ...server.changed.flatMap(({ tool, diff }) => [
      `  ~ ${nameOf(tool)}`,
      ...diff.map((line) => `      ${visibleLine(line)}`),
    ]),
  ]);
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

function nameOf(name: string): string {
  return /^[\w./-]+$/.test(name) ? name : quoteString(name);
}

function firstOf(lines: readonly string[]): string[] {
  const more = lines.length - MAX_DAMAGE_SHOWN;
  return more <= 0
    ? [...lines]
    : [...lines.slice(0, MAX_DAMAGE_SHOWN), `and ${more} more entries like these`];
}

/** The servers that could not be listed, for programs that read it. */
export function describeFailures({ failures }: Generation) {
  return failures.map(({ server, code, message, isKept }) => ({ server, code, message, kept: isKept }));
}

/** What was listed and written, for programs that read it. @param directory the folder of the modules. */
export function describeWritten(generation: Generation, outcome: WrittenFiles, directory: string) {
  const { plan, drift, listed, modulePaths } = generation;
  const { written, removed, edited, left } = outcome;
  const failures = describeFailures(generation);
  const servers = plan.catalog.servers.map(({ name, module, tools }) => ({
    name,
    tools: countTools(tools),
    module: modulePaths(module)[0],
  }));
  return { directory, servers, listed: [...listed], failures, written, removed, edited, left, drift };
}
