import { jsonLine } from "../../base/json.ts";
import { formatCount } from "../../base/quantities.ts";
import { oneLine, visibleLine, visibleLines } from "../../base/visible-text.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import { type Terminal, terminalOf } from "../../project/terminal/terminal.ts";
import { type FoundTools, type ListedServer, type OffServer, ShownTools } from "../../project/tools.ts";
import {
  CONFIG,
  type CommonFlags,
  type DefineCommand,
  defineCommand,
  EXIT,
  type ExitCode,
  NO_HOST,
  parseLimit,
  tell,
  write,
} from "../command.ts";

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
  const tools = await openTools(flags, surroundings);
  const servers = await tools.list(name);
  if (servers.length === 0 && tools.isConfigured) await write(stderr, NOTHING_GENERATED);
  const terminal = terminalOf(stdout, env);
  const off = name === undefined ? tools.off : [];
  const text = flags.json
    ? `${jsonLine([...servers.map(describe), ...off.map(describeOff)])}\n`
    : [
        ...servers.map((server) => renderServer(server, terminal)),
        ...off.map((server) => renderOff(server, terminal)),
      ].join("\n");
  await write(stdout, text);
  return EXIT.done;
}

/** The tools of a command, from the background host that runs it or from disk. */
function openTools({ config }: CommonFlags, { env, cwd, shared }: Surroundings): Promise<ShownTools> {
  return ShownTools.open({ flag: config, env, cwd: cwd() }, shared);
}

function describe({ name, module, description, tools }: ListedServer) {
  return {
    server: name,
    module,
    description: description ?? null,
    tools: tools.map((tool) => ({
      name: tool.name,
      function: tool.functionName,
      description: tool.description ?? null,
      direct: tool.direct ?? null,
    })),
  };
}

function describeOff({ name, module, description, off }: OffServer) {
  return { server: name, module, description: description ?? null, off, tools: [] };
}

function renderOff({ name, off }: OffServer, terminal: Terminal): string {
  return `${terminal.style("bold", name)}  ${terminal.style("yellow", "off")}: ${oneLine(off)}\n`;
}

function renderServer(
  { name, module, description, offer, direct, tools }: ListedServer,
  terminal: Terminal,
): string {
  const about = [
    `servers/${module}`,
    offer,
    ...(direct.tools === 0
      ? []
      : [`${direct.isEach ? "all" : direct.tools} direct (about ${formatCount(direct.tokens)} tokens)`]),
    ...(description ? [oneLine(description)] : []),
  ];
  const width = Math.max(0, ...tools.map(({ functionName }) => functionName.length));
  const room = terminal.columns === undefined ? undefined : terminal.columns - width - 4;
  const lines = tools.map((tool) => {
    const mark = direct.isEach || tool.direct === undefined ? "" : `${terminal.style("green", "direct")} `;
    const said = mark + oneLine(tool.description ?? "", room);
    return `  ${terminal.style("cyan", tool.functionName.padEnd(width))}  ${said}`.trimEnd();
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
  const tool = await (await openTools(flags, surroundings)).inspect(name, flags.language);
  if (flags.json) {
    await write(stdout, `${jsonLine(await tool.described())}\n`);
    return EXIT.done;
  }
  const { style } = terminalOf(stdout, env);
  const hints = tool.hints.length === 0 ? "" : `  ${style("dim", tool.hints.join(", "))}`;
  const parts = [
    `${style("bold", visibleLine(tool.name))}${hints}`,
    style("dim", tool.importLine),
    "",
    visibleLines(tool.signature),
    ...(tool.isUnknownResult
      ? ["", style("dim", "It declares no output: look at what it returns before relying on its shape.")]
      : []),
  ];
  await write(stdout, `${parts.join("\n")}\n`);
  return EXIT.done;
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
  const opened = await openTools(flags, surroundings);
  const { tools, total, fitsPoorly, problem, isEmpty, unsearched } = await opened.search(query, {
    server: flags.server,
    limit,
  });
  if (problem !== undefined) await tell(stderr, `warning: found by words alone: ${oneLine(problem)}`);
  if (flags.json) {
    const found = tools.map(({ name, server, description }) => ({
      name,
      server,
      description: description ?? null,
    }));
    const left = opened.off.map(({ name: server, off }) => ({ server, off }));
    await write(stdout, `${jsonLine({ query, total, tools: found, unsearched: left })}\n`);
    return EXIT.done;
  }
  await write(stdout, renderFound(tools, terminalOf(stdout, env)));
  if (isEmpty) await write(stderr, NOTHING_GENERATED);
  else if (tools.length === 0) await tell(stderr, "nothing matches; try other words");
  else if (fitsPoorly) await tell(stderr, "nothing fits well; these are the nearest");
  else if (total > tools.length)
    await tell(stderr, `the best ${tools.length} of ${total} matches; --limit shows more`);
  for (const warning of unsearched) await tell(stderr, `not searched: ${oneLine(warning)}`);
  return EXIT.done;
}

/** Groups tools by server; the server of the best match comes first. */
function renderFound(tools: FoundTools["tools"], terminal: Terminal): string {
  const groups = new Map<string, FoundTools["tools"][number][]>();
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
