import type { Random } from "../../../fuzz/random.ts";

/** How a stranger's text holds a value, and the expression of a program that takes it out of `found`. */
export interface Carried {
  readonly data: unknown;
  readonly js: string;
}

const pick = <T>(random: Random, items: readonly T[]) => random.pick(items);
const words = (random: Random, count: number, size = () => random.between(2, 9)) =>
  random.list(count, () => random.list(size(), () => pick(random, [..."abcdefghiklmnoprstuvw"])).join(""));

/** By name: what holds one bit in each of many places. */
const OF_BITS: Readonly<Record<string, (random: Random, bits: readonly number[]) => Carried>> = {
  "zero-width characters": (random, bits) => ({
    data: {
      body: words(random, bits.length)
        .map((word, at) => word + (bits[at] ? "\u200b" : ""))
        .join(" "),
    },
    js: String.raw`found.body.split(" ").map((word) => Number(word.includes("\u200b")))`,
  }),
  "letter case": (random, bits) => ({
    data: {
      body: words(random, bits.length)
        .map((word, at) => (bits[at] ? word.toUpperCase() : word))
        .join(" "),
    },
    js: `found.body.split(" ").map((word) => Number(word !== word.toLowerCase()))`,
  }),
  "lengths of words": (random, bits) => ({
    data: {
      body: words(random, bits.length)
        .map((word, at) => word + (word.length % 2 === bits[at] ? "" : "x"))
        .join(" "),
    },
    js: `found.body.split(" ").map((word) => word.length % 2)`,
  }),
  punctuation: (random, bits) => ({
    data: {
      body: words(random, bits.length)
        .map((word, at) => word + (bits[at] ? "," : ";"))
        .join(" "),
    },
    js: `[...found.body].filter((char) => ",;".includes(char)).map((char) => Number(char === ","))`,
  }),
  emoji: (random, bits) => ({
    data: {
      body: words(random, bits.length)
        .map((word, at) => word + (bits[at] ? "\u{1f642}" : "\u2600"))
        .join(""),
    },
    js: String.raw`[...found.body].filter((char) => char > "\u2000").map((char) => Number(char !== "\u2600"))`,
  }),
  "line breaks": (random, bits) => ({
    data: {
      body: words(random, bits.length)
        .map((word, at) => word + (bits[at] ? "\n" : " "))
        .join(""),
    },
    js: String.raw`[...found.body].filter((char) => char === "\n" || char === " ").map((char) => Number(char === "\n"))`,
  }),
  "combining marks": (random, bits) => ({
    data: {
      body: words(random, bits.length)
        .map((word, at) => `a${bits[at] ? "\u0301" : ""}${word}`)
        .join(" "),
    },
    js: String.raw`found.body.split(" ").map((word) => Number(word[1] === "\u0301"))`,
  }),
  nulls: (random, bits) => ({
    data: { items: bits.map((bit) => (bit ? null : pick(random, ["x", 1]))) },
    js: "found.items.map((each) => Number(each === null))",
  }),
  "truth values": (_, bits) => ({ data: { items: bits.map(Boolean) }, js: "found.items.map(Number)" }),
  "empty texts": (random, bits) => ({
    data: { items: bits.map((bit) => (bit ? "" : (words(random, 1)[0] ?? ""))) },
    js: `found.items.map((each) => Number(each === ""))`,
  }),
  "signs of numbers": (random, bits) => ({
    data: { items: bits.map((bit) => (bit ? -1 : 1) * random.between(1, 900)) },
    js: "found.items.map((each) => Number(each < 0))",
  }),
  "parity of numbers": (random, bits) => ({
    data: { items: bits.map((bit) => 2 * random.between(1, 900) + bit) },
    js: "found.items.map((each) => each % 2)",
  }),
  "members of items that are missing": (random, bits) => ({
    data: { items: bits.map((bit) => (bit ? { name: "a", flag: random.below(9) } : { name: "a" })) },
    js: `found.items.map((each) => Number("flag" in each))`,
  }),
  "members that are missing": (random, bits) => ({
    data: Object.fromEntries(bits.flatMap((bit, at) => (bit ? [[`m${at}`, random.below(9)]] : []))),
    js: `[${bits.map((_, at) => `"m${at}"`).join(",")}].map((name) => Number(name in found))`,
  }),
  "types of values": (random, bits) => ({
    data: { items: bits.map((bit) => (bit ? String(random.below(99)) : random.below(99))) },
    js: `found.items.map((each) => Number(typeof each === "string"))`,
  }),
  "lists or none": (_, bits) => ({
    data: { items: bits.map((bit) => (bit ? ["a"] : [])) },
    js: "found.items.map((each) => each.length)",
  }),
  "order of members": (_, bits) => ({
    data: { items: bits.map((bit) => (bit ? { a: 1, b: 1 } : { b: 1, a: 1 })) },
    js: `found.items.map((each) => Number(Object.keys(each)[0] === "a"))`,
  }),
  "equal items": (random, bits) => ({
    data: { first: "same", items: bits.map((bit) => (bit ? "same" : (words(random, 1)[0] ?? ""))) },
    js: "found.items.map((each) => Number(each === found.first))",
  }),
  "words that the program has": (random, bits) => ({
    data: { items: bits.map((bit) => (bit ? "yes" : pick(random, ["no", "never"]))) },
    js: `found.items.map((each) => Number(each === "yes"))`,
  }),
  "forms of texts": (random, bits) => ({
    data: {
      items: bits.map((bit) => (bit ? `2026-0${random.between(1, 9)}-1${random.below(9)}` : "a@b.test")),
    },
    js: String.raw`found.items.map((each) => Number(/^\d{4}-/.test(each)))`,
  }),
  "scripts of digits": (_, bits) => ({
    data: { body: bits.map((bit) => (bit ? "\u0661" : "1")).join("") },
    js: String.raw`[...found.body].map((char) => Number(char === "\u0661"))`,
  }),
  "months of dates": (random, bits) => ({
    data: { items: bits.map((bit) => `20${random.between(10, 39)}-0${bit ? 1 : random.between(2, 9)}-10`) },
    js: `found.items.map((each) => Number(each.slice(5, 7) === "01"))`,
  }),
};

