import { describe, expect, it } from "vitest";
import { type Ending, judge } from "../../execution/judge.ts";
import { GUARD_EXITS } from "../../protocol/guard.ts";

const line = (value: unknown) =>
  Buffer.from(`${typeof value === "string" ? value : JSON.stringify(value)}\n`);
const claim = line({ ok: true, data: 1, from: "result" });
const WAYS = { output: "say", value: "answer" };
const done = (bytes: Buffer): Ending => ({ kind: "done", lineBytes: bytes.length });
const exited = (code: number): Ending => ({ kind: "exited", code });

describe("judging how a program ended", () => {
  it("takes the one line of a runner that said done", () => {
    expect(judge(done(claim), claim, "", WAYS)).toEqual({ ok: true, data: 1, from: "result" });
  });

  it("takes the one line of a program that called process.exit(0) after setting its result", () => {
    expect(judge(exited(0), claim, "", WAYS)).toEqual({ ok: true, data: 1, from: "result" });
  });

  it.each<[string, Ending, Buffer]>([
    ["two lines", done(claim), Buffer.concat([claim, claim])],
    ["a line before the runner's", done(claim), Buffer.concat([line("hello"), claim])],
    ["a line of another length than announced", { kind: "done", lineBytes: 3 }, claim],
    ["text that is not JSON", done(line("hello")), line("hello")],
    ["a claim without data", done(line({ ok: true, from: "result" })), line({ ok: true, from: "result" })],
    ["an envelope of its own", done(line({ run_id: "x" })), line({ run_id: "x" })],
    ["a failure that only the host can state", done(line(hostFailure())), line(hostFailure())],
    [
      "nesting that is too deep",
      done(line(`${"[".repeat(500)}${"]".repeat(500)}`)),
      line(`${"[".repeat(500)}${"]".repeat(500)}`),
    ],
    ["no line at all", exited(0), Buffer.alloc(0)],
    ["an exit code", exited(3), Buffer.alloc(0)],
    ["an exit code in spite of a line", exited(3), claim],
    ["an abort that is not V8's", exited(134), Buffer.alloc(0)],
    ["a process that killed itself", exited(GUARD_EXITS.selfKilled), Buffer.alloc(0)],
    ["a program that could not be paused", exited(GUARD_EXITS.unheld), Buffer.alloc(0)],
    ["a flood of stdout", { kind: "overflow", stream: "stdout" }, Buffer.alloc(0)],
    ["a broken wire protocol", { kind: "violation", message: "x" }, Buffer.alloc(0)],
  ])("calls %s a violation of the contract", (_name, ending, stdout) => {
    expect(judge(ending, stdout, "", WAYS)).toMatchObject({
      ok: false,
      error: { type: "ContractViolation", retryable: false },
    });
  });

  it.each([
    [exited(3), "let it run to its end and set answer"],
    [exited(GUARD_EXITS.selfKilled), "let it run to its end and set answer"],
    [done(line("hello")), "use say for output and answer for the value"],
    [{ kind: "overflow", stream: "stdout" } as const, "use say for output and answer for the value"],
  ])("says what to do in the words of the program's language (%o)", (ending, advice) => {
    const verdict = judge(ending, line("hello"), "", WAYS);
    expect(verdict).toMatchObject({ ok: false, error: { message: expect.stringContaining(advice) } });
  });

  it("believes that an approval was denied only where the host denied one", () => {
    const denied = line({ ok: false, error: { type: "ApprovalDenied", message: "x", retryable: false } });
    expect(judge(done(denied), denied, "", WAYS, { approvalDenied: true })).toMatchObject({
      ok: false,
      error: { type: "ApprovalDenied" },
    });
    expect(judge(done(denied), denied, "", WAYS, { approvalDenied: false })).toMatchObject({
      ok: false,
      error: { type: "ContractViolation" },
    });
  });

  it.each<[string, Ending, string, string]>([
    ["Timeout", { kind: "timeout", timeoutMs: 120_000 }, "", "Execution exceeded 120s limit"],
    ["Timeout", { kind: "timeout", timeoutMs: 1_500 }, "", "Execution exceeded 1.5s limit"],
    ["Cancelled", { kind: "cancelled" }, "", "cancelled"],
    ["Timeout", exited(GUARD_EXITS.overdue), "", "longest"],
    ["InternalError", exited(GUARD_EXITS.unattended), "", "connection"],
    ["InternalError", { kind: "exited", code: 137, isKilledByOthers: true }, "", "killed from outside"],
    ["OutOfMemory", exited(137), "", "killed"],
    ["OutOfMemory", exited(134), "FATAL ERROR: JavaScript heap out of memory", "heap"],
    ["OutputLimit", { kind: "overflow", stream: "stderr" }, "", "stderr"],
    ["InternalError", exited(70), "printed\nthe interpreter has failed: out of order\n", "out of order"],
    [
      "ContractViolation",
      exited(70),
      "the interpreter has failed: Maximum call stack size exceeded\n",
      "deeper than its interpreter can follow",
    ],
    ["ContractViolation", exited(70), "printed\n", "exit code 70"],
  ])("tells %s", (type, ending, stderr, message) => {
    const verdict = judge(ending, Buffer.alloc(0), stderr, WAYS);
    expect(verdict).toMatchObject({ ok: false, error: { type, message: expect.stringContaining(message) } });
  });
});

function hostFailure() {
  return { ok: false, error: { type: "SandboxUnavailable", message: "x", retryable: true } };
}
