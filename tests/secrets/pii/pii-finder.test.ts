import { getCountries, getExampleNumber } from "libphonenumber-js/max";
import examples from "libphonenumber-js/mobile/examples" with { type: "json" };
import { personValidators } from "stdnum";
import { describe, expect, it, test } from "vitest";
import { PiiFinder } from "../../../secrets/pii/pii-finder.ts";
import { countriesWith, PII_KINDS, type PiiKind, wordsBefore } from "../../../secrets/pii/pii-kinds.ts";
import { PiiMasks, segmentEnd } from "../../../secrets/pii/pii-mask.ts";
import { NumberingPlan } from "../../../secrets/pii/recognisers/phone-numbers.ts";
import { Redactor } from "../../../secrets/redaction.ts";
import { IMPERSONAL, NATIONAL_IDS, PERSONAL } from "./samples.ts";

const COUNTRIES = ["US", "DE", "GB", "FR", "ES", "IT", "PL", "FI"];
const masks = new PiiMasks({ kinds: PII_KINDS, countries: COUNTRIES });
const mask = masks.mask();

const ARABIC_INDIC_ZERO = 0x0660;
const FULLWIDTH = 0xfee0;

/** Ways to write the same for a reader. */
const WRITINGS: Readonly<Record<string, (text: string) => string>> = {
  "fullwidth digits": (text) => text.replace(/\d/g, (digit) => shifted(digit, FULLWIDTH)),
  "fullwidth characters": (text) => text.replace(/[!-~]/g, (each) => shifted(each, FULLWIDTH)),
  "Arabic-Indic digits": (text) =>
    text.replace(/\d/g, (digit) => String.fromCharCode(ARABIC_INDIC_ZERO + Number(digit))),
  "mathematical digits": (text) =>
    text.replace(/\d/g, (digit) => String.fromCodePoint(0x1d7d8 + Number(digit))),
  "what nobody sees between its characters": (text) => Array.from(text).join("\u200b\u2060"),
  "soft hyphens, escaped as JSON may have them": (text) => Array.from(text).join("\\u00ad"),
  "digits escaped as JSON may have them": (text) => text.replace(/\d/g, (digit) => `\\uff1${digit}`),
  "the spaces of typesetters": (text) => text.replaceAll(" ", "\u2009"),
};

function shifted(character: string, by: number): string {
  return String.fromCharCode(character.charCodeAt(0) + by);
}

