import { expect, it } from "vitest";
import { FaultMask } from "../../secrets/redaction-secrets.ts";

it.each([
  ["what is short or plain", ["prod", "localhost"], "prod on localhost", "[redacted] on [redacted]"],
  ["each word of a value", ["Bearer abcd"], "got abcd", "got [redacted]"],
  ["the longest first", ["abcd", "abcdef"], "abcdef abcd", "[redacted] [redacted]"],
  ["the password of an address", [], "at u:hunter2@h and hunter2", "at [redacted]h and [redacted]"],
  ["nothing that is too short", ["abc"], "abc", "abc"],
])("masks %s", (_what, configured, text, masked) => {
  expect(new FaultMask(configured, ["https://u:hunter2@h/x"]).mask(text)).toBe(masked);
});
