import { jsonLine } from "../../base/json.ts";
import { formatCount } from "../../base/quantities.ts";
import { oneLine, visibleLine, visibleLines } from "../../base/visible-text.ts";
import { countTools, renderOffer } from "../../catalog/parse-tool.ts";
import type { ServerTools, Tool } from "../../catalog/tool.ts";
import { type ToolCatalog, unknownServer, unknownTool } from "../../catalog/tool-catalog.ts";
import { describeForPrograms } from "../../codegen/describe-tool.ts";
import type { ToolPrinter } from "../../codegen/language-printer.ts";
import type { Configuration, ServerConfiguration } from "../../configuration/configuration.ts";
import { describeOffServers } from "../../configuration/configured-servers.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { languageNamed, loadPrinters, pickPrinter, whyNotOn } from "../../languages/languages.ts";
import { LOCAL_USER } from "../../project/local-user.ts";
import { chooseDirectTools, type DirectTool } from "../../tools/direct-tools.ts";
import { loadProgramTools, type ProgramTools } from "../../tools/program-tools.ts";
import { rankingOfCommands } from "../../tools/search/open-ranking.ts";
import {
  CONFIG,
  type CommonFlags,
  type DefineCommand,
  defineCommand,
  EXIT,
  type ExitCode,
  NO_HOST,
  parseLimit,
  type Surroundings,
  tell,
  UsageError,
  write,
} from "../command.ts";
import { type Terminal, terminalOf } from "../terminal/terminal.ts";

/** The tools that `ptc serve` lists, by namespaced name. */
type Direct = ReadonlyMap<string, DirectTool>;

/** Printed instead of tools when none are known. */
export const NOTHING_GENERATED = "ptc: no tools are known yet; run `ptc generate`\n";

/** `ptc list [SERVER]` */
export const listCommand = defineCommand("list", list, (command) =>
  command
    .description("show the tools that programs can call, by server")
    .argument("[server]", "only this server")
    .option(...CONFIG)
    .option("--json", "print them as JSON")
    .option(...NO_HOST)
    .addHelpText("after", "\nExample:\n  ptc list github\n"),
);

async function list(
  name: string | undefined,
  flags: CommonFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr, env } = surroundings;
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const catalog = (await toolsFor(configuration, surroundings)).callableFor(LOCAL_USER);
  const servers = selectServers(name, catalog);
  if (servers.length === 0 && configuration.servers.some(({ off }) => off === undefined))
    await write(stderr, NOTHING_GENERATED);
  const terminal = terminalOf(stdout, env);
  const { tools: direct } = chooseDirectTools(catalog, configuration);
  const listed = new Map(direct.map((each) => [each.tool.namespacedName, each]));
  const [printer] = await loadPrinters(configuration.languages);
  const off = name === undefined ? configuration.servers.filter((server) => server.off !== undefined) : [];
  const text = flags.json
    ? `${jsonLine([...servers.map((server) => describe(server, printer, listed)), ...off.map(describeOff)])}\n`
    : [
        ...servers.map((server) => renderServer(server, printer, listed, terminal)),
        ...off.map((server) => renderOff(server, terminal)),
      ].join("\n");
  await write(stdout, text);
  return EXIT.done;
}

function selectServers(name: string | undefined, catalog: ToolCatalog): readonly ServerTools[] {
  if (name === undefined) return catalog.servers;
  const server = catalog.server(name);
  if (server === undefined) throw new UsageError(unknownServer(name, catalog));
  return [server];
}

function describe({ name, module, description, tools }: ServerTools, printer: ToolPrinter, direct: Direct) {
  return {
    server: name,
    module,
    description: description ?? null,
    tools: tools.map((tool) => ({
      name: tool.namespacedName,
      function: printer.functionName(tool),
      description: tool.description ?? tool.title ?? null,
      direct: direct.get(tool.namespacedName)?.definition.name ?? null,
    })),
  };
}

function describeOff({ name, module, description, off }: ServerConfiguration) {
  return { server: name, module, description: description ?? null, off, tools: [] };
}

/** The tools that models have without a search, and their approximate cost. */
function renderDirect(direct: readonly DirectTool[], isEach: boolean): string {
  const tokens = direct.reduce((sum, each) => sum + each.tokens, 0);
  return `${isEach ? "all" : direct.length} direct (about ${formatCount(tokens)} tokens)`;
}

function renderOff({ name, off = "" }: ServerConfiguration, terminal: Terminal): string {
  return `${terminal.style("bold", name)}  ${terminal.style("yellow", "off")}: ${oneLine(off)}\n`;
}

function renderServer(
  { name, module, description, tools }: ServerTools,
  printer: ToolPrinter,
  direct: Direct,
  terminal: Terminal,
): string {
  const own = tools.flatMap((tool) => direct.get(tool.namespacedName) ?? []);
  const isEach = own.length === countTools(tools);
  const about = [
    `servers/${module}`,
    renderOffer(tools),
    ...(own.length === 0 ? [] : [renderDirect(own, isEach)]),
    ...(description ? [oneLine(description)] : []),
  ];
  const width = Math.max(0, ...tools.map((tool) => printer.functionName(tool).length));
  const room = terminal.columns === undefined ? undefined : terminal.columns - width - 4;
  const lines = tools.map((tool) => {
    const mark = isEach || !direct.has(tool.namespacedName) ? "" : `${terminal.style("green", "direct")} `;
    const said = mark + oneLine(tool.description ?? tool.title ?? "", room);
    return `  ${terminal.style("cyan", printer.functionName(tool).padEnd(width))}  ${said}`.trimEnd();
  });
  return [`${terminal.style("bold", name)}  ${terminal.style("dim", about.join(", "))}`, ...lines, ""].join(
    "\n",
  );
}

