import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openRig, type Rig } from "./scenarios/rig.ts";
import { honestScenarios, hostileScenarios, isWanted, unreachableScenarios } from "./scenarios/scenarios.ts";

const POLICIES = ["mail", "payments", "web-and-chat", "coding-agent"];
const rigs = new Map<string, Rig>();
const rigOf = (policy: string) => rigs.get(policy) as Rig;

beforeAll(async () => {
  for (const policy of POLICIES) rigs.set(policy, await openRig(policy));
  rigs.set("none", await openRig(undefined));
}, 240_000);
afterAll(async () => {
  for (const rig of rigs.values()) await rig.close();
});

/** `web.fetch` only reads by its name, and sends its address all the same. */
const sentBy = (played: Awaited<ReturnType<Rig["play"]>>) => [
  ...played.effects,
  ...played.calls
    .filter(({ tool, outcome }) => tool === "mcp__web__fetch" && outcome.decision === "allowed")
    .map(({ arguments: args }) => ({ tool: "web.fetch", arguments: args as Record<string, unknown> })),
];

describe("what a stranger wants", () => {
  test.each(hostileScenarios().map((each) => [each.name, each] as const))(
    "happens where nothing is labelled, and does not with the policy: %s",
    async (_, { policy, world, runs, attack }) => {
      const unprotected = await rigOf("none").play(world, runs);
      expect(sentBy(unprotected).filter((effect) => isWanted(attack, effect))).not.toEqual([]);
      const played = await rigOf(policy).play(world, runs);
      expect(sentBy(played).filter((effect) => isWanted(attack, effect))).toEqual([]);
      const stopped = played.calls.filter(({ outcome }) =>
        ["forbidden", "denied"].includes(outcome.decision),
      );
      expect(stopped.map(({ tool }) => tool.replace("mcp__", "").replace("__", "."))).toContain(attack.tool);
    },
  );
});

describe("what users ask for", () => {
  test.each(honestScenarios().map((each) => [each.name, each] as const))("%s", async (_, scenario) => {
    const { policy, world, runs, done = [], asks, refused, clean } = scenario;
    const played = await rigOf(policy).play(world, runs);
    const stopped = played.calls
      .filter(({ outcome }) => ["forbidden", "denied"].includes(outcome.decision))
      .map(({ tool, outcome }) => [tool, outcome.ok ? "" : outcome.error.message]);
    const names = stopped.map(([tool = ""]) => tool.replace("mcp__", "").replace("__", "."));
    if (asks === undefined && refused === undefined) {
      expect(stopped).toEqual([]);
      expect(played.asked).toEqual([]);
      expect(played.values.filter((value) => String(value).startsWith("failed"))).toEqual([]);
      for (const tool of done) expect(played.effects.map((effect) => effect.tool)).toContain(tool);
    } else {
      expect(names).toContain(asks ?? refused);
      expect(played.asked.length > 0).toBe(asks !== undefined);
      // Who is asked sees whose word it is.
      for (const { origins, reason } of played.asked)
        expect([...origins, reason].join("\n")).toMatch(/written by a stranger/);
    }
    if (clean === true) expect(played.labels).toEqual([]);
  });
});

describe("what is out of reach", () => {
  test.each(unreachableScenarios().map((each) => [each.name, each] as const))(
    "%s",
    async (_, { policy, world, runs, happens }) => {
      const played = await rigOf(policy).play(world, runs);
      expect(played.effects.filter((effect) => isWanted(happens, effect))).not.toEqual([]);
    },
  );
});

test("docs/policy.md has the figures of these scenarios", () => {
  const hostile = hostileScenarios();
  const honest = honestScenarios();
  const asked = honest.filter(({ asks }) => asks !== undefined).length;
  const refused = honest.filter((each) => each.refused !== undefined).length;
  const alone = honest.length - asked - refused;
  const several = hostile.filter(({ runs }) => runs.length > 1).length;
  const figures = [
    "| scenarios | number | of these |",
    "|---|---|---|",
    `| what a stranger wants | ${hostile.length}, ${several} over several runs | ${hostile.length} stopped |`,
    `| what users ask for | ${honest.length} | ${alone} done with nobody asked (${Math.floor((100 * alone) / honest.length)} %), ${asked} asked about, ${refused} refused until the user names the value |`,
    `| out of reach | ${unreachableScenarios().length} | 0 stopped |`,
  ].join("\n");
  expect(readFileSync(join(import.meta.dirname, "../../../docs/policy.md"), "utf8")).toContain(figures);
  expect(alone / honest.length).toBeGreaterThanOrEqual(0.85);
  for (const { policy } of [...hostile, ...honest]) expect(POLICIES).toContain(policy);
});
