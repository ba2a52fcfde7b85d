import { existsSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { UpstreamError } from "../../broker/upstream-error.ts";
import type { UpstreamPool } from "../../broker/upstream-pool.ts";
import { readCatalog } from "../../catalog/catalog-file.ts";
import { compareCatalogs, renderDrift, type ServerDrift } from "../../catalog/drift.ts";
import { type GenerationPlan, planGeneration } from "../../catalog/generate-plan.ts";
import type { StoredCatalog } from "../../catalog/stored-catalog.ts";
import { writeGenerated } from "../../catalog/write-generated.ts";
import type { ServerListing } from "../../codegen/server-listing.ts";
import { namespacedName } from "../../protocol/tool-name.ts";
import type { DefineCommand } from "../command.ts";
import { composeUpstreams, openState } from "../composition.ts";
import type { Configuration, ServerConfiguration } from "../configuration/configuration.ts";
import { loadConfiguration } from "../configuration/load.ts";
import { unmatchedPatterns } from "../configuration/unmatched-patterns.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { generatedDirectory } from "../generated-modules.ts";
import { describeListing, readModules } from "../regenerate.ts";
import { exitOnSignals, SIGNALS, type Surroundings, write } from "../surroundings.ts";
import { ToolChanges, watchTools } from "./generate-watch.ts";

interface GenerateFlags {
  config?: string;
  out?: string;
  check?: boolean;
  watch?: boolean;
  json?: boolean;
}

interface Listed {
  listings: ServerListing[];
  failures: { server: string; message: string }[];
}

/** `ptc generate [SERVER...]` */
export const generateCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("generate")
    .description("write typed modules, catalog and lock from what the configured servers list")
    .argument("[server...]", "only these servers; the others stay as they are")
    .option("--config <file>", "configuration file")
    .option("--out <directory>", "where to write (default: generated, beside the configuration file)")
    .option("--check", "write nothing; exit 4 with a diff when what servers list has drifted")
    .option("--watch", "go on, and generate again whenever a server says that its tools have changed")
    .option("--json", "print what was done as JSON")
    .addHelpText("after", "\nExample:\n  ptc generate && git diff generated/\n")
    .action(async (servers: string[], flags: GenerateFlags) => {
      finish(await generate(servers, flags, surroundings));
    });
};

async function generate(
  names: string[],
  flags: GenerateFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { env } = surroundings;
  const cwd = surroundings.cwd();
  if (flags.check && flags.watch)
    throw new UsageError("--check writes nothing, so it does not go with --watch");
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd });
  const selected = selectServers(configuration, names);
  const directory = flags.out === undefined ? generatedDirectory(configuration) : resolve(cwd, flags.out);
  const { state } = openState(env);
  const stop = new AbortController();
  if (!flags.watch) exitOnSignals(surroundings);
  else for (const signal of SIGNALS) surroundings.on(signal, () => stop.abort());
  const pool = composeUpstreams(configuration, state);
  // Before anything is listed: what changes while the modules are written must not be missed.
  const changes = flags.watch ? new ToolChanges(pool, selected) : undefined;
  const onceMore = async () => {
    const round = await list(selected, pool, stop.signal);
    const previous = await readCatalog(directory);
    const plan = await planGeneration({
      listings: round.listings,
      previous,
      keep: keptServers(configuration, round),
      modules: readModules(directory, previous),
    });
    return { round, previous, plan, drift: await compareCatalogs(previous?.catalog, plan.catalog) };
  };
  try {
    const { round, previous, plan, drift } = await onceMore();
    if (stop.signal.aborted) return EXIT.done;
    const context = { configuration, directory, flags, surroundings };
    await warn(context, round.failures, plan, previous);
    refuseUnmatchedPatterns(context, plan);
    if (flags.check) return await check(context, round, plan, drift);
    await writePlan(context, plan, drift);
    if (changes !== undefined) {
      await write(surroundings.stderr, "ptc: watching for changed tools; stop with Ctrl-C\n");
      let failing = round.failures;
      await watchTools(changes, stop.signal, failing.length === 0, async () => {
        const next = await onceMore();
        if (stop.signal.aborted) return true;
        const fresh = next.round.failures.filter(
          ({ server }) => !failing.some((each) => each.server === server),
        );
        failing = next.round.failures;
        await warn(context, fresh, next.plan, next.previous);
        if (next.drift.length > 0) await writePlan(context, next.plan, next.drift);
        return failing.length === 0;
      });
      return EXIT.done;
    }
    const missing = round.failures.some(({ server }) => !plan.lock.servers.has(server));
    return missing ? EXIT.failed : EXIT.done;
  } finally {
    await pool.close();
    state.remove();
  }
}

interface Context {
  configuration: Configuration;
  directory: string;
  flags: GenerateFlags;
  surroundings: Surroundings;
}

