import { jsonLine } from "../../../base/json.ts";
import { countNoun } from "../../../base/quantities.ts";
import { oneLine, visibleLine, visibleLines } from "../../../base/visible-text.ts";
import { type ToolCatalog, unknownServer, unknownTool } from "../../../catalog/tool-catalog.ts";
import type { ToolPrinter } from "../../../codegen/language-printer.ts";
import type { ObservedCall } from "../../../execution/call-log.ts";
import type { Suspended } from "../../../execution/outcome.ts";
import type { ExecutedProgram } from "../../../execution/output/executed-run.ts";
import { outputOf } from "../../../execution/output/executed-run.ts";
import { headAndTail, type LeftOut } from "../../../execution/output/head-and-tail.ts";
import {
  boundJson,
  joinOutput,
  markStderr,
  withoutLastLineFeed,
} from "../../../execution/output/whole-output.ts";
import { pickPrinter } from "../../../languages/languages.ts";
import type { CallDecision } from "../../../protocol/call-decision.ts";
import type { Failure } from "../../../protocol/failure.ts";
import { parseNamespacedName } from "../../../protocol/tool-names.ts";
import type { ShownLanguages } from "../tools/discovery.ts";
import { renderTicket } from "../tools/own-tools.ts";
import { errorReply, type ProgramReply, type ToolReply, type WaitingReply } from "../tools/reply.ts";
import type { ClientConnection } from "./client-request.ts";
import type { RunEnd } from "./live-run.ts";
import { describeWhere } from "./waiting-runs.ts";

const SUCCEEDED = "[Script executed successfully]";
const WAITS = "[Script waits for an approval]";
const FAILED = "[Script execution failed]";
const MAX_CONSOLE_CHARS = 4_000;

/**
 * The reply to `execute_program`: a status line, then console text and value, or the failure with hints and the calls that
 * the program had already made.
 */
export function buildProgramReply(
  executed: ExecutedProgram,
  calls: readonly ObservedCall[],
  context: {
    isReadOnly: (tool: string) => boolean;
    hints: readonly string[];
    notes?: readonly string[];
    /** How many bytes of console text and value are shown. */
    maxReplyBytes: number;
    /** Where questions are answered over HTTP. */
    answerAt?: string | undefined;
  },
): ProgramReply {
  const { envelope, suspended } = executed;
  const notes = (context.notes ?? []).map((text) => ({ type: "text" as const, text }));
  if (suspended !== undefined) {
    const text = describeSuspension(WAITS, suspended, context.answerAt);
    return {
      content: [{ type: "text", text }, ...notes],
      _meta: { "ptc/envelope": envelope, "ptc/waiting": describeWaiting(suspended) },
    };
  }
  const text = envelope.result.ok
    ? renderSuccess(executed, context.maxReplyBytes)
    : renderFailure(executed, envelope.result.error, calls, context);
  return {
    content: [
      { type: "text", text },
      ...executed.emitted,
      ...adviceOn(executed),
      ...warningsOf(executed),
      ...notes,
    ],
    ...(envelope.result.ok ? {} : { isError: true as const }),
    _meta: {
      "ptc/envelope": envelope,
      ...(executed.emitted.length === 0 ? {} : { "ptc/emitted": executed.emitted.length }),
    },
  };
}

/** What waits for an approval. */
export function describeWaiting({ ticket, tool, expiresAt }: Suspended): WaitingReply {
  return { ticket, tool, expires_at: new Date(expiresAt).toISOString() };
}

/** Says what a model must tell its user, and what to do then. */
export function describeSuspension(
  status: string,
  { ticket, tool, expiresAt }: Suspended,
  answerAt: string | undefined,
): string {
  const until = renderMinute(expiresAt);
  return [
    status,
    answerAt === undefined
      ? `${visibleLine(tool)} is not called before a person approves it. Ask the user to run \`ptc approvals approve ${ticket}\` (or show, or deny) in a terminal before ${until}.`
      : `${visibleLine(tool)} is not called before a person approves it, until ${until}: ${describeWhere(ticket, answerAt)}. Tell the user.`,
    `Then call execute_program ${JSON.stringify({ code: renderTicket(ticket) })}: the program continues from here. Do not run it again: what it has called stays called.`,
  ].join("\n");
}

/** A time to the minute, rounded down. */
function renderMinute(time: number): string {
  return `${new Date(time).toISOString().slice(0, 16)}Z`;
}

