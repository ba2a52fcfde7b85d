import { readdir } from "node:fs/promises";
import type { Command, Option } from "commander";
import { oneLine } from "../../base/visible-text.ts";
import { toolParameters } from "../../catalog/arguments.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { readPrograms } from "../../programs/program-folder.ts";
import { LOCAL_USER } from "../../project/local-user.ts";
import { openRuns } from "../../storage/storage.ts";
import { loadProgramTools } from "../../tools/program-tools.ts";
import { type DefineCommand, EXIT, type ExitCode, type Surroundings, UsageError, write } from "../command.ts";
import { shortRunId } from "../run-report/list-text.ts";

/**
 * The scripts that shells load to complete the words of `ptc`. They pass the words to `ptc complete-words`, which prints one candidate
 * per line, followed by a tab and a description. It prints only `:files` if the shell should complete files itself.
 */
const BASH = `_ptc() {
  local IFS=$'\\n' line out
  COMPREPLY=()
  out=$(ptc complete-words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null) || return 0
  if [ "$out" = ":files" ]; then
    type compopt >/dev/null 2>&1 && compopt -o default 2>/dev/null
    return 0
  fi
  for line in $out; do COMPREPLY+=("\${line%%$'\\t'*}"); done
  case "\${COMPREPLY[0]}" in
    *[=.]) type compopt >/dev/null 2>&1 && compopt -o nospace 2>/dev/null ;;
  esac
  return 0
}
complete -F _ptc ptc
`;

const ZSH = `#compdef ptc
_ptc() {
  local -a lines plain open
  local line name
  lines=("\${(@f)$(ptc complete-words -- "\${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)}")
  if [[ "\${lines[1]}" == ":files" ]]; then
    _files
    return
  fi
  for line in $lines; do
    name=\${line%%$'\\t'*}
    if [[ $name == *[=.] ]]; then
      open+=("\${name//:/\\\\:}:\${line#*$'\\t'}")
    else
      plain+=("\${name//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done
  (( \${#open} )) && _describe -t ptc ptc open -S ''
  (( \${#plain} )) && _describe -t ptc ptc plain
  return 0
}
if [ "\${funcstack[1]}" = "_ptc" ]; then _ptc "$@"; else compdef _ptc ptc; fi
`;

const FISH = `function __ptc_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    set -l lines (ptc complete-words -- $words "$current" 2>/dev/null </dev/null)
    if test "$lines[1]" = ":files"
        __fish_complete_path "$current"
    else if test (count $lines) -gt 0
        printf '%s\\n' $lines
    end
end
complete -c ptc -e
complete -c ptc -f -a '(__ptc_complete)'
`;

/** By the shell's name. */
export const COMPLETION_SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

const SHELLS = Object.keys(COMPLETION_SCRIPTS).join(", ");

/** `ptc completion SHELL` */
export const completionCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("completion")
    .description("print the script that makes a shell complete commands, options, tools, servers and runs")
    .argument("<shell>", SHELLS)
    .addHelpText(
      "after",
      '\nIn ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish:\n  eval "$(ptc completion bash)"\n  eval "$(ptc completion zsh)"\n  ptc completion fish | source\n\nExample:\n  eval "$(ptc completion bash)"\n',
    )
    .action(async (shell: string) => {
      const script = Object.hasOwn(COMPLETION_SCRIPTS, shell) ? COMPLETION_SCRIPTS[shell] : undefined;
      if (script === undefined)
        throw new UsageError(`'${shell.slice(0, 40)}' is not one of ${SHELLS}; those are completed`);
      await write(surroundings.stdout, script);
      finish(EXIT.done);
    });
};

const MAX_RUNS = 50;
const MAX_CANDIDATES = 500;
const MAX_ABOUT_CHARS = 80;
/** How many characters of a digest name an input. */
const DIGEST_CHARS = 12;

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