describe("personal data", () => {
  it.each(PERSONAL)("is found: %s in %s", (kind, text, left) => {
    expect(mask.redactText(text)).toEqual({
      value: left.replaceAll("*", `[REDACTED:${kind}]`),
      count: left.split("*").length - 1,
    });
  });

  it.each(IMPERSONAL)("is not %s", (text) => {
    expect(mask.redactText(text)).toEqual({ value: text, count: 0 });
    expect(mask.redactText(`{"value":"${text}"}`).count).toBe(0);
  });

  describe.each(Object.entries(WRITINGS))("written with %s", (_, write) => {
    it.each(PERSONAL)("is found, and replaced exactly: %s in %s", (kind, text, left) => {
      const rest = left.split("*");
      let written = rest[0] ?? "";
      let at = written.length;
      for (const [index, part] of rest.slice(1).entries()) {
        const isLast = index === rest.length - 2;
        const end = isLast ? text.length - part.length : text.indexOf(part, at);
        written += write(text.slice(at, end)) + part;
        at = end + part.length;
      }
      // What stands beside it is kept as it is, what nobody sees too.
      expect(mask.redactText(`\u200b ${written} \uff21`)).toEqual({
        value: `\u200b ${left.replaceAll("*", `[REDACTED:${kind}]`)} \uff21`,
        count: rest.length - 1,
      });
    });

    it("is nothing that is none", () => {
      expect(IMPERSONAL.filter((text) => mask.redactText(write(text)).count > 0)).toEqual([]);
    });
  });

  it("is of the kind that it is as it is written, where it reads as one of another kind that is as long", () => {
    const text = "tel \uff53\uff53\uff4e 612345678";
    const finder = new PiiFinder({ kinds: PII_KINDS, countries: COUNTRIES });
    expect(finder.find({ text, from: 0, name: "" })).toEqual([{ start: 8, end: 17, kind: "phone" }]);
    expect(mask.redactText(text.normalize("NFKC")).value).toBe("tel ssn [REDACTED:national_id]");
  });

  it("is found beside what nobody sees where that stands between words", () => {
    for (const four of ["4", "\uff14"])
      expect(mask.redactText(`card\u200b${four}111111111111111\u200bof`).value).toBe(
        "card\u200b[REDACTED:card]\u200bof",
      );
  });

  it("is replaced once where what follows in another part is only what nobody sees", () => {
    expect(mask.redactText("alice@example.com\n\u200b")).toEqual({
      value: "[REDACTED:email]\n\u200b",
      count: 1,
    });
  });

  it("is one where a part of it is found as it is written, and all of it as it reads", () => {
    expect(mask.redactText("ali\u200bce@example.com").value).toBe("[REDACTED:email]");
    expect(mask.redactText("x 4111 1111 \u0661111 1111, \ud835\udfdc111 1111 1111 1111").value).toBe(
      "x [REDACTED:card], [REDACTED:card]",
    );
  });

  it.each([
    ["card", "4111\u22121111\u22121111\u22121111"],
    ["card", "4111\u20121111\u20121111\u20121111"],
    ["card", "4111\u30001111\u30001111\u30001111"],
    ["ip", "203\u30020\uff61113\uff0e7"],
    ["email", "alice\ufe6bexample\u3002com"],
  ])("is found with the hyphens, spaces and points of others: %s in %s", (kind, text) => {
    expect(mask.redactText(`x ${text} y`)).toEqual({ value: `x [REDACTED:${kind}] y`, count: 1 });
  });

  it.each(NATIONAL_IDS)("is an id of %s, told %s: %s", (country, told, id) => {
    const own = new PiiMasks({ kinds: ["national_id"], countries: [country] }).mask();
    const redacted = "[REDACTED:national_id]";
    expect(own.redactText(id).value).toBe(told === "alone" ? redacted : id);
    expect(own.redactText(`id number: ${id}`).value).toBe(`id number: ${redacted}`);
    expect(own.redactText(`x${id}x`).value).toBe(`x${id}x`);
  });

  it("is the id of a person, and not that of an organisation, which passes the same checks", () => {
    const ids = new PiiMasks({ kinds: ["national_id"], countries: ["AR", "MX"] }).mask();
    expect(ids.redactText("GODE561231GR8, MAB9307148T8, 20-05536168-2, 30-50001091-2").value).toBe(
      "[REDACTED:national_id], MAB9307148T8, [REDACTED:national_id], 30-50001091-2",
    );
  });

  it("is looked for by its kind alone, and of no other country than those that are set", () => {
    const found = (kind: PiiKind, countries: string[] = []) => {
      const own = new PiiMasks({ kinds: [kind], countries }).mask();
      const values = PERSONAL.map(([, text]) => own.redactText(text).value).join("\n");
      return [...values.matchAll(/\[REDACTED:(\w+)\]/g)].map(([, each]) => each);
    };
    for (const kind of PII_KINDS) expect(new Set(found(kind, COUNTRIES))).toEqual(new Set([kind]));
    expect(found("phone")).toHaveLength(4);
    expect(found("national_id", ["NZ"])).toEqual([]);
  });

  it("is found in whole numbers beyond 2^53", () => {
    const redactor = new Redactor([]).with(mask);
    const value = { card: 4111111111111111003n, order: 1234567890123456780n };
    expect(redactor.redactValue(value)).toEqual({ value: { ...value, card: "[REDACTED:card]" }, count: 1 });
  });

  it("is found in numbers and names of values, where the member's name may say what it is", () => {
    const redactor = new Redactor([]).with(mask);
    const phones = { phone: 2025550123, order: 2025550123, list: { tel: ["2025550124", 5] } };
    expect(redactor.redactValue({ "a@b.io": 1, card: 4111111111111111, ...phones })).toEqual({
      value: {
        "[REDACTED:email]": 1,
        card: "[REDACTED:card]",
        phone: "[REDACTED:phone]",
        order: 2025550123,
        list: { tel: ["[REDACTED:phone]", 5] },
      },
      count: 4,
    });
  });

  it("is redacted beside secrets, and marks are left alone", () => {
    const redactor = new Redactor(["s3cr3t-value-1"]).with(mask);
    const once = redactor.redactText("s3cr3t-value-1 of a@b.io");
    expect(once).toEqual({ value: "[REDACTED] of [REDACTED:email]", count: 2 });
    expect(redactor.redactText(once.value).count).toBe(0);
    // One that is learned later is known here too.
    const host = new Redactor([]);
    const run = host.with(mask);
    host.add("another-secret-2");
    expect(run.redactText("another-secret-2").value).toBe("[REDACTED]");
  });

  it("that is shown just now is left", () => {
    const shown = new Set<PiiKind>();
    const some = masks.mask((kind) => shown.has(kind));
    expect(some.redactText("a@b.io 203.0.113.7").value).toBe("[REDACTED:email] [REDACTED:ip]");
    shown.add("email");
    expect(some.redactText("a@b.io 203.0.113.7").value).toBe("a@b.io [REDACTED:ip]");
  });
});

