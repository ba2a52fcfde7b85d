import fc from "fast-check";
import { expect, test } from "vitest";
import { blockComment, propertyName, quoteString } from "../../codegen/escape.ts";
import { tokenizeModule } from "./parse-module.ts";

const text = fc.string({ unit: "binary", maxLength: 60 });

test("any string, quoted, is one literal on one line with that value", () => {
  fc.assert(
    fc.property(text, (value) => {
      const literal = quoteString(value);
      expect(JSON.parse(literal)).toBe(value);
      expect(tokenizeModule(literal)).toEqual([{ kind: "string", text: literal }]);
      expect(literal).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
    }),
  );
});

test("any text, commented, is one comment", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(text, fc.constantFrom("*/", "*", "/", "@", "\n"))), (parts) => {
      const comment = blockComment(parts.join("")).join("\n");
      expect(tokenizeModule(comment).map((token) => token.kind)).toEqual(comment === "" ? [] : ["comment"]);
    }),
  );
});

test("a description of several lines keeps its lines, without blank ones around it", () => {
  expect(blockComment("\n\nfirst\r\n\r\n  second\n\n")).toEqual([
    "/**",
    " * first",
    " *",
    " *   second",
    " */",
  ]);
});

test("facts follow the text, and one line is written on one line", () => {
  expect(blockComment("text", ["@deprecated"])).toEqual(["/**", " * text", " * @deprecated", " */"]);
  expect(blockComment("", ["@deprecated"])).toEqual(["/** @deprecated */"]);
  expect(blockComment(" \n ")).toEqual([]);
});

test("only identifiers are written bare as property names", () => {
  expect(["a", "$a_1", "1a", "a-b", "é", ""].map(propertyName)).toEqual([
    "a",
    "$a_1",
    '"1a"',
    '"a-b"',
    '"é"',
    '""',
  ]);
});
