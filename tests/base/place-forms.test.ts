import fc from "fast-check";
import { expect, it } from "vitest";
import { normalizePath, placeForms } from "../../base/place-forms.ts";

it.each([
  ["/downloads/../system/.ssh", "/system/.ssh"],
  ["/downloads//a/./b", "/downloads/a/b"],
  ["//etc/passwd", "/etc/passwd"],
  ["a/../../b", "../b"],
  ["/../../b", "/b"],
  ["./a/", "a/"],
  ["..", "../"],
  ["/a/..", "/"],
  ["\\a\\..\\b", "/b"],
  ["/a/..;x=1/b", "/b"],
  ["/a/.. /b", "/b"],
  ["/a/..b/c", "/a/..b/c"],
  ["https://a.example/x/../../y", "https://a.example/y"],
  ["https://a.example//x", "https://a.example/x"],
  ["plain", "plain"],
])("normalizes %s to %s", (path, normal) => {
  expect(normalizePath(path)).toBe(normal);
});

it.each([
  ["/a/%2e%2e/b", "/b"],
  ["/a/%252e%252e%252fb", "/b"],
  ["/a/..%2fb", "/b"],
  ["/a/..%5Cb", "/b"],
  ["/a/%c0%ae%c0%ae/b", "/b"],
  ["/a/%u002e%u002e/b", "/b"],
  ["/a/．．/b", "/b"],
])("reads %s as %s, among others", (text, form) => {
  const { forms, isWhole } = placeForms(text);
  expect([isWhole, forms[0]]).toEqual([true, text]);
  expect(forms).toContain(form);
});

it("says where a text has more forms than are looked at", () => {
  expect(placeForms(`/a/${"%25".repeat(9)}2e`).isWhole).toBe(true);
  expect(placeForms(`/%${"25".repeat(9)}2e`).isWhole).toBe(false);
  expect(placeForms(`/${"a".repeat(70_000)}`).isWhole).toBe(false);
});

it("leaves nothing to normalize, and never leads above the root", () => {
  const piece = fc.constantFrom("a", "..", ".", "", "b;c", "..;x", "x:", "c");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const once = normalizePath(`/${pieces.join("/")}`);
      expect(normalizePath(once)).toBe(once);
      expect(once.split("/")).not.toContain("..");
    }),
  );
});
