import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import { Redactor } from "../../secrets/redaction.ts";
import { FaultMask, secretsIn, whyNotRedacted } from "../../secrets/redaction-secrets.ts";

const SECRET = "s3cr3t-Token-value";
const LINE = "Ab1+".repeat(16);
const redact = (text: string, ...secrets: string[]) => new Redactor(secrets).redactText(text);

describe("credentials", () => {
  test.each(["hunter2", "topsecret", "Squirrel", "Bearer swordfish"])(
    "are secrets though %s be a word",
    (word) => {
      const redactor = new Redactor([word], [word]);
      const secret = word.split(" ").at(-1) ?? "";
      expect(redactor.redactText(`x ${secret} y`)).toEqual({ value: "x [REDACTED] y", count: 1 });
      expect(new Redactor([secret]).redactText(`x ${secret} y`).count).toBe(0);
    },
  );

  test.each(["production", "localhost", "12345", "/usr/bin/env", "https://x.example/mcp", "abc"])(
    "are no secrets when they are %s",
    (value) => {
      expect(new Redactor([value], [value]).redactText(`x ${value} y`).count).toBe(0);
      expect(whyNotRedacted(value, true)).toBeDefined();
    },
  );
});

describe("configured secrets", () => {
  const hard = `pässwörd"with\\every/kind of <char> & 'more' 中`;
  const bytes = Buffer.from(hard);
  const replaceAll = (text: string, ...pairs: string[]) =>
    pairs.reduce((all, pair) => all.replaceAll(...(pair.split(" ") as [string, string])), text);
  test.each([
    ["as it is", hard],
    ["in JSON", JSON.stringify(hard)],
    ["in JSON in JSON", JSON.stringify(JSON.stringify(hard))],
    ["in JSON with slashes escaped", JSON.stringify(hard).replaceAll("/", "\\/")],
    ["in JSON of Python", replaceAll(JSON.stringify(hard), "ä \\u00e4", "ö \\u00f6", "中 \\u4e2d")],
    ["in JSON of Go", replaceAll(JSON.stringify(hard), "< \\u003c", "> \\u003e", "& \\u0026")],
    ["by encodeURIComponent", encodeURIComponent(hard)],
    ["by one in lower case", encodeURIComponent(hard).replace(/%../g, (each) => each.toLowerCase())],
    ["in a form", new URLSearchParams({ a: hard }).toString()],
    ["in HTML", replaceAll(hard, "& &amp;", "< &lt;", "> &gt;", '" &quot;', "' &#39;")],
    ["in base64", bytes.toString("base64")],
    ["in base64 after one byte", Buffer.from(`x${hard}yz`).toString("base64")],
    ["in base64url after two bytes", Buffer.from(`xx${hard}`).toString("base64url")],
    ["in hexadecimal", bytes.toString("hex")],
  ])("are found %s", (_, encoded) => {
    const { value, count } = redact(`before ${encoded} after`, hard);
    expect(count).toBe(1);
    expect(value).toMatch(/^before .{0,6}\[REDACTED\].{0,6} after$/);
  });

  test("are counted once for each occurrence", () => {
    const value = "[REDACTED] [REDACTED][REDACTED]";
    expect(redact(`${SECRET} ${SECRET}${SECRET}`, SECRET)).toEqual({ value, count: 3 });
  });

  test("that overlap are replaced as one, so that no end of either is left", () => {
    const one = { value: "x [REDACTED] y", count: 1 };
    expect(redact("x abcd-1234-efgh-5678 y", "abcd-1234-efgh", "1234-efgh-5678")).toEqual(one);
    expect(redact("x abcd-1234-efgh y", "abcd-1234-efgh", "abcd-1234")).toEqual(one);
    expect(redact("x abcd-1234-efgh y", "abcd-1234-efgh", "1234-efg")).toEqual(one);
  });

  test("are found wherever the edge of a piece falls that a long text is searched in", () => {
    for (let before = 32_768 - SECRET.length - 1; before <= 32_769; before++) {
      const text = "-".repeat(before) + SECRET;
      expect(redact(text, SECRET)).toEqual({ value: `${"-".repeat(before)}[REDACTED]`, count: 1 });
    }
  });

  test.each([
    ["the credential after a scheme", "Bearer abcd-1234-efgh", ["abcd-1234-efgh"]],
    [
      "the password of basic authentication",
      `Basic ${Buffer.from("user:pa55-w0rd-1").toString("base64")}`,
      ["dXNlcjpwYTU1LXcwcmQtMQ==", "pa55-w0rd-1"],
    ],
    ["the password in a URL", "postgres://user:pa55%2Fw0rd@db.internal/x", ["pa55%2Fw0rd", "pa55/w0rd"]],
    ["a password like a word in a URL", "postgres://u:secret@host/db", ["secret", "u:secret@"]],
    ["a short password in a URL, in its place", "postgres://u:pw@host/db", ["://u:pw@"]],
    ["a password that is the word of a setting, in its place", "mysql://app:private@db", ["app:private@"]],
    ["a password with an at sign", "amqp://app:p@ssw0rd@mq", ["p@ssw0rd"]],
    ["a password in a URL within a text", "--dsn=postgres://u:hunter2@host and more", ["hunter2"]],
    ["a token in place of a URL's user", "https://t0ken-1234567@host/x.git", ["t0ken-1234567"]],
    ["a parameter of a URL", "https://mcp.example.com/?api_key=k3y-1234567", ["k3y-1234567"]],
    ["a value in a cookie", "theme=dark; session=5e55-10n-1d", ["5e55-10n-1d"]],
    ["a text in a JSON document", '{"type": "service", "private_key_id": "0a1b2c3d4e5f"}', ["0a1b2c3d4e5f"]],
    ["a line of a key", `-----BEGIN KEY-----\n${LINE}\nshort=\n-----END KEY-----`, [LINE]],
  ])("are also looked for by %s", (_, value, parts) => {
    expect(secretsIn(value)).toEqual(expect.arrayContaining(parts));
  });

  test("are not what stands around a key, nor a line of a document", () => {
    const key = `-----BEGIN SECRET KEY-----\n${LINE}\n-----END SECRET KEY-----`;
    expect(secretsIn(key)).toEqual([LINE, key]);
    const json = JSON.stringify({ "a member of the document": LINE }, undefined, 1);
    expect(secretsIn(json)).toEqual([LINE, json]);
  });
});

