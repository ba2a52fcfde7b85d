import { expect, it } from "vitest";
import {
  ExecuteProgramArguments,
  ListCallableToolsArguments,
  parseArguments,
  ReadOutputArguments,
  SearchToolsArguments,
} from "../../../server/mcp/tools/own-tools.ts";

it.each<[what: string, given: unknown, read: unknown]>([
  [
    "null for what is left out",
    { code: "1", data: null, timeout_seconds: null, typecheck: null, language: null, session: null },
    { code: "1" },
  ],
  ["null for an argument that is not there", { code: "1", reason: null }, { code: "1" }],
  ["a number as text", { code: "1", timeout_seconds: "30" }, { code: "1", timeout_seconds: 30 }],
  ["a number with spaces", { code: "1", timeout_seconds: " 0.5 " }, { code: "1", timeout_seconds: 0.5 }],
  ["an object as JSON", { code: "1", data: '{"a":[1]}' }, { code: "1", data: { a: [1] } }],
  ["the program as lines", { code: ["a", "", "b"] }, { code: "a\n\nb" }],
  ["a program that is JSON", { code: '{"a":1}' }, { code: '{"a":1}' }],
  ["all arguments as JSON", '{"code":"1","timeout_seconds":"2"}', { code: "1", timeout_seconds: 2 }],
  [
    "texts in data as they are",
    { code: "1", data: { a: "5", b: null } },
    { code: "1", data: { a: "5", b: null } },
  ],
])("execute_program takes %s", (_, given, read) => {
  expect(parseArguments(ExecuteProgramArguments, given)).toEqual({ ok: true, value: read });
});

it("the other tools take null and numbers as text as well", () => {
  const search = { query: "7", server: null, detail: null, limit: "3", language: null };
  expect(parseArguments(SearchToolsArguments, search)).toEqual({
    ok: true,
    value: { query: "7", detail: "description", limit: 3 },
  });
  expect(parseArguments(ReadOutputArguments, { run: "12", offset: "100", grep: null })).toEqual({
    ok: true,
    value: { run: "12", offset: 100 },
  });
  expect(parseArguments(ListCallableToolsArguments, null)).toEqual({ ok: true, value: {} });
});
