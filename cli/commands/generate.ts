import { basename, join, relative, resolve } from "node:path";
import type { Writable } from "node:stream";
import { jsonLine } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import { visibleLine } from "../../base/visible-text.ts";
import { countTools, renderOffer } from "../../catalog/parse-tool.ts";
import { shownName } from "../../catalog/store/stored-catalog.ts";
import { quoteString } from "../../codegen/escape.ts";
import type { EditorConfig, Generation, ServerDrift, WrittenFiles } from "../../generation/generate.ts";
import type { ListOutcome } from "../../generation/list-servers.ts";
import { ProjectGenerator } from "../../project/generate.ts";
import type { Project } from "../../project/open-project.ts";
import type { UpstreamErrorCode } from "../../upstream/upstream-error.ts";
import {
  CONFIG,
  type CommonFlags,
  EXIT,
  type ExitCode,
  exitOnSignals,
  SIGNALS,
  type Surroundings,
  tell,
  UsageError,
  write,
} from "../command.ts";
import { defineProjectCommand } from "../project-command.ts";

interface GenerateFlags extends CommonFlags {
  out?: string;
  check?: boolean;
  watch?: boolean;
}

/** `ptc generate [SERVER...]` */
export const generateCommand = defineProjectCommand("generate", generate, (command) =>
  command
    .description("write typed modules, catalog and lock from what the configured servers list")
    .argument("[server...]", "only these servers; the others stay as they are")
    .option(...CONFIG)
    .option("--out <directory>", "where to write (default: generated, beside the configuration file)")
    .option("--check", "write nothing; exit 4 with a diff when what servers list has drifted")
    .option("--watch", "keep running, and generate again whenever a server says that its tools have changed")
    .option("--json", "print what was done as JSON")
    .addHelpText("after", "\nExample:\n  ptc generate && git diff generated/\n"),
);

/** Generates the modules of these servers, or of all servers, and reports the outcome. */
export async function generate(
  project: Project,
  names: string[],
  flags: GenerateFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { env, stderr } = surroundings;
  if (flags.check && flags.watch)
    throw new UsageError("--check writes nothing, so it does not go with --watch");
  const stop = new AbortController();
  let progress: ListingProgress | undefined;
  for (const signal of SIGNALS) surroundings.on(signal, () => progress?.end());
  if (!flags.watch) exitOnSignals(surroundings);
  else for (const signal of SIGNALS) surroundings.on(signal, () => stop.abort());
  const onWarning = (message: string) => {
    progress?.clear();
    void tellWarnings(surroundings, [message]);
  };
  project.tellWarnings(onWarning);
  const generator = new ProjectGenerator(project, {
    names,
    directory: flags.out === undefined ? undefined : resolve(surroundings.cwd(), flags.out),
    // A check must not depend on this machine's archive.
    learns: flags.check !== true,
    resolvesPackages: flags.check !== true,
    follows: flags.watch === true,
  });
  for (const held of project.configuration.held) onWarning(held);
  const context = { generator, flags, surroundings };
  const shown = new ListingProgress(stderr, env, generator.names);
  progress = shown;
  const first = await generator
    .propose(stop.signal, (outcome) => shown.settle(outcome))
    .finally(() => shown.end());
  if (stop.signal.aborted) return EXIT.done;
  if (!flags.check) generator.noteFailures(first);
  await tellWarnings(surroundings, proposalWarnings(first, flags.check === true));
  generator.refuseUnmatchedPattern(first);
  if (flags.check) return await check(context, first);
  await writeAndTell(context, first);
  if (!flags.watch) return first.failures.length === 0 ? EXIT.done : EXIT.failed;
  await tell(stderr, "watching for changed tools; stop with Ctrl-C");
  await generator.follow(first, stop.signal, async (next) => {
    await tellWarnings(surroundings, proposalWarnings(next, false));
    if (next.drift.length + next.damage.length > 0) await writeAndTell(context, next);
  });
  return EXIT.done;
}

interface Context {
  generator: ProjectGenerator;
  flags: GenerateFlags;
  surroundings: Surroundings;
}

async function check({ generator, flags, surroundings }: Context, generation: Generation): Promise<ExitCode> {
  const { drift, damage, failures } = generation;
  const stale = await generator.findStale(generation);
  const text = flags.json
    ? `${jsonLine({
        drift,
        stale,
        edits: damage.map(({ problem }) => problem),
        failures: shownFailures(generation),
      })}\n`
    : renderCheck(generation, stale);
  await write(surroundings.stdout, text);
  if (drift.length + stale.length + damage.length > 0) return EXIT.drift;
  return failures.length > 0 ? EXIT.failed : EXIT.done;
}

