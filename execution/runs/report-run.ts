import { oneLine } from "../../base/visible-text.ts";
import type { QuestionInterceptor } from "../../broker/approvals/question-interceptors.ts";
import type { Envelope } from "../../protocol/envelope.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import type { Redactor } from "../../secrets/redaction.ts";
import type { CallObserver } from "../call-log.ts";
import type { RunEvent } from "./run-events.ts";

/** The most characters of a tool's name in an event. */
const MAX_TOOL_CHARS = 300;

/** Publishes the events of one run. It observes the calls of the run. */
export interface RunReporter extends Required<CallObserver> {
  /** Publishes each question and its answer. */
  readonly aroundQuestions: QuestionInterceptor;
  end(envelope: Pick<Envelope, "result" | "duration_ms">): void;
}

/** Begins to report one run. @param publish receives each event; must not throw. */
export function reportRun(
  publish: (event: RunEvent) => void,
  run: { runId: string; context: RunContext },
  redactor: Pick<Redactor, "redactText">,
): RunReporter {
  const shown = (tool: string) => oneLine(redactor.redactText(tool).value, MAX_TOOL_CHARS);
  publish({ ...run, kind: "started" });
  return {
    onCallStarted: ({ seq, tool }) => publish({ ...run, kind: "call-started", seq, tool: shown(tool) }),
    onCall({ seq, tool, durationMs, outcome }) {
      const { decision } = outcome;
      const failure = outcome.ok ? {} : { failure: outcome.error.type };
      publish({ ...run, kind: "call-ended", seq, tool: shown(tool), durationMs, decision, ...failure });
    },
    aroundQuestions: (next) => ({
      async ask(request, signal) {
        const tool = shown(request.tool);
        publish({ ...run, kind: "question-asked", tool });
        let decision: "once" | "run" | "denied" | "later" | "withdrawn" = "withdrawn";
        try {
          const answer = await next.ask(request, signal);
          decision = answer.decision;
          return answer;
        } finally {
          publish({ ...run, kind: "question-answered", tool, decision });
        }
      },
      async elicit(elicitation, signal) {
        const { server } = elicitation;
        publish({ ...run, kind: "elicitation-asked", server });
        let action: "accept" | "decline" | "cancel" | "unasked" | "withdrawn" = "withdrawn";
        try {
          const answer = await next.elicit(elicitation, signal);
          action = answer.action;
          return answer;
        } finally {
          publish({ ...run, kind: "elicitation-answered", server, action });
        }
      },
    }),
    end({ result, duration_ms: durationMs }) {
      const outcome = result.ok ? "ok" : result.error.type;
      publish({ ...run, kind: "ended", outcome, durationMs, toolCalls: result.metrics.tool_calls });
    },
  };
}