test("a short password of a URL is redacted where it stands in one", () => {
  const { value } = redact("cannot reach postgres://u:pw@host:5432, pw", "postgres://u:pw@host/db");
  expect(value).toBe("cannot reach postgres[REDACTED]host:5432, pw");
});

describe("values that are no secrets", () => {
  test.each(["", "true", "8080", "hunter2", "a+b=c"])("%j is too short", (value) => {
    expect(whyNotRedacted(value)).toContain("characters, and values of fewer than 8 are not redacted");
    expect(redact(`text ${value} text`, value).count).toBe(0);
  });

  test.each([
    ...["production", "Development", "localhost", "localhost:5432", "127.0.0.1:8080", "2025-11-25"],
    ...["/usr/bin", "./dist/index.js", "C:\\Users\\someone", "https://api.example.com/v1/"],
    ...["db.internal.example.com", "application/json, text/event-stream"],
    ...["en_US.UTF-8", "Europe/Berlin", "us-east-1", "REDACTED"],
  ])("%j is a plain setting", (value) => {
    expect(whyNotRedacted(value)).toMatch(/not redacted$/);
    expect(redact(`text ${value} text`, value).count).toBe(0);
  });

  test.each([
    "correcthorsebattery",
    "my-secret-token",
    "/K7MDENGbPxRfiCYzEXAMPLEKEYwJalrXUtnFEMI",
    "https://api.example.com/v1/?key=hunter2",
    "https://hooks.example.com/services/aB3dE5fG7hI9jK1lM3",
    "123456789012",
    "sw0rdfish",
  ])("%j is a secret all the same", (value) => {
    expect(whyNotRedacted(value)).toBeUndefined();
    expect(redact(`text ${value} text`, value).value).toBe("text [REDACTED] text");
  });
});

