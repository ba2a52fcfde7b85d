import { expect, test } from "vitest";
import { RunState } from "../../../broker/policy/run-history.ts";
import { toolOf } from "../../catalog/tool-of.ts";

const READ = toolOf("crm", "read");
const SEND = toolOf("web", "send");

test("a call sees the calls that began before it, and every answer until it is decided", () => {
  const state = new RunState();
  expect(state.begin(READ).history).toEqual({ calls: 0, callsOfTool: 0, reads: [] });
  const second = state.begin(READ);
  const third = state.begin(SEND);
  expect(second.history).toMatchObject({ calls: 1, callsOfTool: 1 });
  expect(third.history).toMatchObject({ calls: 2, callsOfTool: 0, reads: [] });
  state.read(READ, 1);
  state.read(READ, second.seq);
  expect(third.history.reads).toEqual([{ seq: 1, tool: READ.namespacedName, server: "crm", name: "read" }]);
});

test("a call that is tried again counts once", () => {
  const state = new RunState();
  expect(state.begin(SEND, 1).history).toMatchObject({ calls: 0, callsOfTool: 0 });
  expect(state.begin(SEND, 1).history).toMatchObject({ calls: 0, callsOfTool: 0 });
  expect(state.begin(SEND, 2).history).toMatchObject({ calls: 1, callsOfTool: 1 });
});

test("what earlier programs of the session have read is known from the beginning, as theirs", () => {
  const earlier = { seq: 4, tool: READ.namespacedName, server: "crm", name: "read" };
  const labelled = { ...earlier, labels: ["private"] };
  const state = new RunState([earlier, labelled]);
  state.read(READ, 1);
  state.read(SEND, 2);
  expect(state.servers).toEqual(new Set(["crm", "web"]));
  expect(state.begin(READ).history).toEqual({
    ...{ calls: 0, callsOfTool: 0 },
    reads: [
      { ...earlier, isEarlier: "session" },
      { ...labelled, isEarlier: "session" },
      { seq: 2, tool: SEND.namespacedName, server: "web", name: "send" },
    ],
  });
});

test("the calls of a record make the state that the run had", () => {
  const state = new RunState();
  state.replay(READ, { seq: 1, decision: "approved-once" });
  state.replay(SEND, { seq: 2, decision: "denied" });
  state.replay(SEND, { seq: 3, decision: "unreachable" });
  const { seq, history } = state.begin(SEND);
  expect(seq).toBe(4);
  expect(history).toMatchObject({ calls: 3, callsOfTool: 2, reads: [{ seq: 1, tool: READ.namespacedName }] });
});
