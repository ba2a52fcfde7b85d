import assert from "node:assert/strict";
import { type Ending, judge } from "../../../execution/judge.ts";
import { sealEnvelope } from "../../../execution/seal.ts";
import { canonicalJson } from "../../../protocol/canonical-json.ts";
import { checkEnvelope } from "../check-envelope.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileClaim } from "../hostile/hostile-claim.ts";
import type { Random } from "../random.ts";

const MAX_BYTES = 2_048;
const DIGEST = `sha256:${"0".repeat(64)}`;
const WAYS = { output: "say", value: "answer" };
/** What a runner may say itself; all else is for the host. */
const CLAIMABLE = ["ScriptError", "ToolError", "ApprovalDenied", "OutputLimit", "ResultNotSerializable"];

/** What becomes of a line that a container wrote, however it ended. */
export const target = fuzzTarget({
  name: "claims",
  iterations: 1_000,
  samples: 300,
  generate: hostileClaim,
  check(input, random) {
    const ending = chooseEnding(random, input);
    const denied = random.chance(0.5);
    const tail = input.toString("latin1").slice(-100);
    const verdict = judge(ending, input, tail, WAYS, { approvalDenied: denied });
    if (verdict.ok) {
      const text = input.toString("utf8");
      assert.equal(text.split("\n").length, 2, "more or less than a line is taken for one");
      const claim = JSON.parse(text.replace(/^\ufeff/, "")) as { ok: unknown; data?: unknown };
      assert.equal(claim.ok, true);
      canonicalJson(verdict.data);
    } else {
      const { type, message } = verdict.error;
      assert.ok(message.length <= 4_100, "a message is bounded");
      const own = ["ContractViolation", "OutOfMemory", "OutputLimit", "Timeout", "Cancelled"];
      assert.ok([...CLAIMABLE, ...own].includes(type), `a container says ${type}`);
      if (type === "ApprovalDenied") assert.ok(denied, "a denial that there was not");
      if (type === "Timeout") assert.equal(ending.kind, "timeout");
    }
    const facts = {
      runId: "00000000-0000-0000-0000-000000000000",
      traceId: "0".repeat(32),
      toolVersion: "0.0.0",
      inputDigest: DIGEST,
      sandboxImage: DIGEST,
      durationMs: 1,
      approvalState: "NOT_REQUIRED",
      metrics: { duration_ms: 1, tool_calls: 1, tool_result_bytes: 1 },
    } as const;
    checkEnvelope(sealEnvelope(facts, verdict, MAX_BYTES), MAX_BYTES);
  },
});

function chooseEnding(random: Random, stdout: Buffer): Ending {
  const off = random.chance(0.05) ? random.pick([-1, 1, 1e9]) : 0;
  const endings: Ending[] = [
    { kind: "done", lineBytes: stdout.length + off },
    { kind: "done", lineBytes: stdout.length },
    { kind: "exited", code: 0 },
    { kind: "exited", code: random.pick([0, 1, 134, 137, 255]) },
    { kind: "timeout", timeoutMs: 1_000 },
    { kind: "cancelled" },
    { kind: "violation", message: "the sandbox broke the wire protocol" },
    { kind: "overflow", stream: random.pick(["stdout", "stderr"]) },
  ];
  return random.chance(0.7) ? (endings[random.below(3)] as Ending) : random.pick(endings);
}
