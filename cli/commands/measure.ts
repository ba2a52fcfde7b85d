import { jsonLine } from "../../base/json.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { loadPrinters } from "../../languages/languages.ts";
import { countTokensOf, type TokenCounts } from "../../server/mcp/token-counts.ts";
import { chooseDirectTools } from "../../tools/direct/direct-tools.ts";
import { loadProgramTools } from "../../tools/program-tools.ts";
import type { DefineCommand } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { LOCAL_USER } from "../local-user.ts";
import { type Surroundings, write } from "../surroundings.ts";
import { terminalOf } from "../terminal/terminal.ts";
import { NOTHING_GENERATED } from "./list.ts";

/** `ptc measure` */
export const measureCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("measure")
    .description(
      "count the tokens of all tool definitions up front, against ptc's own and a session on demand",
    )
    .option("--config <file>", "configuration file")
    .option("--json", "print the counts as JSON")
    .addHelpText("after", "\nExample:\n  ptc measure --json | jq .upFront.total\n")
    .action(async (flags: { config?: string; json?: boolean }) => {
      finish(await measure(flags, surroundings));
    });
};

async function measure(
  flags: { config?: string; json?: boolean },
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr, env } = surroundings;
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const catalog = (await loadProgramTools(configuration)).callableFor(LOCAL_USER);
  if (catalog.servers.length === 0) await write(stderr, NOTHING_GENERATED);
  const measured = await countTokensOf(
    catalog,
    await loadPrinters(configuration.languages),
    chooseDirectTools(catalog, configuration).tools,
  );
  const text = flags.json ? jsonLine(measured) : renderTokenCounts(measured, terminalOf(stdout, env).style);
  await write(stdout, `${text}\n`);
  return EXIT.done;
}

const ALL_DIRECT = `All definitions cost little here, so a model has every tool as it would without ptc, for single calls, and execute_program for more.
What that saves are results that never reach the model (docs/savings.md) and turns, and no definitions: with \`discovery: search\`, only
ptc's own are read up front.`;

interface Row {
  name: string;
  tokens: string;
  note: string;
  /** The sum of the rows before it. */
  isTotal: boolean;
}

const BLANK: Row = { name: "", tokens: "", note: "", isTotal: false };

function part(name: string, tokens: number, note = ""): Row {
  return { name: `  ${name}`, tokens: String(tokens), note, isTotal: false };
}

function total(name: string, tokens: number, note: string): Row {
  return { name, tokens: String(tokens), note, isTotal: true };
}

/** The counts as a table, and what they mean where tools are listed directly: then ptc's own come on top, for programs. */
export function renderTokenCounts(
  { upFront, ptc, direct, session, beforeFirstProgram }: TokenCounts,
  style: (style: "bold" | "dim", text: string) => string,
): string {
  const own = [part("tool definitions", ptc.definitions), part("instructions", ptc.instructions)];
  const rows: Row[] = [
    ...upFront.servers.map(({ server, tools, tokens }) => part(server, tokens, `${tools} tools`)),
    total("all definitions up front", upFront.total, ""),
    BLANK,
    ...own,
    total("ptc", ptc.total, direct.isAll ? "once in a conversation" : share(ptc.total, upFront.total)),
    ...(direct.tools === 0
      ? []
      : [part("direct tools", direct.total, `${direct.tools} tools, see \`discovery\``)]),
  ];
  if (direct.isAll) {
    const sum = ptc.total + direct.total;
    rows.push(BLANK, total("ptc with all tools beside it", sum, "nothing has to be looked for"));
  } else
    rows.push(
      BLANK,
      part("one search_tools", session.search, "5 signatures"),
      total("before the first program", beforeFirstProgram, share(beforeFirstProgram, upFront.total)),
      part(`${session.inspected.length} inspect_tool`, session.inspect, "tools of median size"),
      total("ptc, and a session on demand", session.total, share(session.total, upFront.total)),
    );
  const width = Math.max(...rows.map(({ name }) => name.length));
  const digits = Math.max(...rows.map(({ tokens }) => tokens.length));
  const lines = rows.map(({ name, tokens, note, isTotal }) => {
    const line = `${name.padEnd(width)}  ${tokens.padStart(digits)}`;
    return `${isTotal ? style("bold", line) : line}${note === "" ? "" : `  ${style("dim", note)}`}`.trimEnd();
  });
  return ["tokens (o200k)", ...lines, ...(direct.isAll ? ["", ALL_DIRECT] : [])].join("\n");
}

function share(part: number, whole: number): string {
  return whole === 0 ? "" : `${((100 * part) / whole).toFixed(1)} % of that`;
}
