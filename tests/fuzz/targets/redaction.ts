import assert from "node:assert/strict";
import { Redactor } from "../../../secrets/redaction.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileText } from "../hostile/hostile-text.ts";
import { LISTS } from "../hostile/words.ts";
import type { Random } from "../random.ts";

const SECRETS = LISTS.secrets;
const TOKENS = [
  `ghp_${"a1B2".repeat(9)}`,
  "ghp_a1B2",
  `eyJhbGciOiJI.eyJ${"a1B2".repeat(9)}.${"a1B2".repeat(9)}`,
  `-----BEGIN PRIVATE KEY-----\n${`${"a1B2".repeat(16)}\n`.repeat(3)}-----END PRIVATE KEY-----`,
  "-----BEGIN PRIVATE KEY-----",
  `"secretAccessKey": "${"a1B2".repeat(10)}"`,
];
const REDACTOR = new Redactor(SECRETS, SECRETS);

/** Secrets in every form and place, in texts that come in pieces. */
export const target = fuzzTarget({
  name: "redaction",
  iterations: 230,
  generate: (random) => random.list(random.size(12), () => piece(random)).join(""),
  check(input, random) {
    const text = input.toString("utf8");
    const redacted = REDACTOR.redactText(text);
    for (const secret of SECRETS) {
      for (const form of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]) {
        assert.ok(!redacted.value.includes(form), "a secret is left");
      }
    }
    assert.equal(REDACTOR.redactText(redacted.value).value, redacted.value, "what is redacted changes again");
    const stream = REDACTOR.stream();
    let out = "";
    for (const chunk of pieces(random, text)) out += stream.push(chunk);
    out += stream.end();
    assert.equal(out, redacted.value, "what is redacted depends on the pieces");
    assert.equal(stream.count, redacted.count);
    const value = { [text]: [text, { text }], list: [[text], 1, null] };
    const inside = REDACTOR.redactValue(value);
    assert.deepEqual((inside.value as { list: unknown }).list ?? [[redacted.value], 1, null], [
      [redacted.value],
      1,
      null,
    ]);
    if (redacted.count === 0) assert.equal(inside.value, value, "what holds no secret is a copy");
  },
});

function pieces(random: Random, text: string): string[] {
  const cut: string[] = [];
  const most = random.pick([1, 3, 20, 200]);
  for (let at = 0; at < text.length; ) {
    const size = cut.length > 2_000 ? text.length : 1 + random.below(most);
    cut.push(text.slice(at, at + size));
    at += size;
  }
  return cut;
}

function piece(random: Random): string {
  const secret = random.pick(SECRETS);
  switch (random.below(12)) {
    case 0:
      return secret;
    case 1:
      return secret.slice(0, random.below(secret.length));
    case 2:
      return JSON.stringify(secret);
    case 3:
      return encodeURIComponent(secret);
    case 4:
      return Buffer.from(hostileText(random, 1) + secret + hostileText(random, 1)).toString(
        random.pick(["base64", "base64url", "hex"]),
      );
    case 5:
      return random.pick(TOKENS);
    case 6:
      return random.pick(TOKENS).slice(0, random.below(60));
    case 7:
      return new URLSearchParams([["", secret]]).toString().slice(1);
    case 8:
      return "ab1".repeat(random.size(400));
    default:
      return hostileText(random);
  }
}
