import { jsonLine } from "../../base/json.ts";
import { measureProject, type TokenCounts } from "../../project/measure.ts";
import type { Project } from "../../project/open-project.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import { terminalOf } from "../../project/terminal/terminal.ts";
import { CONFIG, type CommonFlags, EXIT, type ExitCode, write } from "../command.ts";
import { defineProjectCommand } from "../project-command.ts";
import { NOTHING_GENERATED } from "./tools.ts";

/** `ptc measure` */
export const measureCommand = defineProjectCommand("measure", measure, (command) =>
  command
    .description(
      "count the tokens of all tool definitions up front, of ptc's own, and of a session that loads them on demand",
    )
    .option(...CONFIG)
    .option("--json", "print the counts as JSON")
    .addHelpText("after", "\nExample:\n  ptc measure --json | jq .upFront.total\n"),
);

async function measure(
  project: Project,
  flags: CommonFlags,
  { stdout, stderr, env }: Surroundings,
): Promise<ExitCode> {
  const measured = await measureProject(project);
  if (measured.upFront.servers.length === 0) await write(stderr, NOTHING_GENERATED);
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

/** The counts as a table. If all tools are listed directly, a text explains what the counts mean. */
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
