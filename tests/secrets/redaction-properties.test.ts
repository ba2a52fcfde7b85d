import fc from "fast-check";
import { expect, test } from "vitest";
import { Redactor } from "../../secrets/redaction.ts";
import { secretsIn } from "../../secrets/redaction-secrets.ts";
import { tries } from "../tries.ts";

/** Every character that some encoder treats specially, and plain characters more often than those. */
const CHARACTERS = [..."abcdefgXYZ0123456789abcdefgXYZ0123456789-_.~!*'()+/=&?#%@:;,$<>\"\\ é中😀`\t"];
const secret = fc
  .array(fc.constantFrom(...CHARACTERS), { minLength: 8, maxLength: 60 })
  .map((characters) => characters.join(""))
  .filter((text) => secretsIn(text).includes(text));
const around = fc.string({ unit: fc.constantFrom(...CHARACTERS, "\n", "{", "}"), maxLength: 40 });

const json = (text: string) => JSON.stringify(text).slice(1, -1);
const ENCODERS: ((text: string) => string)[] = [
  (text) => text,
  json,
  (text) => json(text).replaceAll("/", "\\/"),
  (text) =>
    // biome-ignore lint/suspicious/noControlCharactersInRegex: all but ASCII
    json(text).replace(/[^\x00-\x7f]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`),
  encodeURIComponent,
  (text) => new URLSearchParams([["", text]]).toString().slice(1),
  (text) =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;"),
  (text) => Buffer.from(text).toString("hex"),
];

test("no secret is left, in whatever form and wherever it stands", () => {
  fc.assert(
    fc.property(secret, around, around, fc.constantFrom(...ENCODERS), (value, before, after, encode) => {
      const encoded = encode(value);
      const { value: redacted, count } = new Redactor([value]).redactText(before + encoded + after);
      expect(redacted).not.toContain(encoded);
      expect(redacted).not.toContain(value);
      expect(count).toBeGreaterThan(0);
    }),
  );
});

test("no base64 holds a secret, wherever it stands in what was encoded", () => {
  const encoding = fc.constantFrom("base64" as const, "base64url" as const);
  fc.assert(
    fc.property(secret, around, around, encoding, (value, before, after, name) => {
      const text = Buffer.from(before + value + after).toString(name);
      const { value: redacted, count } = new Redactor([value]).redactText(text);
      expect(count).toBeGreaterThan(0);
      for (const part of redacted.split("[REDACTED]")) {
        expect(Buffer.from(part, name).toString()).not.toContain(value);
      }
    }),
  );
});

/** A text with secrets, tokens and parts of them in it. */
const mixedText = (value: string) =>
  fc
    .array(
      fc.oneof(
        around,
        fc.constantFrom(...ENCODERS).map((encode) => encode(value)),
        fc.nat({ max: value.length }).map((length) => value.slice(0, length)),
        fc.constantFrom(
          `ghp_${"a1B2".repeat(9)}`,
          "ghp_a1B2",
          `eyJhbGciOiJI.eyJ${"a1B2".repeat(9)}.${"a1B2".repeat(9)}`,
          `-----BEGIN PRIVATE KEY-----\n${`${"a1B2".repeat(16)}\n`.repeat(3)}-----END PRIVATE KEY-----`,
          `-----BEGIN PRIVATE KEY-----\\n${`${"a1B2".repeat(16)}\\n`.repeat(2)}`,
          `"secretAccessKey": "${"a1B2".repeat(10)}"`,
          "-----BEGIN CERTIFICATE-----",
          "\\n",
          "%3D",
          "word",
          "\n",
        ),
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join(""));

const textWithSecret = secret.chain((value) =>
  fc.record({ value: fc.constant(value), text: mixedText(value) }),
);

test("a text in pieces is redacted as in one", () => {
  fc.assert(
    fc.property(textWithSecret, fc.array(fc.nat({ max: 60 })), ({ value, text }, sizes) => {
      const redactor = new Redactor([value]);
      const stream = redactor.stream();
      let at = 0;
      let out = "";
      for (const size of sizes) {
        out += stream.push(text.slice(at, at + size));
        at += size;
      }
      out += stream.push(text.slice(at)) + stream.end();
      expect({ value: out, count: stream.count }).toEqual(redactor.redactText(text));
    }),
    { numRuns: tries(250) },
  );
});

test("redacting again changes nothing", () => {
  fc.assert(
    fc.property(textWithSecret, ({ value, text }) => {
      const redactor = new Redactor([value]);
      const once = redactor.redactText(text).value;
      expect(redactor.redactText(once)).toEqual({ value: once, count: 0 });
    }),
  );
});

test("a text without a secret comes out as it went in", () => {
  const redactor = new Redactor(["s3cr3t-Token-value", "an0ther/Secret+value="]);
  const text = fc.oneof(fc.string({ unit: "binary", maxLength: 200 }), around, fc.uuid(), fc.base64String());
  fc.assert(
    fc.property(fc.array(text), (texts) => {
      const whole = texts.join(" ");
      expect(redactor.redactText(whole)).toEqual({ value: whole, count: 0 });
      expect(redactor.redactValue(texts).value).toBe(texts);
      const stream = redactor.stream();
      expect(texts.map((each) => stream.push(each)).join("") + stream.end()).toBe(texts.join(""));
    }),
  );
});

test("each occurrence counts once, and JSON stays JSON of the same shape", () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[k-w]{1,6}$/), { maxLength: 8 });
  fc.assert(
    fc.property(secret, names, (value, keys) => {
      const redactor = new Redactor([value]);
      const document = { list: keys.map((key) => `${key}\n${value}\n${key}`), keys, [`at ${value}`]: 1 };
      const redacted = redactor.redactValue(document);
      expect(redacted.count).toBe(keys.length + 1);
      expect(redacted.value).toEqual({
        list: keys.map((key) => `${key}\n[REDACTED]\n${key}`),
        keys,
        "at [REDACTED]": 1,
      });
      expect(JSON.parse(redactor.redactText(JSON.stringify(document)).value)).toEqual(redacted.value);
    }),
  );
});

test("what cannot be the beginning of a secret is let out at once", () => {
  const stream = new Redactor(["s3cr3t-Token-value"]).stream();
  expect(stream.push("progress 10 %\n")).toBe("progress 10 %\n");
  expect(stream.push("it is s3cr3t")).toBe("it is ");
  expect(stream.push("-Tok")).toBe("");
  expect(stream.push("yo\n")).toBe("s3cr3t-Tokyo\n");
  expect(stream.push("ghp_abc")).toBe("");
  expect(stream.end()).toBe("ghp_abc");
});

test("secrets that overlap on and on are not held without end", () => {
  const value = "ab1".repeat(4);
  const stream = new Redactor([value]).stream();
  const out = Array.from({ length: 120 }, () => stream.push("ab1".repeat(100))).join("");
  expect(stream.count).toBeGreaterThan(1);
  expect(out + stream.end()).not.toContain(value);
});
