import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundedJson, jsonInTurns } from "../../../broker/schemas/json-parts.ts";

async function inParts(value: unknown): Promise<string[]> {
  const parts: string[] = [];
  for await (const part of jsonInTurns(value)) parts.push(part);
  return parts;
}

const filler = "f".repeat(300_000);

describe("JSON text in parts", () => {
  it("is what JSON.stringify gives, whether it is short or long", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        for (const each of [value, [value, filler], { value, filler }]) {
          const text = (await inParts(each)).join("");
          expect(JSON.parse(text)).toStrictEqual(JSON.parse(JSON.stringify(each)));
          expect(text.length).toBe(JSON.stringify(each).length);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("cuts long strings, and gives the characters on a cut as they were", async () => {
    for (const shift of [0, 1]) {
      const value = "x".repeat(shift) + "\u{1f600}".repeat(200_000);
      const parts = await inParts([value]);
      expect(parts.length).toBeGreaterThan(4);
      expect(JSON.parse(parts.join(""))).toStrictEqual([value]);
    }
  });

  it("writes what nests deeper than JSON.stringify goes", async () => {
    let value: unknown = 1;
    for (let i = 0; i < 100_000; i++) value = [value];
    expect((await inParts(value)).join("")).toBe(`${"[".repeat(100_000)}1${"]".repeat(100_000)}`);
  });

  it("stops where it is longer than it may be", async () => {
    expect(await boundedJson([1, 2, 3], 7)).toBe("[1,2,3]");
    expect(await boundedJson([1, 2, 3], 6)).toBeUndefined();
    expect(await boundedJson(Array(1_000_000).fill(1), 1_000)).toBeUndefined();
  });
});
