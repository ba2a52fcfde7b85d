import { clock } from "../base/clock.ts";
import { type ApprovalRequest, questionDigest } from "../broker/approvals/approvals.ts";
import { answersOf, Dispatcher } from "../broker/dispatcher.ts";
import { Conversation } from "../broker/flow/conversation.ts";
import { RunFlow } from "../broker/flow/run-flow.ts";
import { UNKNOWN_LABEL } from "../broker/policy/data-flow.ts";
import { type RunRead, RunState } from "../broker/policy/run-history.ts";
import { isListed } from "../broker/policy/value-lists.ts";
import type { Tool } from "../catalog/tool.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { flowOf, followsValues } from "../configuration/policy/configured-flow.ts";
import type { Program } from "../languages/program.ts";
import type { Notifier } from "../notify/notifier.ts";
import { MAX_KEPT_OUTPUT_BYTES } from "../protocol/limits.ts";
import type { ProgramFile } from "../protocol/program-files.ts";
import { EXTRACT_NAME, parseNamespacedName } from "../protocol/tool-names.ts";
import { traceIdOf } from "../protocol/trace-context.ts";
import type { Redactor } from "../secrets/redaction.ts";
import { version } from "../system/package.ts";
import type { CalledTool } from "../telemetry/telemetry.ts";
import type { RunLimits } from "./output/runner-output.ts";
import { keeperFor, openPending } from "./pending/open-pending.ts";
import type { AskingProgram } from "./pending/pending-approvals.ts";
import { shareQuestions, type TellOfQuestion } from "./pending/shared-questions.ts";
import type { OpenRehearsal } from "./planning.ts";
import { redactRun } from "./redact-run.ts";
import type { RunScope } from "./run.ts";
import type { Callable, RunHost } from "./run-host.ts";
import type { CallRequest, RunRequest } from "./run-request.ts";
import { reportRun } from "./runs/report-run.ts";
import type { KeptCall } from "./suspension/kept-calls.ts";
import type { SuspendedRun } from "./suspension/suspended-run.ts";

/** The facts about a run that are known before its scope is opened. */
interface RunFacts {
  readonly runId: string;
  readonly program: Pick<Program, "language" | "fileName"> & Partial<Program>;
  readonly tools: ToolCatalog;
  readonly callable: Pick<Callable, "tools" | "servers">;
  readonly limits: RunLimits;
  /** What its session has read so far. */
  readonly state?: RunState | undefined;
  /** The conversation of its session. */
  readonly conversation?: Conversation | undefined;
  /** The run as it was suspended. */
  readonly earlier?: SuspendedRun | undefined;
  /** Whether it is only rehearsed, in its own conversation. */
  readonly isDry?: boolean | undefined;
  readonly beforeCalls?: ((runId: string) => Promise<void>) | undefined;
}

