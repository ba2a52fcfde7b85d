import { randomBytes, randomUUID } from "node:crypto";
import { messageOf } from "../base/faults.ts";
import { jsonLine } from "../base/json.ts";
import { describePlanned } from "../broker/approvals/approval-text.ts";
import { type Plan, withArguments } from "../broker/approvals/plan.ts";
import type { RunFlow } from "../broker/flow/run-flow.ts";
import { loadPrinterOr } from "../languages/languages.ts";
import { prepareProgram } from "../languages/prepare-program.ts";
import { inputDigest } from "../languages/program.ts";
import { resolveProgram } from "../languages/resolve-program.ts";
import { buildFailure, type Failure } from "../protocol/failure.ts";
import { SandboxError } from "../sandbox/sandbox-error.ts";
import { openScope } from "./live-run.ts";
import type { PlannedProgram } from "./output/planned-program.ts";
import { rehearseWhole } from "./plan/rehearsal.ts";
import type { OpenRehearsal } from "./planning.ts";
import { limitsFor, sandboxesFor } from "./program.ts";
import type { ProgramHost, RunStart } from "./run-host.ts";
import type { ProgramRequest } from "./run-request.ts";
import { environmentOf } from "./suspension/continuation.ts";

/**
 * Rehearses a program for a request, from its beginning and for nobody's question: it changes nothing, and nobody is asked. It is no
 * run: the archive, the console and a collector do not have it. Calls that only read are made, and the audit log has them, marked.
 */
export async function planProgram(
  request: ProgramRequest,
  host: ProgramHost,
  { tools }: RunStart,
): Promise<PlannedProgram> {
  const languages = await host.languages.on();
  const program = await resolveProgram(request.program, languages);
  const modules = tools.modulesFor(request.context, await loadPrinterOr(program.language));
  const { all, programs } = tools;
  const callable = programs?.forRun(modules, all, host.servers) ?? {
    modules,
    tools: all,
    servers: host.servers,
  };
  const runId = randomUUID();
  const limits = limitsFor(request, host);
  const unseen = { ...host, runs: undefined, telemetry: undefined, notifier: undefined };
  const scope = await openScope({ ...request, suspends: false }, unseen, {
    runId,
    program,
    callable,
    limits,
    tools: all,
    isDry: true,
  });
  const { redactor, rehearsals } = scope;
  const failed = (error: Failure, more: Partial<PlannedProgram> = {}): PlannedProgram => ({
    program,
    shown: [],
    ...more,
    outcome: {
      kind: "failed",
      error: { ...error, message: redactor.redactText(error.message).value },
    },
  });
  const { execution } = host.configuration();
  const prepared = await prepareProgram(
    program,
    { ...scope, languages, modules: callable.modules },
    {
      mode: request.typecheck ?? execution.typecheck,
      patienceMs: request.checkPatienceMs,
      platform: host.sandboxes.platform,
    },
  );
  if (!prepared.ok) return failed(prepared.error);
  if (rehearsals === undefined) throw new Error("a dry run has nothing to rehearse with");
  const typeWarning = prepared.warning;
  const recording = scope.recorder?.begin({
    runId,
    traceId: randomBytes(16).toString("hex"),
    inputDigest: inputDigest(program),
  });
  const { open, flows } = withFlows(rehearsals);
  const removals: Promise<void>[] = [];
  try {
    const outcome = await rehearseWhole({
      scope,
      program,
      prepared,
      open,
      signal: request.signal,
      startedAt: Date.now(),
      environment: environmentOf(undefined),
      sandboxes: sandboxesFor(program, { sandboxes: host.sandboxes, languages }),
      use: { run: runId, principal: request.context.principal },
      observer: { onCall: recording?.onRehearsed },
      maxMs: limits.timeoutMs,
      leave: (removal) => void removals.push(removal),
    });
    // Its reader has then been shown these values, as with the output of a run.
    const show = async (texts: readonly string[]) =>
      (await Promise.all(flows.map((flow) => flow.show(texts)))).flat();
    if (outcome.kind === "failed")
      return failed(outcome.error, { typeWarning, shown: await show([outcome.error.message]) });
    if (outcome.kind === "unchanged") return { program, outcome, shown: [], typeWarning };
    const { more, ...known } = withArguments(outcome.plan, (value) => redactor.redactValue(value).value);
    const plan = { ...known, ...(more === undefined ? {} : { more: redactor.redactText(more).value }) };
    const shown = await show(textsOf(plan));
    return { program, outcome: { kind: "changes", plan }, shown, typeWarning };
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return failed(buildFailure("SandboxUnavailable", messageOf(error)), { typeWarning });
  } finally {
    await Promise.all(removals);
    await recording?.beforeSuspension?.();
    // Nothing of a rehearsal is archived.
    recording?.suspend?.();
  }
}

/** Collects the flows of rehearsals, because the reader of a plan is shown their values. */
function withFlows(rehearsals: OpenRehearsal): { open: OpenRehearsal; flows: readonly RunFlow[] } {
  const flows: RunFlow[] = [];
  const open: OpenRehearsal = (moment, rehearsal) => {
    const opened = rehearsals(moment, rehearsal);
    if (opened.flow !== undefined) flows.push(opened.flow);
    return opened;
  };
  return { open, flows };
}

function textsOf({ calls, more = "" }: Plan): string[] {
  return [...calls.flatMap((call) => [jsonLine(call.arguments), ...describePlanned(call)]), more];
}