/** Advice on a lost value. It is a separate block, because the text holds exactly what the program printed. */
function adviceOn({ envelope, advice }: ExecutedProgram): { type: "text"; text: string }[] {
  if (!envelope.result.ok || advice.length === 0) return [];
  return [{ type: "text", text: sentences(advice).join("\n") }];
}

/** Warnings about answers that contradict the schemas of their tools, as a separate block like advice. */
function warningsOf({ warnings }: ExecutedProgram): { type: "text"; text: string }[] {
  if (warnings.length === 0) return [];
  return [{ type: "text", text: renderWarnings(warnings) }];
}

/** Lines that first state that the calls were made, so that nobody repeats them. */
export function renderWarnings(warnings: readonly string[]): string {
  const lines = warnings.map((line) => `- ${visibleLine(line)}`);
  return ["These calls were made, and what they answered was given as it is:", ...lines].join("\n");
}

function sentences(advice: readonly string[]): string[] {
  return advice.map((line) => {
    const shown = visibleLine(line);
    // A name of code keeps its case.
    return /^[\w$]+[.(_]/.test(shown) ? shown : shown.charAt(0).toUpperCase() + shown.slice(1);
  });
}

function renderSuccess(executed: ExecutedProgram, maxReplyBytes: number): string {
  const { typeWarning } = executed;
  const parts = outputOf(executed);
  const { resultAt, stderrAt } = joinOutput(parts);
  const printed = parts.consoleText.trim() === "" ? undefined : withoutLastLineFeed(parts.consoleText);
  const room = shareOut(maxReplyBytes, printed, parts.resultJson);
  const lines = [SUCCEEDED];
  if (printed !== undefined) {
    const describe = ({ from, to, of }: LeftOut) =>
      missing(`${to - from} of ${of} characters left out`, executed, from, LESS);
    lines.push(headAndTail(printed, room.first, describe));
  }
  if (parts.resultJson !== undefined)
    lines.push(renderResult(executed, parts.resultJson, room.second, resultAt));
  if (lines.length === 1 && executed.emitted.length === 0) lines.push("(no output)");
  if (parts.stderrText.trim() !== "") lines.push(renderStderr(executed, stderrAt));
  if (typeWarning !== undefined) lines.push(`Type warnings:\n${typeWarning}`);
  return lines.join("\n");
}

/** How many bytes of two texts are shown: each gets half of the room, and the bytes that the other does not need. */
function shareOut(room: number, first = "", second = ""): { first: number; second: number } {
  const half = Math.floor(room / 2);
  return {
    first: Math.max(half, room - Buffer.byteLength(second)),
    second: Math.max(half, room - Buffer.byteLength(first)),
  };
}

/** The value as one line of JSON. A value that is too long is not cut: an object with its beginning and its end replaces it. */
function renderResult(executed: ExecutedProgram, json: string, maxBytes: number, at: number): string {
  if (Buffer.byteLength(json) <= maxBytes) return json;
  const { ends, shownChars } = boundJson(json, maxBytes);
  const size = `the result is ${ends.bytes} bytes of JSON, of which this is the beginning and the end`;
  return `${missing(size, executed, at + shownChars, LESS)}\n${jsonLine(ends)}`;
}

const LESS = ", or filter, count or cut in the program and give less";

/** Says what is not shown, and how a model gets it. */
function missing(what: string, { envelope }: ExecutedProgram, offset: number, otherwise = ""): string {
  return `[${what}: read_output ${JSON.stringify({ run: envelope.run_id, offset })}${otherwise}]`;
}

function renderFailure(
  executed: ExecutedProgram,
  error: Failure,
  calls: readonly ObservedCall[],
  { isReadOnly, hints }: { isReadOnly: (tool: string) => boolean; hints: readonly string[] },
): string {
  const { consoleText, stderrText, typeWarning, advice } = executed;
  const parts = [`${FAILED}\n${headline(error)}`];
  const toDo = [...sentences(advice), ...hints];
  if (toDo.length > 0) parts.push(toDo.join("\n"));
  if (typeWarning !== undefined) parts.push(`Type warnings:\n${typeWarning}`);
  if (consoleText.trim() !== "") {
    const shown =
      consoleText.length <= MAX_CONSOLE_CHARS ? consoleText : consoleText.slice(-MAX_CONSOLE_CHARS);
    const left = consoleText.length - shown.length;
    const what = left === 0 ? "It had printed:" : "The last that it had printed:";
    const before = left === 0 ? "" : `${missing(`${left} characters left out`, executed, 0)}\n`;
    parts.push(`${what}\n${before}${withoutLastLineFeed(shown)}`);
  }
  if (stderrText.trim() !== "") parts.push(renderStderr(executed, joinOutput(outputOf(executed)).stderrAt));
  parts.push(...renderEarlierCalls(calls, isReadOnly));
  return parts.join("\n\n");
}

/** The program's stderr, with each line marked so that it differs from its output. Only the end of a long text is shown. */
function renderStderr(executed: ExecutedProgram, at: number): string {
  const text = executed.stderrText;
  const shown = text.length <= MAX_CONSOLE_CHARS ? text : text.slice(-MAX_CONSOLE_CHARS);
  const left = text.length - shown.length;
  const lines = left === 0 ? "" : `${missing(`${left} characters of stderr left out`, executed, at)}\n`;
  return lines + markStderr(shown);
}

/** The reply for a program that was refused before it was run. */
export function buildRefusalReply(error: Failure): ToolReply {
  return errorReply(`${FAILED}\n${headline(error)}`);
}

/** The failure as a script would print it. The message of a thrown error already begins or ends with the error's class. */
function headline({ type, message: said }: Failure): string {
  const message = visibleLines(said);
  switch (type) {
    case "ScriptError":
      return message;
    case "Timeout":
      return `TimeoutError: ${message}`;
    default:
      return saysType(message, type) ? message : `${type}: ${message}`;
  }
}

/** Whether a traceback ends with the class of the error, as Python's do. */
function saysType(message: string, type: string): boolean {
  return message.startsWith("Traceback (most recent call last):\n") && message.includes(`\n${type}: `);
}

const MAX_LISTED_CALLS = 20;
const MAX_ARGUMENT_CHARS = 160;

/** The decisions after which a call is sent to its server. */
const LET_THROUGH: ReadonlySet<CallDecision> = new Set([
  "allowed",
  "approved-once",
  "approved-for-run",
  "unanswered",
]);

/**
 * Paragraphs about the calls that a program made before it failed: first the calls that changed or may have changed something, then
 * the calls that only read. A model that repairs the program must not repeat the former.
 */
function renderEarlierCalls(ended: readonly ObservedCall[], isReadOnly: (tool: string) => boolean): string[] {
  const done = ended.filter(({ outcome }) => outcome.ok);
  const changing = done.filter(({ tool }) => !isReadOnly(tool));
  const unknown = ended
    .filter(({ outcome }) => !outcome.ok && mayHaveHappened(outcome))
    .map(({ tool }) => tool)
    .filter((tool) => !isReadOnly(tool));
  const reading = done.filter(({ tool }) => isReadOnly(tool));
  const parts: string[] = [];
  if (changing.length > 0) {
    const lines = changing
      .slice(0, MAX_LISTED_CALLS)
      .map(({ tool, arguments: args }) => `${oneLine(tool)}(${brief(args)})`);
    if (changing.length > lines.length) lines.push(`and ${changing.length - lines.length} more`);
    const what = `${countNoun(changing.length, "call")} had completed and may have changed something`;
    parts.push(`Before it failed, ${what}; do not repeat what must happen once:\n${lines.join("\n")}`);
  }
  if (unknown.length > 0) parts.push(`Not known whether these took effect: ${tally(unknown)}`);
  if (reading.length > 0) {
    parts.push(`Completed and only read: ${tally(reading.map(({ tool }) => tool))}`);
  }
  return parts;
}

/** Whether a failed call may have had an effect: it was sent, and its answer was lost, late or unusable. */
function mayHaveHappened({ decision, ...outcome }: ObservedCall["outcome"]): boolean {
  return LET_THROUGH.has(decision) && !("raw" in outcome && outcome.raw !== undefined);
}

function tally(tools: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const tool of tools) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  const items = [...counts].map(([tool, times]) =>
    times === 1 ? oneLine(tool) : `${oneLine(tool)} x${times}`,
  );
  const shown = items.slice(0, MAX_LISTED_CALLS);
  if (items.length > shown.length) shown.push(`and ${items.length - shown.length} more tools`);
  return shown.join(", ");
}

