/** Runs a program of the local user, or continues a suspended run. */

import { randomBytes } from "node:crypto";
import { isObject } from "../base/json.ts";
import { describeOffServers } from "../configuration/configured-servers.ts";
import { refuseUnmatchedPatterns } from "../configuration/policy/configured-policy.ts";
import type { ExecutedProgram } from "../execution/output/executed-run.ts";
import type { ProgramRequest } from "../execution/run-request.ts";
import { sealEnvelope } from "../execution/seal.ts";
import { unnamedProgram } from "../languages/languages.ts";
import { inputDigest, type Program } from "../languages/program.ts";
import type { UnresolvedProgram } from "../languages/resolve-program.ts";
import type { Envelope } from "../protocol/envelope.ts";
import { buildFailure } from "../protocol/failure.ts";
import { traceContextOf } from "../protocol/trace-context.ts";
import { version } from "../system/package.ts";
import { takeAnswered } from "./approvals.ts";
import type { Host, HostOptions } from "./host.ts";
import { LOCAL_USER, localContext } from "./local-user.ts";
import { openHost } from "./open-host.ts";
import type { Project } from "./open-project.ts";

/** A program to run for a command, with what watches it. */
export interface UsersProgram extends Omit<ProgramRequest, "context" | "trace" | "resumed" | "session"> {
  /** Names a suspended run, which is resumed instead. */
  ticket: string | undefined;
  session: string | undefined;
}

/** What runs a command's program: the background host that the command is in, or a sandbox of its own, which may be starting already. */
export type RunsIn =
  | { host: Pick<Host, "currentTools" | "run" | "pendingApprovals"> }
  | Pick<HostOptions, "warmed">;

/** What somebody should know before a program runs: settings that were held back, and servers that are off. */
export function warningsBefore({ configuration }: Project): string[] {
  return [...configuration.held, ...describeOffServers(configuration)];
}

/**
 * Runs a program, or continues the run that `ticket` names. What runs it ends with the project.
 *
 * @throws Refusal when the suspended run cannot continue, ConfigurationError for a pattern that matches no tool
 */
export async function runProgram(
  project: Project,
  { ticket, session, ...asked }: UsersProgram,
  runsIn: RunsIn,
): Promise<ExecutedProgram> {
  const { configuration, env } = project;
  const host =
    "host" in runsIn
      ? runsIn.host
      : openHost(project, { warmed: runsIn.warmed, telemetry: await project.openTelemetry() });
  refuseUnmatchedPatterns(configuration, (await host.currentTools()).all);
  const resumed =
    ticket === undefined ? undefined : await takeAnswered(ticket, await host.pendingApprovals(), asked);
  return host.run(
    Object.freeze<ProgramRequest>({
      ...asked,
      resumed,
      program: resumed?.run.program ?? asked.program,
      session: resumed === undefined ? session : undefined,
      context: localContext("run", env),
      trace: traceContextOf(env),
    }),
  );
}

const LOST =
  "the background host was lost while the program ran; it had begun to call tools, so it was not run again: look at what it has changed before you run it again";

/** What is known of a run whose host was lost after its first call: its program, and an envelope that says so. */
export function sealLostRun(
  runId: string,
  given: UnresolvedProgram,
  { languages, execution }: Project["configuration"],
): { program: Program; envelope: Envelope; resultFrom: undefined; wholeResultJson: undefined } {
  const program = { ...unnamedProgram(languages), ...given };
  const envelope = sealEnvelope(
    {
      runId,
      traceId: randomBytes(16).toString("hex"),
      toolVersion: version,
      inputDigest: inputDigest(program),
      sandboxImage: null,
      durationMs: 0,
      approvalState: "NOT_REQUIRED",
      metrics: { duration_ms: 0, tool_calls: 0, tool_result_bytes: 0 },
    },
    { ok: false, error: buildFailure("InternalError", LOST) },
    execution.maxOutputBytes,
  );
  return { program, envelope, resultFrom: undefined, wholeResultJson: undefined };
}

/** A program that shows that ptc works: it calls a tool that only reads and needs no arguments, or nothing if there is none. */
export async function firstProgram(project: Project): Promise<UnresolvedProgram & { language: string }> {
  const { language, fileName } = unnamedProgram(project.configuration.languages);
  const view = (await project.tools()).callableFor(LOCAL_USER);
  const tool = view.names().find((name) => {
    const { annotations, inputSchema } = view.get(name) ?? {};
    const required = isObject(inputSchema) ? inputSchema.required : undefined;
    return annotations?.readOnlyHint === true && (!Array.isArray(required) || required.length === 0);
  });
  return { code: codeOfFirst(tool, language === "python"), data: {}, language, fileName };
}

function codeOfFirst(tool: string | undefined, isPython: boolean): string {
  if (tool === undefined) return isPython ? 'result = "ptc works"\n' : 'globalThis.result = "ptc works";\n';
  return isPython
    ? `try:\n    answer = await call_tool("${tool}", {})\nexcept Exception as error:\n    answer = f"failed: {error}"\nresult = str(answer)[:300]\n`
    : `const answer = await callTool("${tool}", {}).catch((error: unknown) => \`failed: \${error}\`);\nglobalThis.result = JSON.stringify(answer)?.slice(0, 300);\n`;
}
