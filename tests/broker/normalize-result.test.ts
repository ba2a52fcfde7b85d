import { describe, expect, it } from "vitest";
import { resultBytes } from "../../broker/dispatcher.ts";
import { normalizeResult } from "../../broker/normalize-result.ts";
import { rowsBeside } from "../rows.ts";

const rows = rowsBeside(import.meta.filename);

const text = (value: string) => ({ type: "text", text: value });
const image = { type: "image", data: "AAAA", mimeType: "image/png" };
const audio = { type: "audio", data: "AAAA", mimeType: "audio/wav" };
const resource = { type: "resource", resource: { uri: "demo://a", text: "a" } };
const link = { type: "resource_link", uri: "demo://b", name: "b" };

describe("a tool's result", () => {
  it.each<[string, unknown, unknown]>([
    ...rows<[string, unknown, unknown]>("results"),
    ["a whole number with all digits", { content: [text("12345678901234567890")] }, 12345678901234567890n],
    ["one in JSON", { content: [text('{"id":-9007199254740993}')] }, { id: -9007199254740993n }],
    [
      "mixed content as blocks",
      { content: [text("{}"), audio, resource, link] },
      [text("{}"), audio, resource, link],
    ],
  ])("gives %s", (_name, result, data) => {
    expect(normalizeResult(result)).toEqual({ ok: true, data });
  });

  it.each(rows<[string, { structuredContent: unknown }, string]>("beside"))(
    "says that structured content leaves out %s",
    (_name, result, beside) => {
      expect(normalizeResult(result)).toEqual({ ok: true, data: result.structuredContent, beside });
    },
  );

  it.each(rows<[string, unknown, unknown, string]>("problems"))(
    "whose content is %s instead of a list is read, and says so",
    (_name, result, data, problem) => {
      expect(normalizeResult(result)).toEqual({ ok: true, data, problem });
    },
  );

  it("is a list for several items that come as one text each, and [x].flat() is one for none, one and several", () => {
    const items = [{ id: 1 }, { id: 2 }];
    for (const count of [0, 1, 2]) {
      const sent = items.slice(0, count);
      const result = normalizeResult({ content: sent.map((each) => text(JSON.stringify(each))) });
      expect([result.ok && result.data].flat()).toEqual(sent);
    }
  });

  it.each([
    "1e400",
    '{"price":-1e999}',
    '{"a":1,"a":2}',
    `${"[".repeat(200)}${"]".repeat(200)}`,
    `[${"0,".repeat(1_000_001)}0]`,
  ])("gives text as it is that is JSON which cannot be written again", (value) => {
    expect(normalizeResult({ content: [text(value)] })).toEqual({ ok: true, data: value });
  });

  it.each(["true", "false", 1, 0, "", {}])("with isError %j is a failure", (isError) => {
    expect(normalizeResult({ isError, content: [text("no")] })).toEqual({ ok: false, message: "no" });
  });

  it.each([false, null, undefined])("with isError %j is none", (isError) => {
    expect(normalizeResult({ isError, content: [text("yes")] })).toEqual({ ok: true, data: "yes" });
  });

  it.each<[string, unknown, string]>([
    ["its text", { isError: true, content: [text("no such file"), image] }, "no such file"],
    ["what its content is instead of a list", { isError: true, content: "no" }, "no"],
    ["a sentence", { isError: true, content: [] }, "the tool reported an error without saying which"],
  ])("that is an error says %s", (_name, result, message) => {
    expect(normalizeResult(result)).toEqual({ ok: false, message });
  });

  it("that is an error has its structured content as data", () => {
    const structuredContent = { code: 7 };
    expect(normalizeResult({ isError: true, content: [text("no")], structuredContent })).toEqual({
      ok: false,
      message: "no",
      data: structuredContent,
    });
    expect(normalizeResult({ isError: true, content: [], structuredContent })).toEqual({
      ok: false,
      message: '{"code":7}',
      data: structuredContent,
    });
    expect(normalizeResult({ isError: true, content: [text("no")], structuredContent: null })).toEqual({
      ok: false,
      message: "no",
    });
  });

  it.each([null, 1, "x", []])("that is %j is a failure", (result) => {
    expect(normalizeResult(result).ok).toBe(false);
  });

  it("counts the bytes that a model would have read", () => {
    expect(resultBytes({ content: [text("é"), text("ab")], structuredContent: { a: "é" } })).toBe(4);
    expect(resultBytes({ content: [], structuredContent: { a: 1 } })).toBe(7);
    expect(resultBytes({ content: [image] })).toBe(JSON.stringify(image).length);
  });
});
