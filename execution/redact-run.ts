import type { CallOutcome } from "../broker/dispatcher.ts";
import type { RunState } from "../broker/policy/run-history.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { PiiSettings } from "../secrets/pii/pii-kinds.ts";
import type { PiiMasks } from "../secrets/pii/pii-mask.ts";
import type { Redactor } from "../secrets/redaction.ts";
import type { CallObserver, ObservedCall } from "./call-log.ts";
import type { RecordedPii } from "./record/run-recorder.ts";

/** The redactors of one run. */
export interface RunRedaction {
  /** Redacts everything that leaves the run. */
  redactor: Redactor;
  /** Redacts values for a comparison with a record. It does not depend on what the run has read so far. */
  comparing: Redactor;
  /** Redacts questions to a person, who has to see what to approve. */
  asking: Redactor;
  /** The redaction as it is recorded; `undefined` when only secrets are redacted. */
  recorded: () => RecordedPii | undefined;
}

/**
 * The redactors of a run under a configuration. The recognisers of personal data are loaded only if personal data is redacted.
 *
 * A kind is shown when the run has read from at least one server, and every server that it has read from allows the kind. The run is
 * the unit, as with labels: values from different servers are not told apart.
 */
export async function redactRun(
  redactor: Redactor,
  { pii, servers }: Pick<Configuration, "pii" | "servers">,
  state: Pick<RunState, "servers">,
): Promise<RunRedaction> {
  if (pii === undefined) return onlySecrets(redactor);
  const masks = await masksOf(pii);
  const allowed = new Map(servers.map(({ name, piiAllowed }) => [name, piiAllowed]));
  // A model's answers are made from what the run has read, so a model does not count as a server here.
  const models = new Set(servers.filter(({ transport }) => transport === "model").map(({ name }) => name));
  const isShown = (kind: (typeof pii.kinds)[number]) => {
    const read = [...state.servers].filter((name) => !models.has(name));
    return read.length > 0 && read.every((name) => allowed.get(name)?.includes(kind) === true);
  };
  return {
    redactor: redactor.with(masks.mask(isShown)),
    comparing: redactor.with(masks.mask()),
    asking: redactor,
    recorded: () => ({
      kinds: [...pii.kinds],
      countries: [...pii.countries],
      shown: pii.kinds.filter(isShown),
    }),
  };
}

/** The redactors of a replay. They redact as the recorded run was redacted in the end, whatever the present configuration says. */
export async function redactReplay(
  redactor: Redactor,
  recorded: RecordedPii | undefined,
): Promise<RunRedaction> {
  if (recorded === undefined) return onlySecrets(redactor);
  const masks = await masksOf(recorded);
  return {
    redactor: redactor.with(masks.mask((kind) => recorded.shown.includes(kind))),
    comparing: redactor.with(masks.mask()),
    asking: redactor,
    recorded: () => recorded,
  };
}

function onlySecrets(redactor: Redactor): RunRedaction {
  return { redactor, comparing: redactor, asking: redactor, recorded: () => undefined };
}

/** The masks made so far, for runs and for requests to a model. A process sees few configurations. */
const made = new Map<string, PiiMasks>();
const MAX_MADE = 8;

/** The recognisers of personal data under a configuration, shared by its runs. They are loaded at the first use. */
export async function masksOf({ kinds, countries }: PiiSettings): Promise<PiiMasks> {
  const { PiiMasks } = await import("../secrets/pii/pii-mask.ts");
  const key = JSON.stringify([kinds, countries]);
  const known = made.get(key);
  if (known !== undefined) return known;
  if (made.size >= MAX_MADE) made.clear();
  const masks = new PiiMasks({ kinds, countries });
  made.set(key, masks);
  return masks;
}

/**
 * Redacts names, arguments and messages of calls for an observer that shows them to people or models. Data of outcomes is passed
 * on unchanged.
 */
export function redactObserver({ onCall, onCallStarted }: CallObserver, redactor: Redactor): CallObserver {
  return {
    ...(onCallStarted && {
      onCallStarted: ({ seq, tool }) => onCallStarted({ seq, tool: redactor.redactText(tool).value }),
    }),
    ...(onCall && { onCall: async (call) => onCall(await redactCall(call, redactor)) }),
  };
}

async function redactCall(call: ObservedCall, redactor: Redactor): Promise<ObservedCall> {
  return {
    ...call,
    tool: redactor.redactText(call.tool).value,
    arguments: (await redactor.redactInTurns(call.arguments)).value,
    outcome: redactFailure(call.outcome, redactor),
  };
}

function redactFailure(outcome: CallOutcome, redactor: Redactor): CallOutcome {
  if (outcome.ok) {
    const { warning } = outcome;
    return warning === undefined ? outcome : { ...outcome, warning: redactor.redactText(warning).value };
  }
  const { error } = outcome;
  const message = redactor.redactText(error.message).value;
  return message === error.message ? outcome : { ...outcome, error: { ...error, message } };
}