/** Opens the scope of a live run: its policy state, its redaction, its reports, and what surrounds its calls and questions. */
export async function openScope(request: RunRequest, host: RunHost, facts: RunFacts): Promise<RunScope> {
  const { context, approver, trace, suspends = false } = request;
  const { redactor, env } = host;
  const { runId, program, tools, callable, limits, earlier, beforeCalls } = facts;
  const configuration = host.configuration();
  const state = earlier
    ? stateOf(earlier.calls, tools, configuration, earlier.reads)
    : (facts.state ?? new RunState());
  const isDirect = context.source === "direct" && !isList(request, tools);
  if (request.together !== undefined && (isDirect || context.source !== "direct"))
    state.join({
      runs: request.together.runs,
      isDirect,
      counts: isDirect && request.together.grants !== undefined,
    });
  const redaction = await redactRun(redactor, configuration, state);
  const flow = followsValues(configuration) ? openFlow(request, facts, state, configuration) : undefined;
  const traced = host.telemetry?.beginRun({
    runId,
    context,
    language: program.language,
    parent: trace,
    earlier: earlier?.place,
    describeTool: (name) => describeTool(name, tools, configuration),
  });
  const shown = {
    fileName: program.fileName,
    language: program.language,
    code: program.code === undefined ? undefined : redaction.redactor.redactText(program.code).value,
  };
  host.runs?.publish({
    runId,
    context,
    kind: "began",
    at: Math.round(clock.wallMs()),
    program: shown,
  });
  const report =
    host.runs && reportRun((event) => host.runs?.publish(event), { runId, context }, redaction.redactor);
  const { require: requiredProof, suspend: maySuspend } = configuration.approvals;
  const tell =
    host.notifier && tellOfQuestions(host.notifier, { context, program: shown }, redaction.redactor);
  const model = configuration.servers.find((server) => server.transport === "model");
  const made = earlier ? extractsIn(earlier.calls) : 0;
  const isVisible = (tool: Tool) => host.authorizer.isVisible(context, tool);
  const dispatching = {
    context,
    ...callable,
    authorizer: host.authorizer,
    validator: host.validator,
    redact: (message: string) => redactor.redactText(message).value,
    redactForModel: (text: string) => redaction.redactor.redactText(text).value,
    schemaMismatch: configuration.execution.schemaMismatch,
  };
  // A rehearsal has the same knowledge as a run that is resumed from this moment.
  const rehearsals: OpenRehearsal = ({ calls }, rehearsal) => {
    const read = stateOf(calls, tools, configuration, state.earlierReads);
    const own = { ...request, conversation: facts.isDry === true ? request.conversation : undefined };
    // The model of a dry run learns what the run reads, so later calls of the conversation take it into account.
    if (facts.isDry === true && request.together !== undefined)
      read.join({ runs: request.together.runs, isDirect: false, counts: false });
    const followed =
      flow && openFlow(own, { ...facts, earlier: { calls, shown: flow.run.shown } }, read, configuration);
    return {
      dispatcher: new Dispatcher({ ...dispatching, state: read, flow: followed, rehearsal }),
      flow: followed?.run,
      surroundings: {
        checks: host.checks?.forRun({ runId, context, tools, isVisible, isRehearsal: true }),
        allowance: request.allowance,
        extracts: model && { maxCalls: model.maxCalls, made: extractsIn(calls) },
      },
    };
  };
  return {
    runId,
    principal: context.principal,
    traceId: traced?.traceId ?? (trace && traceIdOf(trace)),
    approver,
    dispatcher: new Dispatcher({ ...dispatching, state, flow }),
    rehearsals: configuration.approvals.mode === "plan" || facts.isDry === true ? rehearsals : undefined,
    surroundings: {
      report,
      traced,
      trace,
      beforeCalls: beforeCalls && (() => beforeCalls(runId)),
      checks: host.checks?.forRun({ runId, context, tools, isVisible }),
      reviewing: host.checks?.reviewing({ runId, context, tools, isVisible }),
      startLogin: host.startLogin?.(context.principal),
      loginAddress: host.loginAddress?.(context.principal),
      extracts: model && { maxCalls: model.maxCalls, made },
      allowance: request.allowance,
      shareQuestions: shareQuestions({
        context,
        program: shown,
        open: () => openPending(configuration, env),
        tell,
        tellAfterMs: host.notifier?.afterMs,
      }),
      requiredProof,
    },
    flow: flow?.run,
    grants: isDirect ? request.together?.grants : undefined,
    toolsets: context.toolsets,
    earlierReads: () => state.earlierReads,
    redactor: redaction.redactor,
    asking: redaction.asking,
    recorder: host.recorder(context, tools, redaction),
    keeper:
      suspends && maySuspend
        ? keeperFor(context, configuration, env, { place: traced?.place, program: shown, tell })
        : undefined,
    limits,
    onCallStarted: request.onCallStarted,
    onCall: request.onCall,
    signal: request.signal,
    clock,
    toolVersion: version,
  };
}

/** Whether a request is for a list of what a server offers. Clients ask for these by themselves, whatever a model does. Its labels count. */
function isList(request: RunRequest, tools: ToolCatalog): boolean {
  const { call } = request as Partial<CallRequest>;
  return call !== undefined && tools.get(call.tool)?.method?.endsWith("/list") === true;
}

/** How many calls to the model there are. */
function extractsIn(calls: readonly KeptCall[]): number {
  return calls.filter(({ tool }) => tool === EXTRACT_NAME).length;
}