/** What a text is redacted to that comes in pieces of a size. */
function inPieces(text: string, size: number) {
  const stream = mask.stream();
  let released = "";
  for (let at = 0; at < text.length; at += size) released += stream.push(text.slice(at, at + size));
  return { value: released + stream.end(), count: stream.count };
}

describe("a long line", () => {
  // The line is divided behind the quotation mark, so that what says what the number is stands in the part before.
  const opened = (words: string) => `${"x".repeat(8_192 - words.length - 2)} ${words}`;

  it.each([
    ["phone", '"mobile phone":"', "2025550123"],
    ["national_id", '"social security":"', "536904399"],
  ])("is read with the words before the part that holds a %s", (kind, words, number) => {
    const text = `${opened(words)}"${number}" and so on`;
    const expected = text.replace(number, `[REDACTED:${kind}]`);
    expect(mask.redactText(text)).toEqual({ value: expected, count: 1 });
    for (const size of [1, 500, 8_192]) expect(inPieces(text, size).value).toBe(expected);
  });

  it("is read with the words that are near, and not with those far before", () => {
    const text = `phone ${"x ".repeat(4_200)}"2025550123"`;
    expect(mask.redactText(text).count).toBe(0);
  });
});

test("the prefix that is dialled before a number is only one at its beginning", () => {
  const plan = new NumberingPlan("US");
  const numbers = ["12015550123", "92015550123", "912015550123"];
  expect(numbers.filter((digits) => plan.has(digits))).toEqual(["12015550123"]);
});

test.each(getCountries())("a number of %s is one whole, and no part of a longer one", (country) => {
  const plan = new NumberingPlan(country);
  const number = getExampleNumber(country, examples);
  const digits = number?.nationalNumber ?? "";
  const dialled = number?.formatNational().replace(/\D/g, "") ?? "";
  expect([digits, dialled].map((each) => plan.has(each))).toEqual([true, true]);
  const others = [`99999999${digits}`, `${digits}99999999`, digits.slice(0, 3), digits.slice(-3), ""];
  expect(others.filter((each) => plan.has(each))).toEqual([]);
});

describe("a part of a text", () => {
  const MOST = 8_192;
  const BACK = 4_096;
  const at = (index: number, sign: string) => `${"x".repeat(index)}${sign}${"x".repeat(2 * MOST)}`;
  const endIn = (text: string) => segmentEnd(`##${text}`, 2);

  it.each([...',;{}[]<>|"\t'])("ends behind the last %j that is near its end", (divider) => {
    expect(endIn(at(6_000, divider))).toBe(2 + 6_001);
    expect(endIn(`${divider}${at(6_000, divider)}`)).toBe(2 + 6_002);
    expect(endIn(at(MOST - 1, divider))).toBe(2 + MOST);
    expect(endIn(at(BACK, divider))).toBe(2 + BACK + 1);
    // Too far back, or behind the end.
    for (const index of [BACK - 1, MOST]) expect(endIn(at(index, divider))).toBe(2 + MOST);
    // A space between words is the next best place, also where it is nearer to the end.
    expect(endIn(`${"x".repeat(5_000)}${divider}${at(500, " ")}`)).toBe(2 + 5_001);
  });

  it.each([..."-_.:@+/()1A' \u00e9"])("is not divided behind %j, which may be recognised", (sign) => {
    expect(endIn(`${"X".repeat(6_000)}${sign}${"X".repeat(MOST)}`)).toBe(2 + MOST);
  });

  it("ends at a space between words, at the end of its line, or where it is too long, and in no character", () => {
    expect(endIn(at(6_000, " "))).toBe(2 + 6_001);
    expect(endIn(at(BACK, " "))).toBe(2 + BACK + 1);
    expect(endIn(at(BACK - 1, " "))).toBe(2 + MOST);
    expect(endIn(`a, b\n${at(6_000, ",")}`)).toBe(2 + 5);
    expect(endIn(at(MOST - 1, "\n"))).toBe(2 + MOST);
    expect(endIn(at(MOST - 1, "\u{1d7d8}"))).toBe(2 + MOST - 1);
    expect(endIn(at(MOST - 2, "\u{1d7d8}"))).toBe(2 + MOST);
    expect(endIn("x".repeat(MOST))).toBe(2 + MOST);
    expect(endIn("x".repeat(MOST - 1))).toBeUndefined();
    expect(endIn("")).toBeUndefined();
  });
});

