import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Redactor } from "../../secrets/redaction.ts";

const TOKEN = "fresh-4f6Hq81zLw";

describe("a credential that is added", () => {
  it("is redacted from then on, in every form, in texts and in values", () => {
    const redactor = new Redactor(["configured-9Xa2"]);
    expect(redactor.redactText(TOKEN).count).toBe(0);
    redactor.add(TOKEN);
    const base64 = Buffer.from(`user:${TOKEN}`).toString("base64");
    expect(redactor.redactText(`${TOKEN} configured-9Xa2`)).toEqual({
      value: "[REDACTED] [REDACTED]",
      count: 2,
    });
    expect(redactor.redactText(base64).count).toBe(1);
    expect(redactor.redactValue({ [TOKEN]: [TOKEN] })).toEqual({
      value: { "[REDACTED]": ["[REDACTED]"] },
      count: 2,
    });
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