interface InspectFlags extends CommonFlags {
  language?: string;
}

/** `ptc inspect TOOL` */
export const inspectCommand = defineCommand("inspect", inspect, (command) =>
  command
    .description("show a tool's signature and how a program calls it")
    .argument("<tool>", "mcp__<server>__<tool>, or <server>.<tool>, or the tool's name where only one has it")
    .option(...CONFIG)
    .option("--language <name>", "of `languages` in ptc.yaml, instead of the first")
    .option("--json", "print it as JSON, with its schemas")
    .option(...NO_HOST)
    .addHelpText("after", "\nExample:\n  ptc inspect github.list_issues\n"),
);

async function inspect(name: string, flags: InspectFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, env } = surroundings;
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const language = flags.language === undefined ? undefined : languageNamed(flags.language);
  const off = flags.language && whyNotOn(language ?? flags.language, configuration.languages);
  if (off) throw new UsageError(`--language: ${off}`);
  const printer = pickPrinter(await loadPrinters(configuration.languages), language);
  const catalog = (await toolsFor(configuration, surroundings)).callableFor(LOCAL_USER);
  const tool = catalog.find(name);
  if (tool === undefined) throw new UsageError(unknownTool(name, catalog, "`ptc search`"));
  if (flags.json) {
    await write(stdout, `${jsonLine(await describeForPrograms(tool, printer))}\n`);
    return EXIT.done;
  }
  const { style } = terminalOf(stdout, env);
  const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"].filter(
    (hint) => tool.annotations?.[hint] === true,
  );
  const parts = [
    `${style("bold", visibleLine(tool.namespacedName))}${hints.length === 0 ? "" : `  ${style("dim", hints.join(", "))}`}`,
    style("dim", printer.importLine(tool.module)),
    "",
    visibleLines(await printer.signature(tool, "full")),
    ...(tool.outputSchema === undefined && tool.learned === undefined
      ? ["", style("dim", "It declares no output: look at what it returns before relying on its shape.")]
      : []),
  ];
  await write(stdout, `${parts.join("\n")}\n`);
  return EXIT.done;
}

/** The tools for a command, from the background host or from disk. @throws CatalogError */
export async function toolsFor(
  configuration: Configuration,
  { shared, env }: Pick<Surroundings, "shared" | "env">,
): Promise<ProgramTools> {
  shared?.accept(configuration);
  if (shared !== undefined) return shared.host.currentTools();
  return loadProgramTools(configuration, undefined, { ranking: rankingOfCommands(configuration, env) });
}

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 1_000;

interface SearchFlags extends CommonFlags {
  server?: string;
  limit?: string;
}

/** `ptc search QUERY` */
export const searchCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("search")
    .description("find tools by what they do")
    .argument("<query...>", "what you need, in words")
    .option(...CONFIG)
    .option("--server <server>", "only this server")
    .option("--limit <number>", `how many to show (default: ${DEFAULT_LIMIT})`)
    .option("--json", "print what was found as JSON")
    .option(...NO_HOST)
    .addHelpText("after", "\nExample:\n  ptc search create a pull request --server github\n")
    .action(async (words: string[], flags: SearchFlags) => {
      finish(await search(words.join(" "), flags, surroundings));
    });
};

async function search(query: string, flags: SearchFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr, env } = surroundings;
  const limit = flags.limit === undefined ? DEFAULT_LIMIT : parseLimit(flags.limit, MAX_LIMIT);
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const catalog = (await toolsFor(configuration, surroundings)).callableFor(LOCAL_USER);
  const scope = flags.server === undefined ? undefined : catalog.server(flags.server);
  if (flags.server !== undefined && scope === undefined)
    throw new UsageError(unknownServer(flags.server, catalog));
  const { tools, total, fitsPoorly, problem } = await catalog.search(query, { limit, server: scope?.module });

  if (problem !== undefined) await tell(stderr, `warning: found by words alone: ${oneLine(problem)}`);
  if (flags.json) {
    const found = tools.map(({ namespacedName, server, description }) => ({
      name: namespacedName,
      server,
      description: description ?? null,
    }));
    const unsearched = configuration.servers.flatMap(({ name: server, off }) =>
      off ? [{ server, off }] : [],
    );
    await write(stdout, `${jsonLine({ query, total, tools: found, unsearched })}\n`);
    return EXIT.done;
  }
  await write(stdout, renderFound(tools, terminalOf(stdout, env)));
  if (catalog.servers.length === 0) await write(stderr, NOTHING_GENERATED);
  else if (tools.length === 0) await tell(stderr, "nothing matches; try other words");
  else if (fitsPoorly) await tell(stderr, "nothing fits well; these are the nearest");
  else if (total > tools.length)
    await tell(stderr, `the best ${tools.length} of ${total} matches; --limit shows more`);
  for (const warning of describeOffServers(configuration))
    await tell(stderr, `not searched: ${oneLine(warning)}`);
  return EXIT.done;
}

/** Groups tools by server; the server of the best match comes first. */
function renderFound(tools: readonly Tool[], terminal: Terminal): string {
  const groups = new Map<string, Tool[]>();
  for (const tool of tools) groups.set(tool.server, [...(groups.get(tool.server) ?? []), tool]);
  const width = Math.max(0, ...tools.map(({ identifier }) => identifier.length));
  const room = terminal.columns === undefined ? undefined : terminal.columns - width - 4;
  return [...groups]
    .map(([server, found]) => {
      const lines = found.map(({ identifier, description = "" }) =>
        `  ${terminal.style("cyan", identifier.padEnd(width))}  ${oneLine(description, room)}`.trimEnd(),
      );
      return [terminal.style("bold", server), ...lines, ""].join("\n");
    })
    .join("\n");
}
