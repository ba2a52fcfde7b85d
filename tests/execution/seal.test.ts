import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../execution/outcome.ts";
import { type EnvelopeFacts, renderEnvelope, sealEnvelope, sealVerdict } from "../../execution/seal.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { Envelope } from "../../protocol/envelope.ts";
import { buildFailure } from "../../protocol/failure.ts";
import { Redactor } from "../../secrets/redaction.ts";

const MAX = 4_096;

const facts: EnvelopeFacts = {
  runId: "4b8e7c0e-3b7a-4b0e-9c0a-111111111111",
  traceId: "0".repeat(32),
  toolVersion: "10.20.30",
  inputDigest: `sha256:${"a".repeat(64)}`,
  sandboxImage: `sha256:${"b".repeat(64)}`,
  durationMs: 86_400_000,
  approvalState: "NOT_REQUIRED",
  metrics: { duration_ms: 86_400_000, tool_calls: 1_000, tool_result_bytes: 99_999_999_999 },
};

const seal = (verdict: Verdict) => renderEnvelope(sealEnvelope(facts, verdict, MAX));

describe("sealing an envelope", () => {
  it("gives one line that the schema takes, digested without its metrics", () => {
    const envelope = Envelope.parse(JSON.parse(seal({ ok: true, data: { a: "\n" }, from: "result" })));
    expect(envelope.output_digest).toBe(digestOf({ ok: true, data: { a: "\n" } }));
    expect(envelope.result).toEqual({ ok: true, data: { a: "\n" }, metrics: facts.metrics });
  });

  it("is one line however lines are told apart, and digested as if nothing were escaped", () => {
    const data = { "k\u2028": "\u2029\u0085\u007f\u009b\u202e\u{e0041}", emoji: "\u{1f468}\u200d\u{1f469}" };
    const line = seal({ ok: true, data, from: "result" });
    expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202e\u{e0041}]/u);
    expect(line).toContain(data.emoji);
    const envelope = Envelope.parse(JSON.parse(line));
    expect(envelope.result).toMatchObject({ data });
    expect(envelope.output_digest).toBe(digestOf({ ok: true, data }));
  });

  it("never exceeds its limit, whatever the verdict holds, and stays one line of valid JSON", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 3_000 }),
      fc.string({ maxLength: 30 }).map((part) => part.repeat(400)),
      fc.constantFrom(
        "\u0000".repeat(5_000),
        "\u{1f600}".repeat(3_000),
        "\ud800".repeat(3_000),
        "\u2028".repeat(1_200),
      ),
    );
    const verdict: fc.Arbitrary<Verdict> = fc.oneof(
      text.map((data): Verdict => ({ ok: true, data, from: "console" })),
      fc
        .tuple(fc.oneof(text, fc.jsonValue()), fc.constantFrom("result" as const, "line" as const))
        .map(([data, from]): Verdict => ({ ok: true, data, from })),
      text.map((message): Verdict => ({ ok: false, error: buildFailure("ScriptError", message) })),
    );
    fc.assert(
      fc.property(verdict, (each) => {
        const line = seal(each);
        expect(Buffer.byteLength(line)).toBeLessThanOrEqual(MAX);
        expect(line).not.toContain("\n");
        expect(Envelope.safeParse(JSON.parse(line)).success).toBe(true);
      }),
    );
  });

  it("cuts console text with a mark", () => {
    const { result } = JSON.parse(seal({ ok: true, data: "line\n".repeat(2_000), from: "console" }));
    expect(result.ok).toBe(true);
    expect(result.data).toMatch(/^line\nline[\s\S]*\n\.\.\. \(truncated\)$/);
  });

  it.each([["x".repeat(9_998)], [Array.from({ length: 2_000 }, (_, i) => `\n"${i}`)]])(
    "bounds a value that is kept elsewhere, saying what it was",
    (data) => {
      const line = renderEnvelope(sealEnvelope(facts, { ok: true, data, from: "result" }, MAX, 100_000));
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(MAX);
      const { result, output_digest } = Envelope.parse(JSON.parse(line));
      const json = JSON.stringify(data);
      expect(result).toMatchObject({
        ok: true,
        data: { truncated: true, bytes: Buffer.byteLength(json), digest: digestOf(data) },
      });
      const { head, tail } = (result as { data: { head: string; tail: string } }).data;
      expect(head.length).toBeGreaterThan(500);
      expect(json.startsWith(head)).toBe(true);
      expect(json.endsWith(tail)).toBe(true);
      expect(output_digest).toBe(digestOf({ ok: true, data: (result as { data: unknown }).data }));
    },
  );

  it("bounds console text that is kept elsewhere, and tells equal beginnings and ends apart", () => {
    const sealed = (middle: string) => {
      const data = `${"a\n".repeat(4_000)}${middle}${"b\n".repeat(4_000)}`;
      return sealEnvelope(facts, { ok: true, data, from: "console" }, MAX, 100_000);
    };
    const [one, same, other] = [sealed("1"), sealed("1"), sealed("2")];
    expect(Buffer.byteLength(renderEnvelope(one))).toBeLessThanOrEqual(MAX);
    expect((one.result as { data: string }).data).toMatch(
      /^a\na\n[\s\S]*\[\d+ of 16001 characters left out; .*\]\n[\s\S]*b\nb\n\.\.\. \(truncated\)$/,
    );
    expect(same.output_digest).toBe(one.output_digest);
    expect(other.output_digest).not.toBe(one.output_digest);
  });

  it.each([
    ["result", ["x".repeat(9_996)]],
    ["line", "x".repeat(9_998)],
  ] as const)(
    "refuses a value (%s) that does not fit, saying how large it is, and never cuts it",
    (from, data) => {
      const { result } = JSON.parse(seal({ ok: true, data, from }));
      expect(result).toMatchObject({
        ok: false,
        error: { type: "OutputLimit", message: expect.stringContaining("10000 bytes") },
      });
    },
  );
});

