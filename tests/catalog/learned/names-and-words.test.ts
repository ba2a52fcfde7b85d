import { describe, expect, it } from "vitest";
import { isDataName } from "../../../catalog/learned/shape.ts";
import { definedWords } from "../../../generation/learning/learn-types.ts";

describe("the words that a definition lists", () => {
  it("are those of its choices, as far as they are short and in form of words", () => {
    const longest = "w".repeat(40);
    const schema = {
      properties: {
        a: { enum: ["open", "in progress", longest, `${longest}w`, "1st", "a.b", "", 7, null] },
        b: { const: "fixed", default: "not this", examples: ["nor this"], items: [{ const: "deep" }] },
      },
    };
    expect([...definedWords(schema)]).toEqual(["open", "in progress", longest, "fixed", "deep"]);
    expect(definedWords(undefined).size).toBe(0);
  });

  it("are no more than 500, and none from deeper than 16 levels", () => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => `word_${index}`);
    expect(definedWords({ enum: names(500) }).size).toBe(500);
    expect([...definedWords({ enum: names(501) })]).toEqual(names(500));
    let schema: object = { const: "word" };
    for (let level = 0; level < 16; level++) schema = { items: schema };
    expect(definedWords(schema).size).toBe(1);
    expect(definedWords({ items: schema }).size).toBe(0);
  });
});

describe("a name", () => {
  it.each([
    "a".repeat(64),
    "year202",
    "item_7",
    "@type",
    "$ref",
    "xml:lang",
    "beadfeed",
    "sha256",
    "httpURL",
    "createdAtUTC",
    // Letters and digits change once more in what is data.
    "a1b",
    "x2y",
    "a-b_c",
    "Facade1",
    "label_5a",
    "caf\u00e91",
    "bead7",
    "HTTP",
    "A1",
    "item_42a",
    "aAB-7",
    "AB-7x",
    "xbeadfe1",
    "beadfe1x",
    "abcde1",
    "@typeOf",
    // Capitals that come and go, in so few words or so rarely that people may write them.
    "aBcDeFgHi",
    "abcDefgHij",
    "getUserIdOfIt",
    "userIdOfItXy",
    "userIdOfItXyAbC",
    "userIdOfItXyabcd",
    // Letters and digits that do.
    "A1ZYXWVU",
    "bbbbA1ABCDEFG",
    "A1ABCDEFGhhhh",
    "abcdefgh1j",
    "aBcdefg1j",
    "aBcdefgh1jkl",
    "first_a1b_last",
  ])("is a member's: %s", (name) => {
    expect(isDataName(name)).toBe(false);
  });

  it.each([
    "a".repeat(65),
    "year2026",
    "item_42",
    "item-42",
    "AB-7",
    "ABC-1",
    "@user1",
    "beadfe1",
    "bead-f00",
    "a b",
    "a:b:c",
    "a:b.c",
    "a:b c",
    "1st",
    "",
    "a1b2",
    "a1b2c",
    "aB3dE5fG7h",
    "f00dbead",
    "F00DBEAD",
    "a1-b2-c3",
    "@1a",
    "aBcDeFgHiJ",
    "abCdefGhIj",
    "QXWzTYHbKL",
    "first-aBcDeFgHiJ",
    "userIdOfItXyAbCd",
    "A1ZYXWVUT",
    "aBcdefgh1j",
    "first_a1b2_last",
  ])("is data: %s", (name) => {
    expect(isDataName(name)).toBe(true);
  });
});