/** The servers that could not be listed, for `--json`. */
function shownFailures({ failures }: Generation) {
  return failures.map(({ server, code, message, isKept }) => ({ server, code, message, kept: isKept }));
}

async function writeAndTell(
  { generator, flags, surroundings }: Context,
  generation: Generation,
): Promise<void> {
  const { directory } = generator;
  const outcome = await generator.write(generation);
  const shown = relative(surroundings.cwd(), directory) || ".";
  await tellWarnings(surroundings, writeWarnings(outcome, generation, shown));
  if (!flags.json) {
    await write(surroundings.stdout, renderWritten(generation, outcome, shown));
    return;
  }
  const { written, removed, edited, left } = outcome;
  const { plan, drift, listed, modulePaths } = generation;
  const failures = shownFailures(generation);
  const servers = plan.catalog.servers.map(({ name, module, tools }) => ({
    name,
    tools: countTools(tools),
    module: modulePaths(module)[0],
  }));
  await write(
    surroundings.stdout,
    `${jsonLine({ directory, servers, listed: [...listed], failures, written, removed, edited, left, drift })}\n`,
  );
}

async function tellWarnings({ stderr }: Surroundings, lines: readonly string[]): Promise<void> {
  const text = lines.map((line) => `ptc: warning: ${visibleLine(line)}\n`).join("");
  if (text !== "") await write(stderr, text);
}

const CLEAR = "\r\u001b[K";
const SECOND_MS = 1_000;
const DEFAULT_COLUMNS = 80;

type Screen = Writable & { isTTY?: boolean; columns?: number };

/**
 * Shows on a terminal which servers are still being listed, in one line that is redrawn. In CI and on a dumb terminal it prints one
 * line for each server. In a pipe it prints nothing.
 */
class ListingProgress {
  readonly #screen: Screen;
  readonly #form: "drawn" | "lines" | "none";
  readonly #waiting: Set<string>;
  readonly #failed: string[] = [];
  readonly #beganMs = performance.now();
  #done = 0;
  #isDrawn = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(screen: Screen, env: Surroundings["env"], servers: readonly string[]) {
    this.#screen = screen;
    this.#waiting = new Set(servers);
    const isPlain = env.TERM === "dumb" || (env.CI !== undefined && env.CI !== "" && env.CI !== "false");
    this.#form = screen.isTTY !== true || servers.length === 0 ? "none" : isPlain ? "lines" : "drawn";
    if (this.#form === "lines") screen.write(`ptc: listing ${countNoun(servers.length, "server")}\n`);
    if (this.#form !== "drawn") return;
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), SECOND_MS).unref();
  }

  /** Notes that a server was listed, or could not be. */
  settle({ server, tools }: ListOutcome): void {
    this.#waiting.delete(server);
    if (tools === undefined) this.#failed.push(server);
    else this.#done++;
    if (this.#form === "lines") {
      const outcome = tools === undefined ? "failed" : countNoun(tools, "tool");
      this.#screen.write(`ptc: ${server}: ${outcome}\n`);
    } else if (this.#timer !== undefined) this.#draw();
  }

  /** Removes the line, so that other lines can be written. The next change draws it again. */
  clear(): void {
    if (this.#isDrawn) this.#screen.write(CLEAR);
    this.#isDrawn = false;
  }

  /** Removes the line for good. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.clear();
  }

  #draw(): void {
    const seconds = Math.floor((performance.now() - this.#beganMs) / SECOND_MS);
    const parts = [
      ...(this.#waiting.size === 0 ? [] : [`listing ${[...this.#waiting].join(", ")}`]),
      ...(this.#failed.length === 0 ? [] : [`failed: ${this.#failed.join(", ")}`]),
    ];
    const text = `ptc: ${this.#done} done, ${seconds} s; ${parts.join("; ")}`;
    const columns = this.#screen.columns || DEFAULT_COLUMNS;
    this.#screen.write(`${CLEAR}${text.length < columns ? text : `${text.slice(0, columns - 4)}...`}`);
    this.#isDrawn = true;
  }
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
function writeWarnings(
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
function renderCheck({ damage, drift, failures }: Generation, stale: readonly string[]): string {
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
function renderWritten(generation: Generation, { written }: WrittenFiles, shown: string): string {
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