describe("what came of a program", () => {
  const SECRET = "s3cr3t-of-a-server";
  const failed = (message: string): Verdict => ({ ok: false, error: buildFailure("ScriptError", message) });

  it.each<[what: string, verdict: Verdict, shown: Verdict, redactions: number]>([
    [
      "a result",
      { ok: true, data: { [SECRET]: [SECRET, 1] }, from: "result" },
      { ok: true, data: { "[REDACTED]": ["[REDACTED]", 1] }, from: "result" },
      2,
    ],
    [
      "console text",
      { ok: true, data: `a ${SECRET} b s3cr3t`, from: "console" },
      { ok: true, data: "a [REDACTED] b s3cr3t", from: "console" },
      1,
    ],
    [
      "what is said to be console text and is none",
      { ok: true, data: [SECRET], from: "console" },
      { ok: true, data: ["[REDACTED]"], from: "console" },
      1,
    ],
    [
      "console text that was cut within a secret",
      { ok: true, data: "a s3cr3t-of\n... (truncated)", from: "console" },
      { ok: true, data: "a \n... (truncated)", from: "console" },
      0,
    ],
    ["a message", failed(`no ${SECRET}`), failed("no [REDACTED]"), 1],
    [
      "a message that was cut within a secret",
      failed("no s3cr3t-of... (truncated)"),
      failed("no ... (truncated)"),
      0,
    ],
    [
      "a message whose middle was cut out within a secret",
      failed(`${SECRET}: no s3cr3t-of\n... (truncated)\n  at ${SECRET}`),
      failed("[REDACTED]: no \n... (truncated)\n  at [REDACTED]"),
      2,
    ],
  ])("is shown without its secrets: %s", async (_, verdict, shown, redactions) => {
    const sealed = await sealVerdict(facts, verdict, new Redactor([SECRET]), MAX, MAX);
    expect(sealed).toEqual({ verdict: shown, redactions, envelope: sealEnvelope(facts, shown, MAX) });
    expect(sealed.envelope.result.ok).toBe(verdict.ok);
  });

  const PNG = "iVBORw0KGgo".padEnd(64, "A");
  const NOTE = "[image/png, 48 B]";
  it.each<[what: string, verdict: Verdict, shown: Verdict]>([
    ["a result", { ok: true, data: [PNG], from: "result" }, { ok: true, data: [NOTE], from: "result" }],
    [
      "console text",
      { ok: true, data: `a ${PNG}`, from: "console" },
      { ok: true, data: `a ${NOTE}`, from: "console" },
    ],
    ["a message", failed(`no ${PNG}`), failed(`no ${NOTE}`)],
  ])("has a note for each image: %s", async (_, verdict, shown) => {
    expect((await sealVerdict(facts, verdict, new Redactor([]), MAX, MAX)).verdict).toEqual(shown);
  });

  it("is not shown at all where it cannot be redacted", async () => {
    const redactor = new Redactor([]);
    redactor.redactInTurns = async () => {
      throw new Error("planted");
    };
    const { verdict, redactions, envelope } = await sealVerdict(
      facts,
      { ok: true, data: SECRET, from: "result" },
      redactor,
      MAX,
      MAX,
    );
    const error = buildFailure("InternalError", "what came of the run cannot be reported: planted");
    expect({ verdict, redactions }).toEqual({ verdict: { ok: false, error }, redactions: 0 });
    expect(envelope).toEqual(sealEnvelope(facts, { ok: false, error }, MAX));
  });
});
