/** What is done in steps with a large value is what is done in one go. */
import { describe, expect, it } from "vitest";
import { inTurns, isLight, writeSteps } from "../../base/in-turns.ts";
import { jsonLine } from "../../base/json.ts";
import { noteMediaIn, noteMediaInTurns } from "../../execution/output/media-notes.ts";
import { canonicalJson, canonicalJsonInTurns } from "../../protocol/canonical-json.ts";
import { Redactor } from "../../secrets/redaction.ts";

const SECRET = "s3cr3t-Token-value";
const PNG = "iVBORw0KGgo".padEnd(64, "A");
const list = <T>(length: number, item: (index: number) => T) => Array.from({ length }, (_, i) => item(i));
const members = (length: number, name: (index: number) => string) =>
  Object.fromEntries(list(length, (i): [string, unknown] => [name(i), i]));

const LARGE: [what: string, value: unknown][] = [
  ["many numbers", list(30_000, (i) => i)],
  [
    "rows",
    list(9_000, (i) => ({
      z: i,
      a: `row ${i}`,
      image: i === 7 ? PNG : null,
      b: [SECRET, null],
      none: undefined,
    })),
  ],
  ["many members in no order", members(20_000, (i) => `k${(i * 7_919) % 20_000}`)],
  [
    "objects in objects",
    { first: members(9_000, (i) => `k${i}`), empty: {}, none: [], last: { x: list(9_000, () => [[]]) } },
  ],
  ["names that are secrets", { ...members(9_000, (i) => `k${i}`), [SECRET]: 1, [`${SECRET} `]: 2 }],
  ["a long text", `${"word ".repeat(80_000)}${SECRET}${" word".repeat(80_000)}`],
  ["a long text in lists", [[`${"word ".repeat(80_000)}${SECRET}`]]],
  ["a member named __proto__", JSON.parse(`{"__proto__":${JSON.stringify(list(9_000, (i) => i))}}`)],
];

describe("in turns", () => {
  it.each(LARGE)("%s are written, redacted and digested as in one go", async (_, value) => {
    expect(isLight(value)).toBe(false);
    const redactor = new Redactor([SECRET], [SECRET]);
    expect(await inTurns(writeSteps(value, jsonLine))).toBe(jsonLine(value));
    expect(await canonicalJsonInTurns(value)).toBe(canonicalJson(value));
    expect(await redactor.redactInTurns(value)).toEqual(redactor.redactValue(value));
    expect(await noteMediaInTurns(value)).toEqual(noteMediaIn(value));
  });

  it("a value without secrets is itself", async () => {
    const [[, value] = []] = LARGE;
    expect((await new Redactor([]).redactInTurns(value)).value).toBe(value);
  });
});