function brief(args: unknown): string {
  const text = args === undefined ? "" : jsonLine(args);
  return text.length <= MAX_ARGUMENT_CHARS ? text : `${text.slice(0, MAX_ARGUMENT_CHARS)}...`;
}

interface Shown {
  /** The printers of the languages that are on now. */
  printers: () => ShownLanguages;
  /** The present limits. */
  limits: () => { readonly maxReplyBytes: number };
  /** Where questions are answered over HTTP. */
  answerAt?: (() => string | undefined) | undefined;
}

/** The end of an executed program for the client of a connection. */
export function endOfProgram(
  executed: ExecutedProgram,
  client: Pick<ClientConnection, "notices" | "known">,
  { printers, limits, answerAt }: Shown,
): RunEnd {
  client.notices.follow(executed);
  return {
    async reply(calls, { hints, notes }) {
      // Only the reply to a failure depends on the catalog.
      const known = executed.envelope.result.ok ? undefined : await client.known();
      const printer = pickPrinter(printers(), executed.program.language);
      const more = known === undefined ? [] : await hintsFor(executed, calls, known, printer);
      return buildProgramReply(executed, calls, {
        isReadOnly: (tool) => known?.find(tool)?.annotations?.readOnlyHint === true,
        hints: [...hints, ...more],
        notes: [...client.notices.unchecked(executed), ...client.notices.labelled(executed), ...notes],
        maxReplyBytes: limits().maxReplyBytes,
        answerAt: answerAt?.(),
      });
    },
  };
}

