import fc from "fast-check";
import { expect, it } from "vitest";
import { LARGE_TEXT_CHARS, liftTexts, putText } from "../../../protocol/wire/large-texts.ts";

const LARGE = "x".repeat(LARGE_TEXT_CHARS);

/** JSON values in which some texts are large. */
const { value: VALUES } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<unknown>(null, 0, "", "short", LARGE, `${LARGE}\u00e9`, `${LARGE}\ud800`),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom("a", "0", "__proto__", "length"), tie("value"), { noNullPrototype: true }),
  ),
}));

it("a value comes together again of what is left of it and its texts, and is not changed", () => {
  fc.assert(
    fc.property(VALUES, (value) => {
      const json = JSON.stringify(value);
      const lifted = liftTexts(JSON.parse(json));
      if (lifted === undefined) return;
      expect(lifted.texts.length).toBe(lifted.places.length);
      expect(lifted.texts.every((text) => text.length >= LARGE_TEXT_CHARS)).toBe(true);
      let whole: unknown = JSON.parse(JSON.stringify(lifted.value));
      for (const [index, text] of lifted.texts.entries())
        whole = putText(whole, lifted.places[index] ?? [], text);
      expect(JSON.stringify(whole)).toBe(json);
    }),
  );
});

it.each([
  ["itself", LARGE, [[]]],
  [
    "in members of members",
    { a: [{ text: LARGE }, LARGE] },
    [
      ["a", 0, "text"],
      ["a", 1],
    ],
  ],
  [
    "where names are those of objects' own parts",
    JSON.parse(`{"__proto__":"${LARGE}","toString":"${LARGE}"}`),
    [["toString"]],
  ],
  ["that UTF-8 cannot carry", `${LARGE}\udfff`, undefined],
  ["that are deep down", [[[[[LARGE]]]]], undefined],
  ["among many", Array(101).fill(LARGE), undefined],
  ["that are not large", [LARGE.slice(1)], undefined],
])("large texts are found: %s", (_, value, places) => {
  expect(liftTexts(value)?.places).toEqual(places);
});
