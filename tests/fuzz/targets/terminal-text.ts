import assert from "node:assert/strict";
import { renderAuditLine } from "../../../archive/audit/audit-line.ts";
import { visibleLine, visibleLines } from "../../../base/visible-text.ts";
import { renderApprovalOverview } from "../../../broker/approvals/approval-overview.ts";
import { renderApprovalArguments } from "../../../broker/approvals/approval-text.ts";
import { cutToBytes, cutToJsonBytes, TextCap } from "../../../protocol/text-cap.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileJson } from "../hostile/hostile-json.ts";
import { hostileText } from "../hostile/hostile-text.ts";
import type { Random } from "../random.ts";

/** What steers a terminal or turns the direction of writing. */
const STEERING = /(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
const HALVES = /\p{Cs}/u;
const MARK = "\n... (truncated)\n".length;

/** Text of programs, servers and tools on its way to a terminal, a question or a log. */
export const target = fuzzTarget({
  name: "terminal-text",
  iterations: 830,
  generate: (random) =>
    random.chance(0.7) ? utf16(hostileText(random, 40)) : utf16(hostileJson(random, { levels: 5 })),
  check(input, random) {
    const text = input.toString("utf16le");
    const line = visibleLine(text);
    assert.doesNotMatch(line, /[\n\t]/);
    assertCalm(line, "a line");
    assert.equal(visibleLine(line), line, "what is shown is shown as it is");
    const lines = visibleLines(text);
    assertCalm(lines, "lines");
    assert.equal(
      lines.split("\n").length,
      text.replaceAll("\r\n", "\n").split("\n").length,
      "there are other lines",
    );
    for (const args of argumentsOf(text)) {
      const { lines: overview } = renderApprovalOverview(text, args);
      assert.ok(overview.length <= 4, "an overview is in sight");
      for (const each of overview) {
        assert.ok([...each].length <= 72 && !each.includes("\n"), "a line of an overview is a line");
        assertCalm(each, "a line of an overview");
      }
      const question = renderApprovalArguments(args);
      assertCalm(question, "a question");
      assert.ok(question.length <= 150_000, "a question is bounded");
      // A line that begins where no line of JSON does would be another question.
      for (const each of question.split("\n"))
        assert.match(each, /^(?: *["\]}[{\-0-9tfn]| *\\u\{| *\.\.\. \(|$)/);
    }
    const audit = renderAuditLine({ tool: text, server: text, calls: 1 });
    assert.equal(audit.indexOf("\n"), audit.length - 1, "an audit line is one line");
    assertCalm(audit.trimEnd(), "an audit line");
    assert.equal(typeof JSON.parse(audit), "object");
    checkCaps(text, random);
  },
});

function utf16(text: string): Buffer {
  return Buffer.from(text, "utf16le");
}

function assertCalm(text: string, what: string): void {
  assert.doesNotMatch(text, STEERING, `${what} can steer a terminal`);
  assert.doesNotMatch(text, HALVES, `${what} holds half a character`);
}

function argumentsOf(text: string): unknown[] {
  const given: unknown[] = [text, { [text]: text, list: [text, [text]] }];
  try {
    given.push(JSON.parse(text));
  } catch {
    // Text is arguments enough.
  }
  return given;
}

function checkCaps(text: string, random: Random): void {
  const whole = Buffer.from(text).toString();
  const max = random.size(200);
  const head = cutToBytes(whole, max);
  assert.ok(Buffer.byteLength(head) <= max && whole.startsWith(head), "a beginning is no beginning");
  assert.ok(Buffer.byteLength(JSON.stringify(cutToJsonBytes(whole, max + 40))) <= max + 40);
  const cap = new TextCap(max);
  let shown = "";
  for (let at = 0; at < whole.length; at += 10) shown += cap.take(whole.slice(at, at + 10));
  assert.ok(Buffer.byteLength(shown) <= max + MARK + 3);
}