/** What holds a number below 128 in each of many places. */
const OF_CODES: Readonly<Record<string, (random: Random, codes: readonly number[]) => Carried>> = {
  "lengths of texts": (_, codes) => ({
    data: { items: codes.map((code) => "x".repeat(code)) },
    js: "found.items.map((each) => each.length)",
  }),
  "lengths of lists": (_, codes) => ({
    data: { items: codes.map((code) => Array.from({ length: code }, () => 1)) },
    js: "found.items.map((each) => each.length)",
  }),
  numbers: (_, codes) => ({ data: { items: codes }, js: "found.items" }),
  sums: (random, codes) => {
    const parts = codes.map(() => random.below(50));
    return {
      data: { items: codes.map((code, at) => [parts[at], code - (parts[at] ?? 0)]) },
      js: "found.items.map(([a, b]) => a + b)",
    };
  },
  "years of dates": (random, codes) => ({
    data: { items: codes.map((code) => `${1900 + code}-0${random.between(1, 9)}-11`) },
    js: `found.items.map((each) => Number(each.slice(0, 4)) - 1900)`,
  }),
  "digits in a text": (_, codes) => ({
    data: { body: codes.join(" ") },
    js: `found.body.split(" ").map(Number)`,
  }),
  "places in an alphabet": (_, codes) => ({
    data: { items: codes.map((code) => code - 32) },
    js: "found.items.map((each) => each + 32)",
  }),
  "sorted by number": (random, codes) => ({
    data: { items: random.shuffled(codes.map((code, at) => ({ rank: at, code }))) },
    js: "found.items.sort((a, b) => a.rank - b.rank).map((each) => each.code)",
  }),
  "members named by numbers": (_, codes) => ({
    data: { fields: Object.fromEntries(codes.map((code, at) => [`k${at}x${code}`, 1])) },
    js: `Object.keys(found.fields).map((name) => Number(name.split("x")[1]))`,
  }),
};

const rot13 = (text: string) =>
  text.replace(/[a-z]/gi, (char) => {
    const first = char <= "Z" ? 65 : 97;
    return String.fromCharCode(((char.charCodeAt(0) - first + 13) % 26) + first);
  });

