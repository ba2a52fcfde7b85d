import { jsonLine } from "../../base/json.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { Tool } from "../../catalog/tool.ts";
import { unknownServer } from "../../catalog/tool-catalog.ts";
import { describeOffServers } from "../../configuration/configured-servers.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { NO_HOST } from "../background/no-host.ts";
import { toolsFor } from "../background/tools-for.ts";
import type { DefineCommand } from "../command.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { LOCAL_USER } from "../local-user.ts";
import { type Surroundings, write } from "../surroundings.ts";
import { type Terminal, terminalOf } from "../terminal/terminal.ts";
import { NOTHING_GENERATED } from "./list.ts";

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 1_000;

interface SearchFlags {
  config?: string;
  server?: string;
  limit?: string;
  json?: boolean;
}

/** `ptc search QUERY` */
export const searchCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("search")
    .description("find tools by what they do")
    .argument("<query...>", "what you need, in words")
    .option("--config <file>", "configuration file")
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
  const limit = parseLimit(flags.limit);
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const catalog = (await toolsFor(configuration, surroundings)).callableFor(LOCAL_USER);
  const scope = flags.server === undefined ? undefined : catalog.server(flags.server);
  if (flags.server !== undefined && scope === undefined)
    throw new UsageError(unknownServer(flags.server, catalog));
  const { tools, total, fitsPoorly, problem } = await catalog.search(query, { limit, server: scope?.module });

  if (problem !== undefined) await write(stderr, `ptc: warning: found by words alone: ${oneLine(problem)}\n`);
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
  await write(stdout, render(tools, terminalOf(stdout, env)));
  if (catalog.servers.length === 0) await write(stderr, NOTHING_GENERATED);
  else if (tools.length === 0) await write(stderr, "ptc: nothing matches; try other words\n");
  else if (fitsPoorly) await write(stderr, "ptc: nothing fits well; these are the nearest\n");
  else if (total > tools.length)
    await write(stderr, `ptc: the best ${tools.length} of ${total} matches; --limit shows more\n`);
  for (const warning of describeOffServers(configuration))
    await write(stderr, `ptc: not searched: ${oneLine(warning)}\n`);
  return EXIT.done;
}

/** Groups tools by server; the server of the best match comes first. */
function render(tools: readonly Tool[], terminal: Terminal): string {
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

function parseLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new UsageError(`--limit: '${text}' is not a whole number from 1 to ${MAX_LIMIT}`);
}
