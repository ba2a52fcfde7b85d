import { interceptCalls } from "../broker/call-interceptors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { CallLog } from "./call-log.ts";
import { callInterceptors } from "./interceptors.ts";
import type { Outcome } from "./outcome.ts";
import { OwnSandbox } from "./own-sandbox.ts";
import { type InsideRun, ProgramInside } from "./program-inside.ts";
import { KeptCalls } from "./suspension/kept-calls.ts";
import { stoppableProgram } from "./suspension/suspension.ts";

/**
 * Sends a program into a sandbox, answers its calls, and judges how it ended. The owner of the sandbox disposes of it. If the program is
 * rehearsed in its own sandbox, the outcome is that of the one in which the run begins again.
 */
export async function runInside(sandbox: Sandbox, inside: InsideRun): Promise<Outcome> {
  const { scope, run, timeLimit, elsewhere } = inside;
  const { approvals, suspension, planning, signal } = run;
  const log = new CallLog(run.observers, scope.clock);
  const kept = (suspension ?? planning) && new KeptCalls(() => log.elapsedMs);
  const calls = interceptCalls(
    scope.dispatcher,
    callInterceptors(scope.surroundings, {
      log,
      kept,
      resumed: inside.calls,
      experiments: inside.experiments,
    }),
  );
  const stoppable = ({ connection }: ProgramInside) =>
    kept && stoppableProgram(connection, approvals, kept, () => log.elapsedMs);
  const own = planning && elsewhere && new OwnSandbox({ sandbox, inside, elsewhere, calls, log, stoppable });
  const program = own?.program ?? new ProgramInside(sandbox, inside, calls);
  const running = own?.running ?? stoppable(program);
  if (running !== undefined) {
    suspension?.begin(running);
    planning?.begin(running, own);
  }
  const unsent = await program.send();
  if (unsent !== undefined) return unsent;
  timeLimit.start(sandbox);
  const ending = await program.ending({ signal, suspension, timeLimit, left: own?.left });
  if (ending === undefined && own !== undefined) return own.again();
  own?.end();
  try {
    return await program.end(ending ?? { kind: "cancelled" }, log);
  } finally {
    own?.ended();
  }
}
