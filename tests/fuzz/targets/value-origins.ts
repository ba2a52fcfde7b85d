import assert from "node:assert/strict";
import { Conversation } from "../../../broker/flow/conversation.ts";
import { leavesOf, readings } from "../../../broker/flow/folded-text.ts";
import { RunFlow } from "../../../broker/flow/run-flow.ts";
import { parseSaid } from "../../../server/mcp/said-socket.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileText } from "../hostile/hostile-text.ts";

/** Texts of servers and of programs, as values are traced by them: whatever they are, a long piece of a labelled text is found in it. */
export const target = fuzzTarget({
  name: "value-origins",
  iterations: 60,
  generate: (random) => hostileText(random),
  async check(input) {
    const text = input.toString("utf8");
    parseSaid(text);
    leavesOf({ [text]: [text, { [text]: text }] }, 100);
    assert(readings(text).join("").length <= 3 * text.length + 4_096, "decoded texts have a bound");
    const run = new RunFlow({
      conversation: new Conversation(),
      runId: "1",
      isSticky: true,
      program: [text.slice(0, 5)],
    });
    run.answered({ tool: "t", server: "s", seq: 1 }, ["l"], undefined, [{ [text]: text }]);
    const { leaves } = await run.follow({ tool: "t", seq: 2, arguments: { a: text } });
    const [leaf] = leaves;
    const letters = text.replace(/[^a-z0-9]/g, "");
    if (letters.length >= 32)
      assert([...(leaf?.labels ?? []), ...(leaf?.undecided ?? [])].includes("l"), "it carries its label");
    await run.show([text]);
  },
});
