import { IsolatingValidator } from "../broker/schemas/schema-validator.ts";
import { buildAuthorizer } from "../configuration/policy/configured-policy.ts";
import { makeCall } from "../execution/call.ts";
import type { ExecutedCall } from "../execution/output/executed-run.ts";
import type { CallRequest } from "../execution/run-request.ts";
import { moduleUrl } from "../system/package.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ProgramTools } from "../tools/program-tools.ts";
import type { Project } from "./open-project.ts";
import { recorderOf } from "./records.ts";
import { composeServers, composeUpstreams } from "./servers/upstreams.ts";

export interface CallerOptions {
  /** The generated tools of the project. */
  tools: ProgramTools;
  /** Reports calls to a collector. Its opener closes it. */
  telemetry?: Telemetry | undefined;
}

/** Makes single calls as programs make them, without a sandbox. */
export interface Caller {
  /** Failures of the call or a server are in the envelope. */
  call(request: CallRequest): Promise<ExecutedCall>;
}

/** Opens what makes calls in a project, and ends with it. @throws StateDirectoryError when the folder for this process's files cannot be made. */
export async function openCaller(project: Project, { tools, telemetry }: CallerOptions): Promise<Caller> {
  const { configuration, env, redactor } = project;
  const { pool } = composeUpstreams(project);
  const validator = new IsolatingValidator(moduleUrl("broker/schemas/schema-worker"));
  project.onClose(() => validator.close());
  const shared = {
    env,
    redactor,
    validator,
    telemetry,
    servers: composeServers(configuration, pool, undefined),
    configuration: () => configuration,
    recorder: recorderOf(project, await project.auditLog()),
  };
  return {
    call: async (request) =>
      makeCall(request, { ...shared, authorizer: await buildAuthorizer(configuration) }, { tools }),
  };
}