describe("a text that comes in pieces", () => {
  const long = `${"x".repeat(9_000)}@example.com ${"word ".repeat(3_000)}`;
  const all = PERSONAL.map(([, text]) => text);
  const texts = [
    ...[all.join("\n"), all.join(", "), `${all.join(", ")}, `.repeat(20), long],
    `${all.join(" and then ")} and `.repeat(20),
    ...Object.values(WRITINGS).map((write) => `${all.map(write).join(", ")}, `.repeat(3)),
  ];

  it.each([1, 2, 7, 48, 1_000, 8_192])("of %i characters is redacted as it is in one piece", (size) => {
    for (const text of texts) expect(inPieces(text, size)).toEqual(mask.redactText(text));
  });

  it("is released line by line", () => {
    const stream = mask.stream();
    expect(stream.push("one a@b")).toBe("");
    expect(stream.push(".io\ntwo")).toBe("one [REDACTED:email]\n");
    expect(stream.end()).toBe("two");
  });

  it("and is cut off keeps what cannot be the beginning of anything", () => {
    const stream = mask.stream();
    expect(stream.push("sent to a@b.io and carol@exam")).toBe("");
    expect(stream.cutOff()).toBe("sent to [REDACTED:email] and ");
    stream.push("the card 4111 1111 1111 11");
    expect(stream.cutOff()).toBe("the card ");
    stream.push("the card \uff14111 \u06611\u200b11 1111 11");
    expect(stream.cutOff()).toBe("the card ");
    expect(stream.end()).toBe("");
  });
});

/** Each makes a recogniser begin anew at every place. */
const HOSTILE = [
  ...["@", "a@", "a@a.", "%40", `${"a".repeat(70)}@`, ":", "ab:", " "],
  ...["1", "1 ", "12 34 56 ", "00 ", "01 02 03 04 05, ", "(1) ", "1-", "1.", "+1", "+12 "],
  ...["DE89", "DE89 3704 ", "4111 1111 1111 1112 ", "A12345678 ", "20-255-50123 "],
  ...["phone 2025550123", "ssn 123 456 789 "],
  ...["\\u0040", "4\u200b", "\u200b", "\uff11 ", "\u06611-", "\\u200b", "\ud835\udfff"],
];

test.each(HOSTILE)("a long text of '%s' is read in time that grows with its length alone", (part) => {
  const text = part.repeat(Math.ceil(100_000 / part.length));
  expect(mask.redactText(text).value.length).toBeGreaterThan(0);
});

test("the countries that a configuration may name are those that are recognised", () => {
  expect(countriesWith("phone").sort()).toEqual(getCountries().sort());
  expect(countriesWith("national_id").sort()).toEqual(Object.keys(personValidators).sort());
});

it.each<[name: string, before: string, words: string]>([
  ["", "Call ", " call "],
  ["", "", " "],
  ["workPhone", "", "work phone "],
  ["work_phone-number", "", "work phone number "],
  ["n".repeat(49), "", `${"n".repeat(48)} `],
  ["", `phone ${"x".repeat(48)}`, ` ${"x".repeat(48)}`],
  ["", `phone ${"x".repeat(42)}`, ` phone ${"x".repeat(42)}`],
  ["", "phone; fax ", "  fax "],
  ["", "phone\nfax ", " fax "],
  ["", 'phone: 1, "fax": ', ' fax": '],
  ["", "phone: 1, fax: ", " phone: 1, fax: "],
  ["", "{phone}|fax ", " fax "],
])("what stands before a place is told by the words of its own statement: %j, %j", (name, before, words) => {
  expect(wordsBefore({ text: `${before}5`, from: 0, name }, before.length)).toBe(words);
});
