import { relative, resolve } from "node:path";
import type { Writable } from "node:stream";
import { jsonLine } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import { visibleLine } from "../../base/visible-text.ts";
import {
  describeFailures,
  describeWritten,
  ProjectGenerator,
  proposalWarnings,
  renderCheck,
  renderWritten,
  writeWarnings,
} from "../../project/generate.ts";
import type { Project } from "../../project/open-project.ts";
import { SIGNALS, type Surroundings } from "../../project/surroundings.ts";
import {
  CONFIG,
  type CommonFlags,
  EXIT,
  type ExitCode,
  exitOnSignals,
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

type Generation = Awaited<ReturnType<ProjectGenerator["propose"]>>;

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
        failures: describeFailures(generation),
      })}\n`
    : renderCheck(generation, stale);
  await write(surroundings.stdout, text);
  if (drift.length + stale.length + damage.length > 0) return EXIT.drift;
  return failures.length > 0 ? EXIT.failed : EXIT.done;
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
  await write(surroundings.stdout, `${jsonLine(describeWritten(generation, outcome, directory))}\n`);
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
  settle({ server, tools }: { server: string; tools?: number | undefined }): void {
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
