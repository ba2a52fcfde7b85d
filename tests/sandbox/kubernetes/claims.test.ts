import fc from "fast-check";
import { expect, test } from "vitest";
import { labelValue } from "../../../sandbox/kubernetes/claims.ts";

test("a label has a run's id as it is, and the digest of what a label cannot have", () => {
  expect(labelValue("5e0d0a4e-6f3b-4f0e-9d2d-8d2c4a3f1b00")).toBe("5e0d0a4e-6f3b-4f0e-9d2d-8d2c4a3f1b00");
  expect(labelValue("local")).toBe("local");
  expect(labelValue("https://issuer.example.com#ann")).toBe("c652ee73361259ca286d6cdb94ddfdf2");
});

test("every text has a value that a label may have, and no two texts have the same", () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: "grapheme" }), fc.stringMatching(/^[0-9a-f]{32}$/));
  fc.assert(
    fc.property(text, text, (one, other) => {
      expect(labelValue(one)).toMatch(/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/);
      expect(labelValue(labelValue(one)) === labelValue(one)).toBe(labelValue(one) === one);
      if (one !== other) expect(labelValue(one)).not.toBe(labelValue(other));
    }),
  );
});
