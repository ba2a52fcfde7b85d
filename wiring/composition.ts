import { composeExecution } from "./execution.ts";
import { openAuditLog } from "./open-audit.ts";
import { composeUpstreams } from "./upstreams.ts";

/** What a `Host` needs to build its parts. */
export interface Composition {
  composeExecution: typeof composeExecution;
  composeUpstreams: typeof composeUpstreams;
  openAuditLog: typeof openAuditLog;
}

export const composition: Composition = { composeExecution, composeUpstreams, openAuditLog };
