import fc from "fast-check";
import { expect, it } from "vitest";
import { headAndTail, type LeftOut } from "../../../execution/output/head-and-tail.ts";

it("a text that is too long keeps beginning and end, whole characters, and says exactly what is missing", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "\n", "é", "\u{1f600}"),
    minLength: 60,
    maxLength: 400,
  });
  fc.assert(
    fc.property(text, fc.integer({ min: 20, max: 200 }), (whole, maxBytes) => {
      let leftOut: LeftOut | undefined;
      const shown = headAndTail(whole, maxBytes, (left) => {
        leftOut = left;
        return "[gap]";
      });
      if (leftOut === undefined) {
        expect(shown).toBe(whole);
        return;
      }
      expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(maxBytes + "[gap]\n".length);
      const { from, to, of } = leftOut;
      expect(of).toBe(whole.length);
      const [head = "", tail = ""] = shown.split("[gap]\n");
      expect(head.replace(/\n$/, "")).toBe(whole.slice(0, from).replace(/\n$/, ""));
      expect(tail).toBe(`${whole.slice(to).replace(/\n$/, "")}\n... (truncated)`);
      expect(shown).not.toMatch(/\p{Cs}/u);
    }),
  );
});