function selectServers(
  configuration: Configuration,
  names: readonly string[],
): readonly ServerConfiguration[] {
  if (names.length === 0) return configuration.servers;
  const unknown = names.find((name) => !configuration.servers.some((server) => server.name === name));
  if (unknown !== undefined) {
    const known = configuration.servers.map((server) => server.name).join(", ");
    throw new UsageError(`there is no server '${unknown}' in the configuration; it has ${known || "none"}`);
  }
  return configuration.servers.filter((server) => names.includes(server.name));
}

/** Asks all servers at once. One that cannot be listed takes none of the others down. */
async function list(
  servers: readonly ServerConfiguration[],
  pool: UpstreamPool,
  signal: AbortSignal,
): Promise<Listed> {
  const listed: Listed = { listings: [], failures: [] };
  await Promise.all(
    servers.map(async (server) => {
      try {
        const listing = await pool.get(server.name)?.list(signal);
        if (listing === undefined) return;
        listed.listings.push(describeListing(server, listing));
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        listed.failures.push({ server: server.name, message: error.message });
      }
    }),
  );
  return listed;
}

/** Configured servers that were not listed now: not asked for, or out of reach. */
function keptServers(configuration: Configuration, { listings }: Listed): string[] {
  const listed = new Set(listings.map((listing) => listing.name));
  return configuration.servers.map((server) => server.name).filter((name) => !listed.has(name));
}

async function warn(
  { surroundings }: Context,
  failures: Listed["failures"],
  plan: GenerationPlan,
  previous: StoredCatalog | undefined,
): Promise<void> {
  const lines = failures.map(({ server, message }) => {
    const kept = previous?.lock.servers.has(server) ? "; its last modules are kept" : "";
    return `ptc: warning: ${message}${kept}`;
  });
  for (const { server, tool, message } of plan.warnings) {
    const where = tool === undefined ? `server '${server}'` : `server '${server}', tool '${tool}'`;
    lines.push(`ptc: warning: ${where}: ${message}`);
  }
  if (lines.length > 0) await write(surroundings.stderr, `${lines.join("\n")}\n`);
}

/** An entry that guards nothing is most often a slip, so nothing is written until it is mended. */
function refuseUnmatchedPatterns({ configuration }: Context, plan: GenerationPlan): void {
  const names = plan.catalog.servers.flatMap((server) =>
    server.tools.map((tool) => namespacedName(server.module, tool.name)),
  );
  const unlisted = configuration.servers
    .filter((server) => !plan.lock.servers.has(server.name))
    .map((server) => server.module);
  const [first] = unmatchedPatterns(configuration, names, unlisted);
  if (first !== undefined) throw new UsageError(first.message);
}

async function check(
  { directory, flags, surroundings }: Context,
  { failures }: Listed,
  plan: GenerationPlan,
  drift: ServerDrift[],
): Promise<ExitCode> {
  const stale = [...plan.files]
    .filter(([path, text]) => !holds(join(directory, path), text))
    .map(([path]) => path);
  if (flags.json) {
    await write(surroundings.stdout, `${JSON.stringify({ drift, stale, failures })}\n`);
  } else if (drift.length > 0) {
    await write(surroundings.stdout, renderDrift(drift));
  } else if (stale.length > 0) {
    await write(surroundings.stdout, `out of date, run \`ptc generate\`: ${stale.join(", ")}\n`);
  }
  if (drift.length > 0 || stale.length > 0) return EXIT.drift;
  return failures.length > 0 ? EXIT.failed : EXIT.done;
}

function holds(path: string, text: string): boolean {
  return existsSync(path) && readFileSync(path, "utf8") === text;
}

async function writePlan(
  { directory, flags, surroundings }: Context,
  plan: GenerationPlan,
  drift: ServerDrift[],
): Promise<void> {
  const { written, removed } = await writeGenerated(directory, plan.files);
  const servers = plan.catalog.servers.map(({ name, module, tools }) => ({
    name,
    tools: tools.length,
    module: `servers/${module}/index.ts`,
  }));
  if (flags.json) {
    await write(surroundings.stdout, `${JSON.stringify({ directory, servers, written, removed, drift })}\n`);
    return;
  }
  const shown = relative(surroundings.cwd(), directory) || ".";
  const width = Math.max(...servers.map(({ name }) => name.length), 0);
  const lines = servers.map(({ name, tools, module }) => {
    const count = `${tools} ${tools === 1 ? "tool" : "tools"}`.padStart(10);
    return `${name.padEnd(width)} ${count}  ${join(shown, module)}${written.includes(module) ? "" : "  (unchanged)"}`;
  });
  if (servers.length === 0) lines.push("no servers are configured, so there is nothing to generate");
  await write(surroundings.stdout, `${lines.join("\n")}\n`);
}
