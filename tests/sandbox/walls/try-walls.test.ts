import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { buildFailure } from "../../../protocol/failure.ts";
import type { SandboxOutput } from "../../../sandbox/sandbox.ts";
import type { SandboxRequest, StartedSandbox } from "../../../sandbox/sandbox-engine.ts";
import { SandboxError } from "../../../sandbox/sandbox-error.ts";
import type { ProbeFacts } from "../../../sandbox/walls/judge-walls.ts";
import { tryWalls, type WallOptions } from "../../../sandbox/walls/try-walls.ts";
import { InProcessEngine } from "../in-process-engine.ts";

const PROBE = "// tries the walls";
const FACTS: ProbeFacts = {
  network: { interfaces: [], reached: {} },
  ...{ writable: [], rootIsReadOnly: true, ids: [65_534], capabilities: {}, mounts: [], devices: [] },
  ...{ seen: [], engineSockets: [], socketFolder: [], nameServers: "", files: 64, disk: {}, processors: 1 },
  processes: { started: 20, refused: true },
};
const FOUND = JSON.stringify({ ok: true, data: FACTS, from: "result" });
const LIMITS = { memoryMb: 512, cpus: 1.5, pids: 64 };
const HOLDING = {
  ...{ facts: FACTS, keepsOutput: false, remains: false },
  ...{ exceedsMemory: false, survivesKill: false, survivesOwner: false },
};

interface Behaviour {
  /** What the program that tries the walls says at its end. */
  found?: string;
  /** What the program says that takes too much memory. */
  held?: string;
  /** Ways to end a sandbox that have no effect. */
  without?: Partial<StartedSandbox>;
}

/** An engine whose sandboxes do with the programs of experiments as the test says. */
class Experiments extends InProcessEngine {
  readonly #without: Partial<StartedSandbox>;

  constructor({ found = FOUND, held = "", without = {} }: Behaviour = {}) {
    super(async ({ print, exit }, { bundle, data }) => {
      if (bundle === PROBE) return exit(found);
      if (Object.hasOwn(data as object, "mb")) return exit(held);
      print("started");
      return new Promise(() => {});
    });
    this.#without = without;
  }

  override async start(request: SandboxRequest, output: SandboxOutput): Promise<StartedSandbox> {
    return { ...(await super.start(request, output)), ...this.#without };
  }
}

const evidenceOf = (engine: WallOptions["engine"], more: Partial<WallOptions> = {}) =>
  tryWalls({
    ...{ engine, owner: "me", image: "ptc-runner", runtime: "runsc", limits: LIMITS },
    ...{ probe: PROBE, hostPaths: [], ...more },
  });

test("walls are tried in sandboxes with the normal profile, but for one with little memory, and all are removed", async () => {
  const engine = new Experiments();
  const evidence = await evidenceOf(engine, { hostPaths: [import.meta.filename, "/no/such/file"] });
  const processors = { allowed: 1.5, present: availableParallelism() };
  expect(evidence).toEqual({ ...HOLDING, processors });
  const memories = engine.requests.map(({ limits }) => limits.memoryMb);
  expect([...memories].sort()).toEqual([192, 512, 512, 512]);
  expect(engine.requests[0]?.limits).toEqual(LIMITS);
  expect(engine.programs[0]?.data).toEqual({
    ...{ port: expect.any(Number), threads: 3, processors: 1.5 },
    hostPaths: [import.meta.filename],
  });
  expect(engine.programs.map(({ data }) => data)).toContainEqual({ mb: 384 });
  expect(engine.live.size).toBe(0);
  expect(engine.released.size).toBe(4);
});

test("a program takes twice the memory that sandboxes have, where that is fixed", async () => {
  const engine = Object.assign(new Experiments(), { hasFixedLimits: true });
  await evidenceOf(engine);
  expect(engine.requests.map(({ limits }) => limits.memoryMb)).toEqual([512, 512, 512, 512]);
  expect(engine.programs.map(({ data }) => data)).toContainEqual({ mb: 1_024 });
});

test("the engine says how many processors its machine has", async () => {
  const engine = new Experiments();
  const described = { ...(await engine.describe()), processors: 77 };
  const { processors } = await evidenceOf(Object.assign(engine, { describe: async () => described }));
  expect(processors).toEqual({ allowed: 1.5, present: 77 });
});

test.each<[what: string, behaviour: Behaviour, changes: Partial<WallOptions["engine"]>, found: object]>([
  ["keeps output", {}, { keepsOutput: async () => true }, { keepsOutput: true }],
  [
    "runs its kernel with rights",
    {},
    { keepsKernelUnprivileged: async () => false },
    { keepsKernelUnprivileged: false },
  ],
  [
    "still lists a sandbox that it has removed",
    {},
    { list: async () => [{ id: "sandbox-1", owner: "me" }] },
    { remains: true },
  ],
  ["gives a program too much memory", { held: FOUND }, {}, { exceedsMemory: true }],
  ["does not kill", { without: { kill: async () => {} } }, {}, { survivesKill: true }],
  ["does not end what ptc has left", { without: { leave: () => {} } }, {}, { survivesOwner: true }],
])("an engine is seen through that %s", async (_, behaviour, changes, found) => {
  const engine = Object.assign(new Experiments(behaviour), changes);
  expect(await evidenceOf(engine, { endPatienceMs: 100 })).toMatchObject({ ...HOLDING, ...found });
  expect(engine.live.size).toBe(0);
});

test.each([
  ["says nothing", "", "did not come to its end"],
  [
    "fails",
    JSON.stringify({ ok: false, error: buildFailure("ScriptError", "no such module") }),
    "failed: no such module",
  ],
  ["claims nothing", "{}", "failed: no claim"],
  ["finds something else", JSON.stringify({ ok: true, data: {}, from: "result" }), "returned something else"],
])(
  "where the program that tries the walls %s, that is told, and the other experiments are made",
  async (_, line, why) => {
    const problem = `the program that tries the walls ${why}`;
    const evidence = await evidenceOf(new Experiments({ found: line }));
    expect(evidence).toMatchObject({ ...HOLDING, facts: undefined, problem });
  },
);

test("where no sandbox can be started, that is told of all walls", async () => {
  const start = () => Promise.reject(new SandboxError("start_failed", "no room"));
  const evidence = await evidenceOf(Object.assign(new Experiments(), { start }));
  expect(evidence).toEqual({ processors: expect.anything(), problem: "no room" });
});

test("an engine that does not answer meanwhile leaves no sandbox", async () => {
  const keepsOutput = () => Promise.reject(new SandboxError("engine_unreachable", "gone"));
  const engine = Object.assign(new Experiments(), { keepsOutput });
  expect(await evidenceOf(engine)).toMatchObject({ problem: "gone" });
  expect(engine.live.size).toBe(0);
});
