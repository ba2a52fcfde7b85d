import { jsonLine, writeJson } from "../../base/json.ts";
import { oneLine, visibleLine, visibleLines } from "../../base/visible-text.ts";
import { type HowCalled, readCallArguments, renderCallHelp } from "../../project/arguments/call-arguments.ts";
import { Caller, type MadeCall } from "../../project/caller.ts";
import type { Project } from "../../project/open-project.ts";
import { SIGNALS, type Surroundings } from "../../project/surroundings.ts";
import { buildApprover, refusePatterns } from "../../project/terminal/approver.ts";
import { ProgramConsole } from "../../project/terminal/program-console.ts";
import { terminalOf } from "../../project/terminal/terminal.ts";
import {
  CONFIG,
  collect,
  type DefineCommand,
  EXIT,
  type ExitCode,
  tell,
  UsageError,
  write,
} from "../command.ts";
import { inProject } from "../project-command.ts";

interface CallFlags {
  config?: string;
  json?: string;
  approve: string[];
  envelope?: boolean;
  help?: boolean;
}

/** `ptc call SERVER.TOOL key=value ...` */
export const callCommand: DefineCommand = (program, surroundings, finish) => {
  const command = program
    .command("call")
    .description("call one tool, without a sandbox; stdout is what it answers")
    .argument("[tool]", "<server>.<tool>, mcp__<server>__<tool>, or the tool's name where only one has it")
    .argument(
      "[arguments...]",
      "key=value, read by the tool's schema; key=@FILE for what is in a file; @FILE for all arguments; @- is stdin",
    )
    .helpOption(false)
    .option(...CONFIG)
    .option("--json <json>", "all arguments as a JSON object, or @FILE")
    .option(
      "--approve <pattern>",
      "approve the call if its tool matches (repeatable; * is a wildcard)",
      collect,
      [],
    )
    .option("--envelope", "print the envelope of the run, as `ptc run` does")
    .option("-h, --help", "show what this command takes; after a tool, what the tool takes")
    .addHelpText(
      "after",
      "\nExamples:\n  ptc call github.list_issues --help\n  ptc call github.list_issues owner=ada labels='[\"bug\"]' limit=5\n",
    );
  command.action(async (tool: string | undefined, words: string[], flags: CallFlags) => {
    if (tool === undefined && flags.help !== true)
      throw new UsageError("name a tool: ptc call SERVER.TOOL; `ptc list` has them all");
    if (tool === undefined) command.outputHelp();
    else
      finish(
        await inProject(flags, surroundings, (project) => call(project, tool, words, flags, surroundings)),
      );
  });
};

async function call(
  project: Project,
  name: string,
  words: readonly string[],
  flags: CallFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { env, stdout } = surroundings;
  const { configuration } = project;
  refusePatterns(flags.approve, configuration);
  const caller = await Caller.open(project);
  const tool = caller.find(name);
  if (flags.help === true) {
    await write(stdout, renderCallHelp(tool, terminalOf(stdout, env), byTool(tool)));
    return EXIT.done;
  }
  const args = await readCallArguments(
    { words, json: flags.json },
    { name: visibleLine(tool.namespacedName), inputSchema: tool.inputSchema },
    surroundings,
  );
  const console = new ProgramConsole(surroundings, configuration.execution.maxStderrBytes);
  const onWarning = (message: string) => console.tell(`ptc: warning: ${oneLine(message)}`);
  for (const held of configuration.held) onWarning(held);
  const cancel = new AbortController();
  for (const signal of SIGNALS) surroundings.on(signal, () => cancel.abort());
  project.tellWarnings(onWarning);
  const made = await caller.call({
    tool: tool.namespacedName,
    arguments: args,
    approver: buildApprover(flags.approve, {
      console,
      surroundings,
      asker: "you want to call",
      require: configuration.approvals.require,
      onInterrupt: () => cancel.abort(),
    }),
    signal: cancel.signal,
    onWarning,
  });
  const code = await report(made, flags, surroundings);
  await made.finish();
  return code;
}

async function report(
  { envelope, answer, failure }: MadeCall,
  flags: CallFlags,
  { stdout, stderr, env }: Surroundings,
): Promise<ExitCode> {
  if (flags.envelope === true) await write(stdout, `${envelope}\n`);
  else if (answer !== undefined) await write(stdout, renderAnswer(answer.data, stdout.isTTY === true));
  if (failure === undefined) return EXIT.done;
  const { style } = terminalOf(stderr, env);
  await tell(stderr, style("red", oneLine(failure.message)));
  return failure.isInvalid ? EXIT.usage : EXIT.failed;
}

/** Text as it is, anything else as JSON: on one line in a pipe, indented on a terminal. No text moves the terminal's cursor. */
function renderAnswer(data: unknown, isTerminal: boolean): string {
  if (typeof data === "string") {
    const text = isTerminal ? visibleLines(data) : data;
    return text === "" || text.endsWith("\n") ? text : `${text}\n`;
  }
  return isTerminal ? `${visibleLines(writeJson(data, 2) ?? "null")}\n` : `${jsonLine(data)}\n`;
}

function byTool({ namespacedName, server, name }: ReturnType<Caller["find"]>): HowCalled {
  const called = `${server}.${name}`;
  return {
    title: visibleLine(namespacedName),
    nameOf: (parameter) => `${visibleLine(parameter.name)}=`,
    call: `ptc call ${/^[\w.-]+$/.test(called) ? called : "SERVER.TOOL"}`,
  };
}
