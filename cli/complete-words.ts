import type { Command, Option } from "commander";
import { oneLine } from "../base/visible-text.ts";
import type { Candidate, WordKind } from "../project/arguments/completed-values.ts";
import type { Surroundings } from "../project/surroundings.ts";
import { EXIT, type ExitCode, warnOn, write } from "./command.ts";

const MAX_CANDIDATES = 500;
const MAX_ABOUT_CHARS = 80;

/** Matches words without special meaning to any shell. Names of servers and tools come from others. */
const HARMLESS = /^[\w.:@/+=-]+$/;

/**
 * `ptc complete-words -- WORD...`: prints the candidates for the last word, one per line, each followed by a tab and a description.
 * Prints nothing if anything fails, because a shell has no place for a message.
 */
export async function printCandidates(program: Command, surroundings: Surroundings): Promise<ExitCode> {
  const [separator, ...rest] = surroundings.argv.slice(3);
  const words = separator === "--" ? rest : [];
  const current = words.at(-1) ?? "";
  const { candidates, value } = completionOf(program, words);
  const values = await valuesOf(value, words, surroundings).catch(() => []);
  const fitting = [...candidates, ...values].filter(
    ({ word }) => word.startsWith(current) && HARMLESS.test(word),
  );
  if ((value.kind === "files" || value.kind === "program") && fitting.length === 0) {
    await write(surroundings.stdout, ":files\n");
    return EXIT.done;
  }
  const lines = fitting
    .slice(0, MAX_CANDIDATES)
    .map(({ word, about }) => `${word}\t${oneLine(about ?? "", MAX_ABOUT_CHARS)}\n`);
  await write(surroundings.stdout, lines.join(""));
  return EXIT.done;
}

/** The code that finds tools and runs is loaded where a word can be one. */
async function valuesOf(
  value: WordKind,
  words: readonly string[],
  surroundings: Surroundings,
): Promise<Candidate[]> {
  if (value.kind === "words") return value.words.map((word) => ({ word }));
  if (value.kind === "files" || value.kind === "none") return [];
  const { findValues } = await import("../project/arguments/completed-values.ts");
  const { env, cwd, stderr } = surroundings;
  return findValues(value, words, { env, cwd: cwd(), onWarning: warnOn(stderr) });
}

const WORDS = (...words: string[]): WordKind => ({ kind: "words", words });
const KIND = (kind: "files" | "servers" | "tools" | "runs" | "programs" | "none"): WordKind => ({ kind });

/** The kinds of options' values, by option. */
const OPTION_VALUES: Readonly<Record<string, WordKind>> = {
  "--config": KIND("files"),
  "--code": KIND("files"),
  "--html": KIND("files"),
  "--import": KIND("files"),
  "--out": KIND("files"),
  "--emit-to": KIND("files"),
  "--server": KIND("servers"),
  "--tool": KIND("tools"),
  "--approve": KIND("tools"),
  "--run": KIND("runs"),
  "--digest": KIND("runs"),
  "--client-session": WORDS("current"),
  "--status": WORDS("ok", "failed"),
  "--language": WORDS("typescript", "javascript", "python"),
  "--typecheck": WORDS("error", "warn", "off"),
  "--since": WORDS("1h", "24h", "7d"),
  "--scope": WORDS("project", "user", "local"),
  "--transport": WORDS("stdio", "http", "sse"),
};

/** The kinds of commands' arguments, by command. The last kind applies to all further arguments. */
const ARGUMENTS: Readonly<Record<string, readonly WordKind[]>> = {
  run: [{ kind: "program" }, KIND("none")],
  test: [KIND("programs")],
  list: [KIND("servers")],
  generate: [KIND("servers")],
  inspect: [KIND("tools")],
  call: [{ kind: "called-tool" }, { kind: "tool-arguments", tool: "" }],
  replay: [KIND("runs")],
  install: [WORDS("claude", "cursor", "vscode", "codex", "gemini")],
  completion: [WORDS("bash", "zsh", "fish")],
  "runs show": [KIND("runs")],
  "runs export": [KIND("runs")],
  "runs prune": [KIND("runs")],
  "runs import": [KIND("files")],
  "policy explain": [KIND("runs"), KIND("none")],
  "policy test": [KIND("files")],
  "audit verify": [KIND("files")],
  "auth login": [KIND("servers")],
  "auth logout": [KIND("servers")],
  save: [KIND("runs")],
};

/** The possible last words of a command line: words of the program, and the kind of any other word. */
interface Completion {
  candidates: Candidate[];
  value: WordKind;
}

/**
 * The possible last words, as far as the program itself knows.
 *
 * @param program the program with all commands.
 * @param words the words after `ptc` up to the cursor. The last may be empty.
 */
function completionOf(program: Command, words: readonly string[]): Completion {
  const current = words.at(-1) ?? "";
  let command = program;
  let path = "";
  const given: string[] = [];
  let pending: Option | undefined;
  let isOver = false;
  for (const word of words.slice(0, -1)) {
    if (pending !== undefined) pending = undefined;
    else if (!isOver && word === "--") isOver = true;
    else if (!isOver && word.startsWith("-")) {
      const option = command.options.find(({ short, long }) => word === short || word === long);
      if (option?.required || option?.optional) pending = option;
    } else {
      const inner = given.length === 0 ? command.commands.find((each) => each.name() === word) : undefined;
      if (inner === undefined) given.push(word);
      else {
        command = inner;
        path = path === "" ? word : `${path} ${word}`;
      }
    }
  }
  if (pending !== undefined) {
    const value = OPTION_VALUES[pending.long ?? ""];
    if (value !== undefined || pending.required) return { candidates: [], value: value ?? KIND("none") };
  }
  if (!isOver && current.startsWith("-")) return { candidates: optionsOf(command), value: KIND("none") };
  const inner = given.length === 0 ? commandsOf(command) : [];
  const kinds = ARGUMENTS[path] ?? [];
  const kind = kinds[given.length] ?? kinds.at(-1) ?? KIND("none");
  const value: WordKind = kind.kind === "tool-arguments" ? { ...kind, tool: given[0] ?? "" } : kind;
  return { candidates: inner, value };
}

function commandsOf(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((each) => ({ word: each.name(), about: each.description() }));
}

function optionsOf(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description }) => (long ? [{ word: long, about: description }] : []))
    .filter((each, index, all) => all.findIndex(({ word }) => word === each.word) === index);
}
