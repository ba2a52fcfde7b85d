import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { renderRedactedJson } from "../../../execution/record/redacted-json.ts";
import { canonicalJson } from "../../../protocol/canonical-json.ts";
import { Redactor } from "../../../secrets/redaction.ts";

const SECRET = "correct-horse-battery-staple";
const redactor = new Redactor([SECRET]);

const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constant(`my ${SECRET}!`),
  fc.constantFrom(
    "x".repeat(400_000),
    `${"\u{1f600}".repeat(200_000)}`,
    `a${"\u{1f600}".repeat(200_000)}\ud800`,
  ),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    text,
    fc.jsonValue(),
    fc.array(tie("any"), { maxLength: 6 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constant(`${SECRET}1`), fc.constant(`${SECRET}2`)), tie("any"), {
      maxKeys: 6,
    }),
    fc.nat({ max: 20_000 }).map((length) => Array.from({ length }, (_, i) => (i % 7 === 0 ? SECRET : i))),
    fc
      .nat({ max: 9_000 })
      .map((length) => Object.fromEntries(Array.from({ length }, (_, i) => [`n${(i * 7_919) % length}`, i]))),
  ),
})).any;

test("what is written in slices is what redacting all at once gives, in either form", async () => {
  const property = fc.asyncProperty(value, async (given) => {
    const { value: redacted, count } = redactor.redactValue(given);
    const asItIs = await renderRedactedJson(given, redactor, "as it is");
    const canonical = await renderRedactedJson(given, redactor, "canonical");
    expect(asItIs.json === JSON.stringify(redacted)).toBe(true);
    expect(canonical.json === canonicalJson(redacted)).toBe(true);
    expect([asItIs.redactions, canonical.redactions]).toEqual([count, count]);
  });
  await fc.assert(property, { numRuns: 30 });
});

test("what nests too deep is left out", async () => {
  let deep: unknown = "x".repeat(500_000);
  for (let i = 0; i < 1_000; i++) deep = [deep];
  const { json, redactions } = await renderRedactedJson(deep, redactor, "canonical");
  expect(json).toBe(`${"[".repeat(128)}"[REDACTED:too-deep]"${"]".repeat(128)}`);
  expect(redactions).toBe(1);
});

test("others have their turn while a large value is written", async () => {
  const large = Array.from({ length: 600_000 }, (_, i) => `value ${i}`);
  let turns = 0;
  let done = false;
  const others = (async () => {
    while (!done) {
      await setImmediate();
      turns++;
    }
  })();
  await renderRedactedJson(large, redactor, "as it is");
  done = true;
  await others;
  // One of them comes after all is written.
  expect(turns).toBeGreaterThan(1);
});
