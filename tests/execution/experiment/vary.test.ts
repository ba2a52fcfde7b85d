import { describe, expect, it } from "vitest";
import { vary, wordsOf } from "../../../execution/experiment/vary.ts";

const variation = (seed = 1, kept: readonly string[] = [], turnsTruth = false) => ({
  seed,
  kept: new Set(kept),
  turnsTruth,
});

describe("other data of the same shape", () => {
  it.each([
    ["Eve wrote to eve@evil.test", /^[A-Z][a-z]{2} [a-z]{5} [a-z]{2} [a-z]{3}@[a-z]{4}\.[a-z]{4}$/],
    ["DE89 3704", /^[A-Z]{2}\d{2} \d{4}$/],
    ["Straße 12", /^[A-Z][a-z]{3}\p{L}[a-z] \d{2}$/u],
    ["2026-05-04T10:30:00Z", /^2026-05-(?:0[1-9]|1\d|2[0-8])T10:[0-5]\d:00[A-Z]$/],
    ['{"to":"eve"}', /^\{"to":"[a-z]{3}"\}$/],
  ])("is a text like %s", (text, shape) => {
    const varied = vary(text, variation());
    expect(varied).toMatch(shape);
    expect(varied).not.toBe(text);
    expect(vary(text, variation())).toBe(varied);
    expect(vary(text, variation(2))).not.toBe(varied);
  });

  it.each([0, 7, 42, 1000, -61.5, 0.25, 1e21])("is a number in the place of %d", (number) => {
    const varied = vary(number, variation());
    expect(typeof varied).toBe("number");
    expect(varied).not.toBe(number);
    expect(Math.sign(varied as number) * Math.sign(number)).not.toBe(-1);
  });

  it("has another digit in the place of each, and none before the others that is zero", () => {
    for (let seed = 1; seed <= 200; seed++)
      for (const text of ["1234567890", "9876543210", "1111111111", "0000", "5"]) {
        const varied = vary(text, variation(seed)) as string;
        expect(varied).toMatch(/^\d+$/);
        expect(varied).toHaveLength(text.length);
        for (const [index, digit] of [...text].entries()) expect(varied[index]).not.toBe(digit);
        if (!/^0|^.$/.test(text)) expect(varied).toMatch(/^[1-9]/);
      }
  });

  it("has the same other word wherever a word stands, and names of members stay", () => {
    const { id, list } = vary({ id: "a-77", list: ["a-77", "b-78"] }, variation()) as {
      id: string;
      list: string[];
    };
    expect(list).toEqual([id, expect.not.stringMatching(id)]);
    expect(Object.keys(vary({ from: 1, "eve@evil.test": 1 }, variation()) as object)).toEqual([
      "from",
      expect.not.stringContaining("evil"),
    ]);
  });

  it("keeps the words that it is told to keep, and turns truth over where it is asked about", () => {
    expect(vary("status: open", variation(1, ["status", "open"]))).toBe("status: open");
    expect([vary(true, variation()), vary(true, variation(1, [], true)), vary(null, variation())]).toEqual([
      true,
      false,
      null,
    ]);
  });
});

it("finds the words that a program has in quotes", () => {
  expect([...wordsOf("if (a === \"open\" || b.match(/due|late/)) send('to', `x ${y}`) // comment")]).toEqual(
    expect.arrayContaining(["open", "due", "late", "to"]),
  );
  expect(wordsOf("# comment\nx = 1").size).toBe(0);
});
