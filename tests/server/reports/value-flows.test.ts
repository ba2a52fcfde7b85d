import { expect, test } from "vitest";
import type { CallRecord, ValueFlow } from "../../../archive/run-record.ts";
import { describeRecordedValues, flowsIn } from "../../../server/reports/value-flows.ts";

const MAIL = {
  kind: "result",
  tool: "mcp__mail__read",
  call: 0,
  labels: ["untrusted"],
} satisfies ValueFlow["origins"][number];
const VALUES: ValueFlow[] = [
  { path: "to[0]", origins: [{ kind: "user", labels: [] }], labels: [] },
  { path: "to[1]", origins: [MAIL], labels: ["untrusted"] },
  { path: "body", origins: [MAIL, { kind: "program", labels: [] }], labels: ["untrusted"] },
  { path: "cc", origins: [{ ...MAIL, call: 4, earlier: true }], labels: ["untrusted"] },
  { path: "copies", origins: [], labels: [], undecided: ["untrusted"] },
];

test("say of each argument where its values came from, in words", () => {
  expect(describeRecordedValues(VALUES)).toEqual([
    "to: from what the user said; from what mcp__mail__read answered (call 1) (written by a stranger)",
    "body: from what mcp__mail__read answered (call 1) (written by a stranger)",
    "cc: from what mcp__mail__read answered (in an earlier run) (written by a stranger)",
    "copies: may depend on data written by a stranger",
  ]);
  expect(describeRecordedValues()).toEqual([]);
});

test("lead from reads to calls, each pair once", () => {
  const calls = [{ seq: 0 }, { seq: 1, values: VALUES }] as unknown as CallRecord[];
  expect(flowsIn(calls)).toEqual([
    { from: undefined, place: "the user", to: 1, paths: ["to"], labels: [] },
    { from: 0, place: "an earlier run", to: 1, paths: ["to", "body"], labels: ["untrusted"] },
    {
      from: undefined,
      place: "mcp__mail__read in an earlier run",
      to: 1,
      paths: ["cc"],
      labels: ["untrusted"],
    },
  ]);
});
