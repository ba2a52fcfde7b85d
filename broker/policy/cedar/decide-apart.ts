import { moduleUrl } from "../../../system/package.ts";
import { NoTurnError, WorkerTurns } from "../../../system/worker-turns.ts";
import type { CedarDecision, CedarRequest } from "./cedar-engine.ts";

/** A request with the rules that apply to it, for another thread. */
export interface DecisionApart {
  readonly rules: ReadonlyMap<string, string>;
  /** Equal for the same rules of this process. */
  readonly key: string;
  readonly request: CedarRequest;
}

/** How long a decision may take in its thread. */
const BUDGET_MS = 5_000;
const THREADS = 2;
const MAX_OF_ONE = 256;
const MAX_OF_ALL = 4_096;

let turns: WorkerTurns<DecisionApart, CedarDecision> | undefined;

/**
 * Decides in another thread, so that this one goes on, in turns between principals. What is not decided within the budget is a problem,
 * and so denied. Never rejects.
 *
 * @param principal whose call it is.
 */
export async function decideApart(principal: string, decision: DecisionApart): Promise<CedarDecision> {
  turns ??= new WorkerTurns(moduleUrl("broker/policy/cedar/cedar-worker"), {
    threads: THREADS,
    maxOfOne: MAX_OF_ONE,
    maxOfAll: MAX_OF_ALL,
  });
  try {
    return await turns.use(principal, BUDGET_MS, (ask) => ask(decision));
  } catch (error) {
    if (!(error instanceof NoTurnError)) throw error;
    return { problem: `deciding by rules about arguments this large ${error.message}`, rules: [] };
  }
}