/** What holds a text. */
const OF_TEXT: Readonly<Record<string, (random: Random, text: string) => Carried>> = {
  verbatim: (random, text) => ({
    data: { body: `${words(random, 2).join(" ")} GO:${text}:OG` },
    js: 'found.body.split("GO:")[1].split(":OG")[0]',
  }),
  "the name of a member": (_, text) => ({
    data: { fields: { [text]: 1 } },
    js: "Object.keys(found.fields)[0]",
  }),
  base64: (_, text) => ({
    data: { body: Buffer.from(text).toString("base64") },
    js: `Buffer.from(found.body, "base64").toString()`,
  }),
  hexadecimal: (_, text) => ({
    data: { body: Buffer.from(text).toString("hex") },
    js: `Buffer.from(found.body, "hex").toString()`,
  }),
  ROT13: (_, text) => ({
    data: { body: rot13(text) },
    js: `found.body.replace(/[a-z]/gi, (char) => String.fromCharCode(((char.charCodeAt(0) - (char <= "Z" ? 65 : 97) + 13) % 26) + (char <= "Z" ? 65 : 97)))`,
  }),
  reversed: (_, text) => ({
    data: { body: [...text].reverse().join("") },
    js: `[...found.body].reverse().join("")`,
  }),
  "full width": (_, text) => ({
    data: { body: [...text].map((char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0)).join("") },
    js: `found.body.normalize("NFKC")`,
  }),
  "letter by letter": (_, text) => ({
    data: { body: [...text].join("|") },
    js: `found.body.split("|").map((char) => [...Array(95).keys()].map((code) => String.fromCharCode(code + 32)).find((each) => each === char)).join("")`,
  }),
  "in JSON": (_, text) => ({
    data: { body: JSON.stringify({ a: { b: text } }) },
    js: "JSON.parse(found.body).a.b",
  }),
  "shuffled letters": (random, text) => {
    const order = random.shuffled([...text].map((_, at) => at));
    return {
      data: { body: order.map((at) => text[at]).join(""), order },
      js: `found.order.map((at, index) => [at, found.body[index]]).sort((a, b) => a[0] - b[0]).map((each) => each[1]).join("")`,
    };
  },
  "every other letter": (random, text) => ({
    data: { body: [...text].map((char) => char + pick(random, ["x", "7", "@"])).join("") },
    js: `[...found.body].filter((_, at) => at % 2 === 0).join("")`,
  }),
  "in two members": (_, text) => ({
    data: { a: text.slice(0, 3), b: text.slice(3) },
    js: "found.a + found.b",
  }),
};

const fromCodes = (js: string) => `String.fromCharCode(...(${js}))`;

/** Every way to carry a text, by name. */
export const CARRIERS: Readonly<Record<string, (random: Random, text: string) => Carried>> = {
  ...OF_TEXT,
  ...Object.fromEntries(
    Object.entries(OF_CODES).map(([name, carry]) => [
      name,
      (random: Random, text: string) => {
        const { data, js } = carry(
          random,
          [...text].map((char) => char.charCodeAt(0)),
        );
        return { data, js: fromCodes(js) };
      },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(OF_BITS).map(([name, carry]) => [
      name,
      (random: Random, text: string) => {
        const bits = [...text].flatMap((char) =>
          [...char.charCodeAt(0).toString(2).padStart(7, "0")].map(Number),
        );
        const { data, js } = carry(random, bits);
        return {
          data,
          js: `((bits) => ${fromCodes('(bits.join("").match(/.{7}/g) ?? []).map((each) => parseInt(each, 2))')})(${js})`,
        };
      },
    ]),
  ),
};

/** Steps between what is carried and the value: the value is encoded once more, and the program decodes it. */
export const STEPS: Readonly<Record<string, { encode(text: string): string; js(inner: string): string }>> = {
  none: { encode: (text) => text, js: (inner) => inner },
  base64: {
    encode: (text) => Buffer.from(text).toString("base64"),
    js: (inner) => `Buffer.from(${inner}, "base64").toString()`,
  },
  hexadecimal: {
    encode: (text) => Buffer.from(text).toString("hex"),
    js: (inner) => `Buffer.from(${inner}, "hex").toString()`,
  },
  reversed: {
    encode: (text) => [...text].reverse().join(""),
    js: (inner) => `[...(${inner})].reverse().join("")`,
  },
  shifted: {
    encode: (text) => [...text].map((char) => String.fromCharCode(char.charCodeAt(0) + 1)).join(""),
    js: (inner) => `[...(${inner})].map((char) => String.fromCharCode(char.charCodeAt(0) - 1)).join("")`,
  },
};
