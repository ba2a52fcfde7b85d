import { getCountries } from "libphonenumber-js/max";
import { personValidators } from "stdnum";
import { describe, expect, it, test } from "vitest";
import { countriesWith } from "../../../secrets/pii/countries.ts";
import { PII_KINDS, type PiiKind } from "../../../secrets/pii/pii-kinds.ts";
import { PiiMasks } from "../../../secrets/pii/pii-masks.ts";
import { Redactor } from "../../../secrets/redaction.ts";
import { IMPERSONAL, PERSONAL } from "./samples.ts";

const COUNTRIES = ["US", "DE", "GB", "FR", "ES", "IT", "PL", "FI"];
const masks = new PiiMasks({ kinds: PII_KINDS, countries: COUNTRIES });
const mask = masks.mask();

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

  it("is looked for by its kind alone, and of no other country than those that are set", () => {
    const found = (kind: PiiKind, countries: string[] = []) =>
      PERSONAL.map(
        ([, text]) => new PiiMasks({ kinds: [kind], countries }).mask().redactText(text).value,
      ).flatMap((value) => [...value.matchAll(/\[REDACTED:(\w+)\]/g)].map(([, each]) => each));
    for (const kind of PII_KINDS) expect(new Set(found(kind, COUNTRIES))).toEqual(new Set([kind]));
    expect(found("phone")).toHaveLength(4);
    expect(found("national_id", ["NZ"])).toEqual([]);
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

describe("a text that comes in pieces", () => {
  const long = `${"x".repeat(9_000)}@example.com ${"word ".repeat(3_000)}`;
  const texts = [
    PERSONAL.map(([, text]) => text).join("\n"),
    PERSONAL.map(([, text]) => text).join(", "),
    `${PERSONAL.map(([, text]) => text).join(", ")}, `.repeat(20),
    `${PERSONAL.map(([, text]) => text).join(" and then ")} and `.repeat(20),
    long,
  ];

  it.each([1, 2, 7, 48, 1_000, 8_192])("of %i characters is redacted as it is in one piece", (size) => {
    for (const text of texts) {
      const whole = mask.redactText(text);
      const stream = mask.stream();
      let released = "";
      for (let at = 0; at < text.length; at += size) released += stream.push(text.slice(at, at + size));
      released += stream.end();
      expect(released).toBe(whole.value);
      expect(stream.count).toBe(whole.count);
    }
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
    expect(stream.end()).toBe("");
  });
});

/** Each makes a recogniser begin anew at every place. */
const HOSTILE = [
  "@",
  "a@",
  "a@a.",
  "%40",
  `${"a".repeat(70)}@`,
  "1",
  "1 ",
  "12 34 56 ",
  "00 ",
  "01 02 03 04 05, ",
  "(1) ",
  "1-",
  "1.",
  "+1",
  "+12 ",
  ":",
  "ab:",
  "DE89",
  "DE89 3704 ",
  "4111 1111 1111 1112 ",
  "A12345678 ",
  "20-255-50123 ",
  "phone 2025550123",
  "ssn 123 456 789 ",
  " ",
  "\\u0040",
];

test.each(HOSTILE)("a long text of '%s' is read in time that grows with its length alone", (part) => {
  const text = part.repeat(Math.ceil(100_000 / part.length));
  expect(mask.redactText(text).value.length).toBeGreaterThan(0);
});

test("the countries that a configuration may name are those that are recognised", () => {
  expect(countriesWith("phone").sort()).toEqual(getCountries().sort());
  expect(countriesWith("national_id").sort()).toEqual(Object.keys(personValidators).sort());
});