const MAX_SIGNATURES = 2;
const MAX_REASON_CHARS = 300;

const DRIFTED =
  "The tool's definition has just been read again: inspect_tool shows it; then run the program again.";

/** Matches a runtime's error about a tool name that the program built at run time, and that no check could find before. */
const UNDEFINED_TOOL = /(mcp__\w+)'? is not defined/;

/** Matches names of tools in messages about a program that was refused before it ran. */
const TOOL_NAME = /\bmcp__\w+/g;

/**
 * Advice for a model that corrects a failed program, beyond the failure's message. If the program could not be bundled, the reasons
 * say why. If it ran, the failure's message is the program's own text and shows which failed call caused it.
 */
export async function hintsFor(
  { envelope: { result }, reasons, advice }: Pick<ExecutedProgram, "envelope" | "reasons" | "advice">,
  calls: readonly ObservedCall[],
  catalog: ToolCatalog,
  printer: ToolPrinter,
): Promise<string[]> {
  if (result.ok) return [];
  const { message } = result.error;
  const hints = new Set<string>();
  const wrong = new Set<string>();
  for (const { tool, outcome } of calls) {
    if (
      outcome.decision === "unavailable" &&
      catalog.find(tool) === undefined &&
      message.includes(tool) &&
      (advice.length === 0 || catalog.isBlocked(tool)) &&
      !saysWhyUnlisted(message, parseNamespacedName(tool)?.module, catalog)
    )
      hints.add(sentence(unknownTool(tool, catalog)));
    if (outcome.decision === "invalid" && message.includes(tool)) wrong.add(tool);
    if (outcome.decision === "drifted") hints.add(DRIFTED);
  }
  for (const name of [...wrong].slice(0, MAX_SIGNATURES)) {
    const tool = catalog.find(name);
    if (tool !== undefined)
      hints.add(`Its signature: ${visibleLines(await printer.signature(tool, "compact"))}`);
  }
  const unknown = reasons.find(({ code }) => code === "unknown_server");
  if (unknown?.code === "unknown_server" && !saysWhyUnlisted(message, unknown.module, catalog))
    hints.add(sentence(unknownServer(unknown.module, catalog)));
  // A program that was refused before it ran made no calls from which the reason could be read.
  for (const [named] of message.matchAll(TOOL_NAME))
    if (calls.length === 0 && catalog.whyBlocked(named) !== undefined)
      hints.add(sentence(unknownTool(named, catalog)));
  const name = UNDEFINED_TOOL.exec(message)?.[1] ?? "";
  if (parseNamespacedName(name) !== undefined) hints.add(sentence(unknownTool(name, catalog)));
  return [...hints];
}

/** Whether a failure's message says already why a server has no tools, so that a hint would repeat it. */
function saysWhyUnlisted(message: string, module: string | undefined, { unlisted }: ToolCatalog): boolean {
  const why = module === undefined ? undefined : unlisted.get(module);
  return why !== undefined && message.includes(oneLine(why, MAX_REASON_CHARS));
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
