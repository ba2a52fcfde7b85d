import { describe, expect, it } from "vitest";
import { parseClaim } from "../../protocol/claim.ts";

describe("a runner's claim", () => {
  it.each([
    ["a value", { ok: true, data: { a: 1 }, from: "result" }],
    ["console text", { ok: true, data: "x", from: "console" }],
    [
      "a failure that it can know of",
      { ok: false, error: { type: "ScriptError", message: "x", retryable: false } },
    ],
  ])("may be %s", (_name, claim) => {
    expect(parseClaim(claim)).toEqual(claim);
  });

  it.each([
    ["an envelope", { run_id: "x", result: { ok: true, data: 1, metrics: {} } }],
    ["a value with the host's fields", { ok: true, data: 1, from: "result", run_id: "forged" }],
    [
      "a failure that only the host can state",
      { ok: false, error: { type: "Timeout", message: "x", retryable: false } },
    ],
    ["a failure of an unknown type", { ok: false, error: { type: "Nope", message: "x", retryable: false } }],
    ["a string", "ok"],
    ["null", null],
  ])("is never %s", (_name, claim) => {
    expect(parseClaim(claim)).toBeUndefined();
  });
});
