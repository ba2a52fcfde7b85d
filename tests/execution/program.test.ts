import { describe, expect, it } from "vitest";
import { type ApprovalAnswer, LATER } from "../../broker/approvals/approvals.ts";
import type { CallOutcome } from "../../broker/dispatcher.ts";
import { executeProgram } from "../../execution/program.ts";
import type { KeptCall } from "../../execution/suspension/kept-calls.ts";
import type { ResumedRun, SuspendedRun } from "../../execution/suspension/suspended-run.ts";
import type { Language } from "../../languages/language.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { SandboxStarter } from "../../sandbox/sandbox-starter.ts";
import { Redactor } from "../../secrets/redaction.ts";
import { toolOf } from "../catalog/tool-of.ts";
import { InProcessEngine } from "../sandbox/in-process-engine.ts";
import { LIMITS } from "./program-parts.ts";

const OK: CallOutcome = { ok: true, data: 1, raw: {}, bytes: 1, decision: "allowed" };

const call = (tool: string, outcome?: CallOutcome): KeptCall => ({
  ...{ tool, argumentsDigest: digestOf({}), raw: false, startedMs: 0, durationMs: 0 },
  ...(outcome && { outcome }),
});

/** A run that was suspended after these calls, and that nobody else continues. */
function resumedWith(calls: readonly KeptCall[]): ResumedRun {
  const answer: ApprovalAnswer = { decision: "denied", by: "a person" };
  const run = {
    ...{ runId: "4b8e7c0e-3b7a-4b0e-9c0a-111111111111", calls, trace: undefined, startedAt: 0 },
    ...{ environment: { seed: "0" }, spent: { durationMs: 0, insideMs: 0 } },
    metrics: undefined,
  };
  return {
    run: run as unknown as SuspendedRun,
    began: { principal: "local" },
    answered: { digest: "another question", answer },
    goLive: async () => undefined,
    leave: async () => {},
  };
}

/**
 * Runs a program that makes a call which is asked about, in a language that always has advice.
 *
 * @param earlier the calls that it made before it was suspended, if it was.
 */
function asking(answer: ApprovalAnswer, earlier?: readonly KeptCall[]) {
  const language = {
    names: ["plain"],
    suffixes: {},
    runner: "node",
    idioms: { output: "say", value: "value" },
    advise: async () => ["print it"],
    prepare: async () => ({ ok: true, bundle: "1", hints: ["look at x"] }),
  } as unknown as Language;
  const engine = new InProcessEngine(async ({ call }) => (await call("mcp__a__x", {})).ok);
  return executeProgram({
    program: { code: "1", data: {}, language: "plain", fileName: "program" },
    sandboxes: new SandboxStarter({
      ...{ engine, owner: "me", image: "none", runtime: "none" },
      limits: { memoryMb: 512, cpus: 1, pids: 64 },
    }),
    languages: [language],
    modules: { modules: () => [], load: async () => undefined },
    dispatcher: {
      async dispatch({ arguments: args }, { approvals, signal }) {
        await approvals.approve(toolOf("a", "x"), args, signal);
        return OK;
      },
    },
    approver: { ask: async () => answer },
    ...(earlier && { resumed: resumedWith(earlier) }),
    keeper: { startedAt: 0, keep: async () => ({ ok: true, ticket: "t1", expiresAt: 5 }) },
    redactor: new Redactor([]),
    clock: { monotonicMs: () => performance.now() },
    toolVersion: "0",
    ...{ limits: LIMITS, typecheck: "off", signal: new AbortController().signal },
  });
}

describe("a program whose call is asked about", () => {
  it("gets advice when it ends, after the hints of its check", async () => {
    const { envelope, suspended, advice } = await asking({ decision: "once", by: "a person" });
    expect([envelope.result.ok, suspended]).toEqual([true, undefined]);
    expect(advice).toEqual(["look at x", "print it"]);
  });

  it("gets none while nobody has answered, because it goes on then", async () => {
    const { envelope, suspended, advice } = await asking(LATER);
    expect(envelope.result).toMatchObject({ ok: false, error: { type: "ApprovalPending" } });
    expect(suspended).toEqual({ ticket: "t1", tool: "mcp__a__x", expiresAt: 5 });
    expect(advice).toEqual([]);
  });

  it.each<[what: string, earlier: KeptCall[], answer: ApprovalAnswer, type: string | undefined]>([
    ["the same call", [call("mcp__a__x")], { decision: "once", by: "a person" }, undefined],
    ["the same call, and is asked again", [call("mcp__a__x")], LATER, "ApprovalPending"],
    ["another call", [call("mcp__a__y")], LATER, "ReplayDiverged"],
    ["fewer calls", [call("mcp__a__x", OK), call("mcp__a__y")], LATER, "ReplayDiverged"],
  ])("goes on where it was resumed, unless it has diverged: with %s", async (_, earlier, answer, type) => {
    const { envelope } = await asking(answer, earlier);
    const { result } = envelope;
    expect(result.ok ? undefined : result.error.type).toBe(type);
  });
});
