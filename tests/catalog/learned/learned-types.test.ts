import { expect, it } from "vitest";
import {
  collectLearned,
  type LearnedRecord,
  learnedOfServer,
  parseLearned,
  renderLearned,
} from "../../../catalog/learned/learned-types.ts";
import { definitionDigest } from "../../../catalog/parse-tool.ts";

const [LIST, GET] = [
  { name: "list", inputSchema: { type: "object" } },
  { name: "get", inputSchema: { type: "object" } },
];
const record = (tool: { name: string }, more: Partial<LearnedRecord> = {}): LearnedRecord => ({
  ...{ server: "a", tool: tool.name, definition: definitionDigest(tool), calls: 3 },
  ...{ schema: { type: "array" }, ...more },
});

it("learned types are those of tools that are still defined as when they were called, and do not declare their output", () => {
  const changed = { ...LIST, description: "now with a description" };
  const declared = { ...GET, outputSchema: { type: "object" } };
  const types = collectLearned([
    ...[record(LIST), record(changed, { calls: 4 }), record(GET), record(declared)],
    record({ name: "put" }, { server: "b" }),
  ]);
  const found = (...listed: unknown[]) =>
    [...learnedOfServer(types, "a", listed)].map(([name, { calls }]) => [name, calls]);
  expect(found(LIST, GET)).toEqual([
    ["list", 3],
    ["get", 3],
  ]);
  expect(found("no tool", { name: 1 }, changed)).toEqual([["list", 4]]);
  expect(found(LIST, changed)).toEqual([["list", 3]]);
  expect(found(declared, { name: "put" }, { ...GET, title: "Get" })).toEqual([]);
  expect(learnedOfServer(undefined, "a", [LIST]).size).toBe(0);
});

it("of two types of one tool, the one of more calls is kept, and a file has them in one order", () => {
  const [few, more] = [record(LIST, { calls: 2 }), record(LIST, { calls: 5 })];
  const types = collectLearned([
    record(LIST),
    few,
    more,
    record(LIST, { calls: 5, schema: {} }),
    record(GET),
  ]);
  expect([...types.values()]).toEqual([more, record(GET)]);
  const text = renderLearned(types);
  expect(renderLearned(collectLearned([record(GET), more]))).toBe(text);
  const parsed = parseLearned(Buffer.from(text));
  expect([...(parsed?.values() ?? [])]).toEqual([record(GET), more]);
  for (const broken of [
    "{",
    text.replace('"calls":5', '"calls":0'),
    text.replace('"version":1', '"version":2'),
  ])
    expect(parseLearned(Buffer.from(broken))).toBeUndefined();
});
