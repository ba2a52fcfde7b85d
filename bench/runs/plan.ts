import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { createPtc, Ptc, tool } from "../../library/ptc.ts";
import { type Bench, type Measurement, ratio } from "../measurement.ts";
import { makeProject } from "../peers.ts";

/** The exports of the built package. */
const BUILT = new URL("../../dist/library/ptc.js", import.meta.url).href;
/** Long enough for the pool to be full again. */
const REFILL_MS = 1_500;
const MAILS = 12;

const PROGRAMS = {
  one: `await mcp__functions__send({ to: "a" });`,
  twelve: `for (let i = 0; i < ${MAILS}; i++) await mcp__functions__send({ to: "n" + i });`,
  caught: `try { await mcp__functions__send({ to: "a" }); } catch { await mcp__functions__send({ to: "a" }); }`,
};

/** What a plan costs before its question, against the question about one call, and a program that is approved as a whole. */
export const plan: Measurement = {
  name: "plan",
  about: "the time to the question with a plan, against that about one call, and runs of twelve changes",
  async measure(bench: Bench) {
    const exported = (await import(BUILT)) as { createPtc: typeof createPtc; tool: typeof tool };
    const settings = { sandbox: { warm: 6 } };
    const send = exported.tool({
      description: "Sends a mail",
      input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
      output: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
      annotations: { destructiveHint: true },
      execute: ({ to }) => ({ id: `m-${String(to)}` }),
    });
    const open = (mode: "call" | "plan") => {
      const folder = makeProject(join(bench.folder, mode), { ...settings, approvals: { mode } });
      return exported.createPtc({ config: join(folder, "ptc.yaml"), tools: { send } });
    };
    const [byCall, byPlan] = await Promise.all([open("call"), open("plan")]);
    const figures = [];
    for (const [name, code] of Object.entries(PROGRAMS)) {
      const asked = { measuredMs: [] as number[], baselineMs: [] as number[] };
      const whole = { measuredMs: [] as number[], baselineMs: [] as number[] };
      for (let round = -2; round < bench.rounds(20); round++) {
        await delay(REFILL_MS);
        const baseline = await timeRun(byCall, code);
        await delay(REFILL_MS);
        const measured = await timeRun(byPlan, code);
        if (round < 0) continue;
        asked.baselineMs.push(baseline.askedMs);
        asked.measuredMs.push(measured.askedMs);
        whole.baselineMs.push(baseline.wholeMs);
        whole.measuredMs.push(measured.wholeMs);
      }
      figures.push(
        ratio({ name: `time to the question, ${LABELS[name]}`, ...asked, against: "mode: call" }),
        ratio({ name: `run, ${LABELS[name]}`, ...whole, against: "mode: call" }),
      );
    }
    await Promise.all([byCall.close(), byPlan.close()]);
    return figures;
  },
};

const LABELS: Readonly<Record<string, string>> = {
  one: "one change",
  twelve: `${MAILS} changes`,
  caught: "a change whose error is caught",
};

/** Runs a program whose every question is allowed at once, and times its first question and its end. */
async function timeRun(ptc: Ptc, code: string): Promise<{ askedMs: number; wholeMs: number }> {
  const began = performance.now();
  let askedMs: number | undefined;
  const { error } = await ptc.run(code, {
    approve: ({ plan: planned }) => {
      askedMs ??= performance.now() - began;
      return planned === undefined ? { allow: true } : { allow: true, for: "plan" };
    },
  });
  if (error !== undefined || askedMs === undefined) throw new Error(error?.message ?? "nobody was asked");
  return { askedMs, wholeMs: performance.now() - began };
}