/** Tells people of questions of one run, without secrets and without personal data that is redacted elsewhere. */
function tellOfQuestions(
  notifier: Notifier,
  { context, program }: Pick<RunRequest, "context"> & { program: AskingProgram },
  redactor: Redactor,
): TellOfQuestion {
  return (asked, { ticket, expiresAt }) =>
    notifier.tell({
      ticket,
      expiresAt,
      context,
      digest: questionDigest(asked),
      request: redactor.redactValue(asked).value as ApprovalRequest,
      program: { fileName: program.fileName, code: program.code ?? "" },
    });
}

/** Follows the values of a run. A resumed run starts with the answers that it got before it was suspended. */
function openFlow(
  { conversation, said = [], together, context }: RunRequest,
  {
    runId,
    program,
    tools,
    earlier,
    conversation: ofSession,
  }: Omit<RunFacts, "earlier"> & { readonly earlier?: Pick<SuspendedRun, "calls" | "shown"> | undefined },
  state: RunState,
  configuration: Configuration,
) {
  const labels = flowOf(configuration);
  const { plain } = configuration.labels;
  const own = conversation ?? ofSession ?? new Conversation();
  for (const text of said) own.say(text);
  const run = new RunFlow({
    conversation: own,
    runId,
    shown: earlier?.shown,
    // Where the conversation is the run, labels that reach no further than a run reach as far as it.
    isSticky: labels.isSticky || (together !== undefined && context.source === "direct"),
    isPlain:
      plain.length === 0 ? undefined : (value) => plain.some((name) => isListed(labels.lists, name, value)),
    program: program.code === undefined ? [] : [program.code],
    data: [program.data, ...(program.files ?? []).map(readableFile)],
    earlier: labels.labelsRead(state.earlierReads),
  });
  for (const [index, { tool: name, outcome }] of (earlier?.calls ?? []).entries()) {
    if (outcome === undefined) continue;
    const tool = tools.get(name) ?? formerTool(name, configuration.servers);
    // Sent arguments are not kept. They may have held anything that was read by then.
    run.mayHaveSent(tool.server);
    const called = { tool: name, server: tool.server, seq: index + 1 };
    run.answered(called, labels.labelsOf(tool) ?? [UNKNOWN_LABEL], undefined, answersOf(outcome, true));
  }
  return { run, labels };
}

const MAX_FILE_TEXT_BYTES = 1024 * 1024;

/** The text of a file that a person handed to the program. */
function readableFile({ base64, bytes }: ProgramFile): string {
  return bytes <= MAX_FILE_TEXT_BYTES ? Buffer.from(base64, "base64").toString("utf8") : "";
}

/** The configured limits of a run. */
export function limitsOf({ execution }: Pick<Configuration, "execution">): RunLimits {
  return { ...execution, maxKeptBytes: MAX_KEPT_OUTPUT_BYTES };
}

/** The policy state of a suspended run, for decisions about its further calls. */
function stateOf(
  calls: readonly KeptCall[],
  tools: Pick<ToolCatalog, "get">,
  { servers }: Pick<Configuration, "servers">,
  earlier: readonly RunRead[] = [],
): RunState {
  const state = new RunState(earlier);
  for (const [index, { tool: name, outcome }] of calls.entries()) {
    // The run has read the answer of a tool even if the tool no longer exists.
    const tool = tools.get(name) ?? formerTool(name, servers);
    if (outcome === undefined) state.begin(tool, index + 1);
    else state.replay(tool, { seq: index + 1, decision: outcome.decision });
  }
  return state;
}

function formerTool(namespacedName: string, servers: Configuration["servers"]) {
  const { module = "", tool: name = namespacedName } = parseNamespacedName(namespacedName) ?? {};
  const server = servers.find((each) => each.module === module)?.name ?? module;
  return { namespacedName, server, name };
}

/** A tool as it is described to a collector. */
function describeTool(
  called: string,
  tools: Pick<ToolCatalog, "get">,
  { servers }: Pick<Configuration, "servers">,
): CalledTool | undefined {
  const tool = tools.get(called);
  if (tool === undefined) return undefined;
  const { server, name, method } = tool;
  return { server, name, method, host: hostOf(servers.find((each) => each.name === server)) };
}

function hostOf(server: Configuration["servers"][number] | undefined): CalledTool["host"] {
  if (server === undefined || !("url" in server) || !URL.canParse(server.url)) return undefined;
  const { hostname, port, protocol } = new URL(server.url);
  return { address: hostname, port: Number(port) || (protocol === "https:" ? 443 : 80) };
}
