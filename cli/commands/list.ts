import { jsonLine } from "../../base/json.ts";
import { formatCount } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import { countTools, renderOffer } from "../../catalog/parse-tool.ts";
import type { ServerTools } from "../../catalog/tool.ts";
import { type ToolCatalog, unknownServer } from "../../catalog/tool-catalog.ts";
import type { ToolPrinter } from "../../codegen/language-printer.ts";
import type { ServerConfiguration } from "../../configuration/configuration.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { loadPrinters } from "../../languages/languages.ts";
import { chooseDirectTools, type DirectTool } from "../../tools/direct/direct-tools.ts";
import { NO_HOST } from "../background/no-host.ts";
import { toolsFor } from "../background/tools-for.ts";
import type { DefineCommand } from "../command.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { LOCAL_USER } from "../local-user.ts";
import { type Surroundings, write } from "../surroundings.ts";
import { type Terminal, terminalOf } from "../terminal/terminal.ts";

/** The tools that `ptc serve` lists, by namespaced name. */
type Direct = ReadonlyMap<string, DirectTool>;

/** Printed instead of tools when none are known. */
export const NOTHING_GENERATED = "ptc: no tools are known yet; run `ptc generate`\n";

interface ListFlags {
  config?: string;
  json?: boolean;
}

/** `ptc list [SERVER]` */
export const listCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("list")
    .description("show the tools that programs can call, by server")
    .argument("[server]", "only this server")
    .option("--config <file>", "configuration file")
    .option("--json", "print them as JSON")
    .option(...NO_HOST)
    .addHelpText("after", "\nExample:\n  ptc list github\n")
    .action(async (server: string | undefined, flags: ListFlags) => {
      finish(await list(server, flags, surroundings));
    });
};

async function list(
  name: string | undefined,
  flags: ListFlags,
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
        ...servers.map((server) => render(server, printer, listed, terminal)),
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

/** What models have without a search, and about what it costs them. */
function renderDirect(direct: readonly DirectTool[], isEach: boolean): string {
  const tokens = direct.reduce((sum, each) => sum + each.tokens, 0);
  return `${isEach ? "all" : direct.length} direct (about ${formatCount(tokens)} tokens)`;
}

function renderOff({ name, off = "" }: ServerConfiguration, terminal: Terminal): string {
  return `${terminal.style("bold", name)}  ${terminal.style("yellow", "off")}: ${oneLine(off)}\n`;
}

function render(
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
