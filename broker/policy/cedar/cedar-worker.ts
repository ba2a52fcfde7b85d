/** Decides by rules in a thread that can be ended. */
import { serveTurns } from "../../../system/serve-turns.ts";
import { type CedarDecision, loadCedar } from "./cedar-engine.ts";
import type { DecisionApart } from "./decide-apart.ts";

// The budget of a turn is for the decision alone.
const cedar = await loadCedar();

serveTurns<DecisionApart, CedarDecision>(({ rules, key, request }) => cedar.decide(rules, key, request));
