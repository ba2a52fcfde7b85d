import type { Command, Option } from "commander";

/** A word that may stand where the cursor is, and what it is. */
export interface Candidate {
  word: string;
  about?: string | undefined;
}

/** What words of the command line stand for. */
export type WordKind =
  | { kind: "words"; words: readonly string[] }
  | { kind: "files" | "servers" | "tools" | "runs" | "programs" | "none" }
  /** A saved program, or the file of one. */
  | { kind: "program" }
  /** A tool to call, and then its arguments, by the tool's name. */
  | { kind: "called-tool" }
  | { kind: "tool-arguments"; tool: string };

const WORDS = (...words: string[]): WordKind => ({ kind: "words", words });
const KIND = (kind: "files" | "servers" | "tools" | "runs" | "programs" | "none"): WordKind => ({ kind });

/** What the values of options are, by the option; with the command before it where commands differ. */
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

/** What the arguments of commands are, by the command; the last stands for all that come after it. */
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

/** What may stand at the end of a command line: words of the program, and what else the last word may be. */
export interface Completion {
  candidates: Candidate[];
  value: WordKind;
}

/**
 * What the last of the words may be, as far as the program itself knows.
 *
 * @param program with all of its commands.
 * @param words those after `ptc` up to the cursor. The last may be empty.
 */
export function completionOf(program: Command, words: readonly string[]): Completion {
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
