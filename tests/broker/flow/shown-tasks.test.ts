import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openRig, type Rig } from "./scenarios/rig.ts";
import { shownTasks } from "./scenarios/scenarios.ts";

const POLICIES = ["mail", "payments", "web-and-chat", "coding-agent"];
const rigs = new Map<string, Rig>();

beforeAll(async () => {
  for (const policy of POLICIES) rigs.set(policy, await openRig(policy));
}, 240_000);
afterAll(async () => {
  for (const rig of rigs.values()) await rig.close();
});

const tasks = shownTasks();

describe("what users ask for, with each answer shown before the next call, and as one program", () => {
  test.each(tasks.map((task) => [`${task.name} (${task.way})`, task] as const))("%s", async (_, task) => {
    const played = await (rigs.get(task.policy) as Rig).play(task.world, task.runs);
    const stopped = played.calls
      .filter(({ outcome }) => ["forbidden", "denied"].includes(outcome.decision))
      .map(({ tool, outcome }) => [
        tool.replace("mcp__", "").replace("__", "."),
        outcome.ok ? "" : outcome.error.message,
      ]);
    if (task.stopped !== undefined) {
      expect(stopped.map(([tool]) => tool)).toContain(task.stopped);
      return;
    }
    expect(stopped).toEqual([]);
    expect(played.asked).toEqual([]);
    expect(played.values.filter((value) => String(value).startsWith("failed"))).toEqual([]);
    expect(played.effects.map(({ tool }) => tool)).toEqual(task.done);
  });
});

test("docs/policy.md says what the careful preset asks about", async () => {
  const made = { steps: [0, 0], program: [0, 0] };
  for (const policy of POLICIES) {
    const rig = await openRig(policy, false, "careful");
    for (const { way, runs, world, done } of tasks.filter(
      (task) => task.policy === policy && task.done.length > 0,
    )) {
      const { effects } = await rig.play(world, runs);
      made[way][0] = (made[way][0] ?? 0) + 1;
      if (effects.length === done.length) made[way][1] = (made[way][1] ?? 0) + 1;
    }
    await rig.close();
  }
  const [all, program] = made.program;
  const text = `does ${program} of these ${all} tasks that change something as one program with nobody asked, and ${made.steps[1]} in steps`;
  expect(
    readFileSync(join(import.meta.dirname, "../../../docs/policy.md"), "utf8").replaceAll("\n", " "),
  ).toContain(text);
}, 240_000);

test("docs/policy.md has the share of these tasks that needs nobody", () => {
  const share = (way: string) => {
    const all = tasks.filter((task) => task.way === way);
    const alone = all.filter(({ stopped }) => stopped === undefined).length;
    return { all: all.length, alone, percent: Math.floor((100 * alone) / all.length) };
  };
  const [steps, program] = [share("steps"), share("program")];
  const figures = [
    `| what users ask for, each answer shown before the next call | ${steps.all} | ${steps.alone} done with nobody asked (${steps.percent} %) |`,
    `| the same, each as one program | ${program.all} | ${program.alone} done with nobody asked (${program.percent} %) |`,
  ].join("\n");
  expect(readFileSync(join(import.meta.dirname, "../../../docs/policy.md"), "utf8")).toContain(figures);
  expect(steps.percent).toBeGreaterThanOrEqual(85);
  expect(steps.all).toBeGreaterThanOrEqual(40);
});
