import { makeCall } from "../execution/call.ts";
import { planProgram } from "../execution/dry-run.ts";
import { checkProgram, runProgram } from "../execution/program.ts";
import { composeExecution } from "./execution.ts";
import { composeUpstreams } from "./servers/upstreams.ts";

/** The functions with which a `Host` builds its parts and runs programs. Importing this module loads everything that runs programs. */
export const composition = {
  composeExecution,
  composeUpstreams,
  runProgram,
  planProgram,
  makeCall,
  checkProgram,
};
