import fc from "fast-check";
import { expect, it } from "vitest";
import { WordTable } from "../../../../catalog/search/inverted-index.ts";
import { rawWords } from "../../../../catalog/search/words.ts";

/** A table that numbers words as they come, and the words by number. */
function numbering() {
  const words: string[] = [];
  const table = new WordTable({ wordsOf: rawWords, numberOf: (word) => words.push(word) - 1 });
  const read = (text: string) => {
    const numbers: number[] = [];
    table.read(text, numbers);
    return numbers.map((number) => words[number]);
  };
  return { table, words, read };
}

const texts = fc.array(
  fc.oneof(
    fc.constantFrom(
      "e-mail",
      "GitHub",
      "-",
      "--",
      "s3",
      " ",
      "_",
      "é",
      "—",
      "’",
      "→",
      "仓库",
      "😀",
      "ｆ",
      "\ud800",
    ),
    fc.string({ maxLength: 6 }),
    fc.string({ unit: "binary", maxLength: 3 }),
  ),
  { maxLength: 20 },
);

it("reads the words that a text has, whatever it read before", () => {
  const { read } = numbering();
  fc.assert(
    fc.property(texts, (pieces) => {
      const text = pieces.join("");
      expect(read(text)).toEqual([...rawWords(text)]);
    }),
  );
});

it.each<[text: string, words: string[]]>([
  ["e-mail to-do", ["e-mail", "to-do"]],
  ["a-b-c", ["a-b-c"]],
  ["a--b", ["a", "b"]],
  ["a- b -c", ["a", "b", "c"]],
  ["a-_b", ["a", "b"]],
  ["-a", ["a"]],
  ["a-", ["a"]],
  ["--", []],
  ["", []],
])("reads a hyphen as part of a word only between letters or digits: %j", (text, words) => {
  const { read } = numbering();
  read("abc-def");
  expect(read(text)).toEqual(words);
});

it("asks once what a word is", () => {
  const { words, read } = numbering();
  read("create an issue, create-issue");
  read("an issue — create");
  expect(words).toEqual(["create", "an", "issue", "create-issue"]);
});

it("asks again once it is cleared", () => {
  const { table, words, read } = numbering();
  read("issue");
  table.clear();
  read("issue");
  expect(words).toEqual(["issue", "issue"]);
});

it("tells hundreds of thousands of words apart", () => {
  const { read } = numbering();
  const many = Array.from({ length: 300_000 }, (_, index) => `w${index}`);
  for (let from = 0; from < many.length; from += 1000) {
    const some = many.slice(from, from + 1000);
    expect(read(some.join(" "))).toEqual(some);
  }
  expect(read("w1 w299999 w150000")).toEqual(["w1", "w299999", "w150000"]);
});

it("keeps apart long words that begin alike", () => {
  const { read } = numbering();
  const long = "a".repeat(5_000);
  expect(read(`${long}b ${long}c ${long}b`)).toEqual([`${long}b`, `${long}c`, `${long}b`]);
});
