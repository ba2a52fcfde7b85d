import { expect, test } from "vitest";
import { executeRun, type RunBody, type RunScope } from "../../execution/run.ts";
import { Redactor } from "../../secrets/redaction.ts";

const SCOPE: RunScope = {
  dispatcher: { dispatch: () => Promise.reject(new Error("nobody calls")) },
  approver: { ask: async () => ({ decision: "denied", by: "nobody" }) },
  redactor: new Redactor(["correct-horse-battery"]),
  limits: {
    timeoutMs: 1_000,
    maxOutputBytes: 65_536,
    maxStderrBytes: 65_536,
    maxParallelCalls: 1,
    maxToolCalls: 1,
  },
  signal: new AbortController().signal,
  clock: { monotonicMs: () => performance.now() },
  toolVersion: "0",
};

const BODY: RunBody<object> = {
  program: { code: "1", data: {}, language: "typescript", fileName: "program.ts" },
  environment: { seed: "00".repeat(32) },
  typecheck: "off",
  modules: { archived: () => new Map(), modules: () => [] },
  carryOut: async () => ({ verdict: { ok: true, data: 1, from: "result" }, warnings: ["an image is old"] }),
  answer: async () => ({}),
};

test("the answer says, without secrets, why the run was not recorded, beside what else it warns of", async () => {
  const recorder = {
    begin: () => ({
      beforeAnswer: async () => "the run could not be recorded: no correct-horse-battery",
      end: async () => undefined,
    }),
  };
  const { warnings, envelope } = await executeRun({ ...SCOPE, recorder }, BODY);
  expect(warnings).toEqual(["an image is old", "the run could not be recorded: no [REDACTED]"]);
  expect(envelope.result).toMatchObject({ ok: true, data: 1 });
});