async function valuesOf(
  value: WordKind,
  words: readonly string[],
  surroundings: Surroundings,
): Promise<Candidate[]> {
  switch (value.kind) {
    case "words":
      return value.words.map((word) => ({ word }));
    case "servers":
      return (await configurationOf(words, surroundings)).servers.map(({ name, description }) => ({
        word: name,
        about: description,
      }));
    case "tools":
      return toolsOf(await catalogOf(words, surroundings)).map((tool) => ({
        word: tool.namespacedName,
        about: tool.description ?? tool.title,
      }));
    case "called-tool":
      return toolsOf(await catalogOf(words, surroundings)).map((tool) => ({
        word: `${tool.server}.${tool.name}`,
        about: tool.description ?? tool.title,
      }));
    case "tool-arguments": {
      const tool = (await catalogOf(words, surroundings)).find(value.tool);
      const given = new Set(words.slice(0, -1).map((word) => word.replace(/=.*$/s, "")));
      return (tool === undefined ? [] : toolParameters(tool.inputSchema).parameters)
        .filter(({ name }) => !given.has(name))
        .map(({ name, description }) => ({ word: `${name}=`, about: description }));
    }
    case "programs":
      return savedPrograms(words, surroundings);
    case "program": {
      const saved = await savedPrograms(words, surroundings);
      // If nothing is saved, the shell completes files itself, which it does better.
      return saved.length === 0 ? [] : [...saved, ...(await programFiles(surroundings))];
    }
    case "runs":
      return runsOf(words, surroundings);
    default:
      return [];
  }
}

async function savedPrograms(words: readonly string[], surroundings: Surroundings): Promise<Candidate[]> {
  const { programs } = readPrograms(await configurationOf(words, surroundings));
  return programs.map(({ name, manifest }) => ({ word: name, about: manifest.description }));
}

/** The files in this folder that may be programs. */
async function programFiles({ cwd }: Surroundings): Promise<Candidate[]> {
  const files = await readdir(cwd());
  return files.filter((file) => /\.(?:m?[jt]s|py)$/.test(file)).map((word) => ({ word }));
}

function toolsOf(catalog: ToolCatalog) {
  return catalog.servers.flatMap(({ tools }) => tools);
}

/** The newest runs by their ids, and by their inputs' digests if a digest has been typed in part. */
async function runsOf(words: readonly string[], surroundings: Surroundings): Promise<Candidate[]> {
  const current = words.at(-1) ?? "";
  const archive = openRuns(await configurationOf(words, surroundings), surroundings.env);
  try {
    if (!(await archive.exists())) return [];
    const { runs } = await archive.list({ limit: MAX_RUNS });
    return runs.flatMap(({ run_id: runId, input_digest: input, status, title, file_name: file }) => {
      const about = `${status}: ${title === "" ? file : title}`;
      const digest = input.replace(/^sha256:/, "").slice(0, DIGEST_CHARS);
      const byInput = current !== "" && digest.startsWith(current) ? [{ word: digest, about }] : [];
      return [{ word: shortRunId(runId), about }, ...byInput];
    });
  } finally {
    await archive.close();
  }
}

/** Loads the configuration that the command line names. */
function configurationOf(words: readonly string[], { env, cwd }: Surroundings) {
  const at = words.lastIndexOf("--config", words.length - 3);
  const flag = at >= 0 ? words[at + 1] : words.findLast((word) => word.startsWith("--config="))?.slice(9);
  return loadConfiguration({ flag, env, cwd: cwd() });
}

async function catalogOf(words: readonly string[], surroundings: Surroundings): Promise<ToolCatalog> {
  const tools = await loadProgramTools(await configurationOf(words, surroundings));
  return tools.callableFor(LOCAL_USER);
}

/** A possible word at the cursor, with a description. */
interface Candidate {
  word: string;
  about?: string | undefined;
}

/** What a word of the command line stands for. */
type WordKind =
  | { kind: "words"; words: readonly string[] }
  | { kind: "files" | "servers" | "tools" | "runs" | "programs" | "none" }
  /** A saved program, or the file of one. */
  | { kind: "program" }
  /** A tool to call, and then its arguments, by the tool's name. */
  | { kind: "called-tool" }
  | { kind: "tool-arguments"; tool: string };

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