describe("values", () => {
  const redactor = new Redactor([SECRET]);

  test("without a secret are returned themselves", () => {
    const value = { rows: [{ id: 1, name: "some name" }, null, true], text: "x".repeat(100_000) };
    const redacted = redactor.redactValue(value);
    expect(redacted).toEqual({ value, count: 0 });
    expect(redacted.value).toBe(value);
  });

  test("keep what is around a secret, and are not changed in place", () => {
    const clean = { id: 1 };
    const value = { list: ["a", `x ${SECRET}`, clean], clean };
    const redacted = redactor.redactValue(value);
    expect(redacted).toEqual({ value: { list: ["a", "x [REDACTED]", clean], clean }, count: 1 });
    expect(value.list[1]).toBe(`x ${SECRET}`);
    expect((redacted.value as typeof value).clean).toBe(clean);
  });

  test("keep every member when names become the same", () => {
    const UPPER = SECRET.toUpperCase();
    const value = { [SECRET]: 1, "[REDACTED] (2)": 2, [UPPER]: 3, [JSON.stringify(SECRET)]: 4 };
    const second = new Redactor([SECRET, UPPER]).redactValue(value);
    expect(Object.values(second.value as object)).toEqual([1, 2, 3, 4]);
    expect(JSON.stringify(second.value)).not.toContain(UPPER);
    expect(second.count).toBe(3);
  });

  test("give no prototype to anything", () => {
    const value = JSON.parse(`{"__proto__": {"polluted": "${SECRET}"}, "a": "${SECRET}"}`);
    const redacted = redactor.redactValue(value).value as Record<string, unknown>;
    expect(Object.keys(redacted)).toEqual(["__proto__", "a"]);
    expect(Object.getPrototypeOf(redacted)).toBe(Object.prototype);
    expect(JSON.stringify(redacted)).toBe('{"__proto__":{"polluted":"[REDACTED]"},"a":"[REDACTED]"}');
  });

  test("nested deeper than the wall lets through lose what is too deep, and nothing else", () => {
    const nest = (depth: number): unknown => (depth === 0 ? SECRET : [nest(depth - 1)]);
    const redacted = (depth: number) => JSON.stringify(redactor.redactValue(nest(depth)).value);
    expect(redacted(MAX_NESTING_DEPTH)).toContain('"[REDACTED]"');
    expect(redacted(MAX_NESTING_DEPTH + 1)).toContain('["[REDACTED:too-deep]"]');
    expect(redacted(5_000)).toContain('["[REDACTED:too-deep]"]');
  });
});

test("thousands of secrets are found like one", () => {
  const secrets = Array.from({ length: 2_000 }, (_, index) => `secret/${index}-${(index * 7919) % 10_007}`);
  const redactor = new Redactor(secrets);
  const value = secrets.map(() => "[REDACTED]").join("\n");
  expect(redactor.redactText(secrets.join("\n"))).toEqual({ value, count: 2_000 });
});

const TOKEN = "fresh-4f6Hq81zLw";

describe("a credential that is added", () => {
  it("is redacted from then on, in every form, in texts and in values", () => {
    const redactor = new Redactor(["configured-9Xa2"]);
    expect(redactor.redactText(TOKEN).count).toBe(0);
    redactor.add(TOKEN);
    const base64 = Buffer.from(`user:${TOKEN}`).toString("base64");
    const texts = { value: "[REDACTED] [REDACTED]", count: 2 };
    expect(redactor.redactText(`${TOKEN} configured-9Xa2`)).toEqual(texts);
    expect(redactor.redactText(base64).count).toBe(1);
    const values = { value: { "[REDACTED]": ["[REDACTED]"] }, count: 2 };
    expect(redactor.redactValue({ [TOKEN]: [TOKEN] })).toEqual(values);
  });

  it("is redacted in what streams that are open have not let out", () => {
    const redactor = new Redactor([]);
    const before = redactor.stream();
    expect(before.push(`a ${TOKEN}\n`)).toContain(TOKEN);
    redactor.add(TOKEN);
    const streams = [before, redactor.stream()];
    const out = streams.map(
      (stream) => stream.push(`b ${TOKEN.slice(0, 7)}`) + stream.push(TOKEN.slice(7)) + stream.end(),
    );
    expect(out).toEqual(["b [REDACTED]", "b [REDACTED]"]);
    expect(streams.map(({ count }) => count)).toEqual([1, 1]);
  });

  it("changes nothing when it is known, or cannot be told from other text", () => {
    const redactor = new Redactor([TOKEN]);
    for (const text of [TOKEN, "production", "abc", ""]) redactor.add(text);
    expect(redactor.redactText(`production abc ${TOKEN}`).value).toBe("production abc [REDACTED]");
  });

  it("is redacted as if it had been known from the beginning", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 4 }), fc.string(), (credentials, text) => {
        const added = new Redactor([]);
        for (const credential of credentials) added.add(credential);
        const whole = `${text}${credentials.join(text)}`;
        expect(added.redactText(whole)).toEqual(new Redactor([], credentials).redactText(whole));
      }),
    );
  });
});

it.each([
  ["what is short or plain", ["prod", "localhost"], "prod on localhost", "[redacted] on [redacted]"],
  ["each word of a value", ["Bearer abcd"], "got abcd", "got [redacted]"],
  ["the longest first", ["abcd", "abcdef"], "abcdef abcd", "[redacted] [redacted]"],
  ["the password of an address", [], "at u:hunter2@h and hunter2", "at [redacted]h and [redacted]"],
  ["nothing that is too short", ["abc"], "abc", "abc"],
])("masks %s", (_what, configured, text, masked) => {
  expect(new FaultMask(configured, ["https://u:hunter2@h/x"]).mask(text)).toBe(masked);
});
