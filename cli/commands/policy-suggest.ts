import { jsonLine } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import { visibleLine, visibleLines } from "../../base/visible-text.ts";
import { suggestPolicy } from "../../project/policy.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import { CONFIG, type CommonFlags, defineCommand, EXIT, type ExitCode, write } from "../command.ts";
import { parseMoment, tellDamaged, withArchive } from "./archived-runs.ts";

const MAX_NAMED = 5;

type Suggestions = Awaited<ReturnType<typeof suggestPolicy>>;
type Suggestion = Suggestions["suggestions"][number];

/** `ptc policy suggest` */
export const defineSuggest = defineCommand("suggest", suggest, (command) =>
  command
    .description(
      "suggest entries that save questions about what was approved again and again; writes nothing",
    )
    .option(...CONFIG)
    .option("--since <when>", "from runs that started then or later: 24h, 30d, 2026-11-01 (UTC)", "30d")
    .option("--json", "print the suggestions as JSON")
    .addHelpText("after", "\nExample:\n  ptc policy suggest --since 30d\n"),
);

async function suggest(
  flags: CommonFlags & { since: string },
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout } = surroundings;
  const sinceMs = parseMoment("--since", flags.since, Date.now());
  return withArchive(flags, surroundings, async (archive, configuration) => {
    if (archive === undefined) return EXIT.usage;
    const damaged: Parameters<typeof tellDamaged>[0][number][] = [];
    const found = await suggestPolicy(archive, configuration, { sinceMs }, (run) => damaged.push(run));
    await write(stdout, flags.json === true ? `${jsonLine(found)}\n` : `${render(found).join("\n")}\n`);
    await tellDamaged(damaged, surroundings);
    return EXIT.done;
  });
}

function render({ suggestions, without, runs, questions }: Suggestions): string[] {
  const of = `${countNoun(questions, "question")} in ${countNoun(runs, "run")}`;
  if (suggestions.length === 0 && without.length === 0)
    return [`Nothing was approved again and again: ${of}. Nothing is suggested.`];
  return [
    ...suggestions.flatMap(renderSuggestion),
    ...without.map(({ tool, why }) => `${visibleLine(tool)} stays as it is: ${visibleLine(why)}.`),
    `Looked at ${of}. Nothing was written: put what you want into ptc.yaml and its rules, and try it with \`ptc policy test\`.`,
  ];
}

function renderSuggestion({ tool, where, free, entries, saves, runs, also }: Suggestion): string[] {
  const what = where.map(({ path, pattern }) => `${path} ${pattern}`).join(", ");
  const named = runs.slice(0, MAX_NAMED).map((run) => run.slice(0, 8));
  const others = also.slice(0, MAX_NAMED).map(({ runId, call }) => `call ${call} of ${runId.slice(0, 8)}`);
  return [
    `${visibleLine(tool)} with ${visibleLine(what)}: ${countNoun(saves, "question")} less`,
    `  approved in ${countNoun(runs.length, "run")}: ${named.join(", ")}${runs.length > MAX_NAMED ? ", …" : ""}`,
    also.length === 0
      ? "  nothing else of the archive would have passed"
      : `  ${countNoun(also.length, "call")} that nobody has approved would have passed too: ${others.join(", ")}${also.length > MAX_NAMED ? ", …" : ""}`,
    ...(free.length === 0 ? [] : [`  passes with any ${visibleLine(free.join(", "))}`]),
    ...indent(entries.yaml),
    ...indent(entries.cedar),
    "",
  ];
}

function indent(text: string): string[] {
  return visibleLines(text)
    .split("\n")
    .map((line) => (line === "" ? "" : `    ${line}`));
}
