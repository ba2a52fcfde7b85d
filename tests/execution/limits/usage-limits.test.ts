import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  type Admitted,
  type Counters,
  type CountRequest,
  HOLD_MS,
  MemoryCounters,
} from "../../../archive/counters.ts";
import {
  appliedLimits,
  type LimitSettings,
  UsageLimits,
  type UseLimits,
} from "../../../execution/limits/usage-limits.ts";

const NONE: LimitSettings = { together: {}, each: {}, groups: {}, principals: {} };

function setUp(limits: Partial<LimitSettings>, groups: Record<string, string[]> = {}) {
  const time = { wallMs: Date.UTC(2026, 5, 1, 12, 0, 20), monotonicMs: 0 };
  const counted: CountRequest[] = [];
  const memory = new MemoryCounters(() => time.wallMs);
  const counters: Counters & { fault?: Error } = {
    async count(request): Promise<Admitted[]> {
      counted.push(request);
      if (counters.fault !== undefined) throw counters.fault;
      return memory.count(request);
    },
  };
  const use = new UsageLimits({
    counters,
    settings: () => ({ ...NONE, ...limits }),
    groups: () => groups,
    clock: { monotonicMs: () => time.monotonicMs },
  });
  const pass = (ms: number) => {
    time.wallMs += ms;
    time.monotonicMs += ms;
  };
  const admit = async (principal: string, groupsOfLogin?: string[]) => {
    const admission = await use.admit({ principal, ...(groupsOfLogin && { groups: groupsOfLogin }) });
    if (admission.kind !== "admitted") throw new Error(`${admission.kind}: ${admission.failure.message}`);
    return admission.allowance;
  };
  return { use, admit, pass, counted, counters };
}

const each = (limits: UseLimits) => ({ each: limits });

it("the limits of a group hold for somebody whom it only binds", async () => {
  const { use } = setUp({ groups: { contractors: { together: {}, each: { maxProgramsPerMinute: 1 } } } });
  const token = { principal: "eve", boundGroups: ["contractors"] };
  expect((await use.admit(token)).kind).toBe("admitted");
  expect((await use.admit(token)).kind).toBe("refused");
});

describe("the limits of a principal", () => {
  const settings: LimitSettings = {
    together: { maxCallsPerMinute: 900 },
    each: { maxCallsPerMinute: 10, maxProgramsPerMinute: 3 },
    groups: {
      staff: { together: { maxParallelPrograms: 8 }, each: { maxCallsPerMinute: 50 } },
      leads: { together: {}, each: { maxCallsPerMinute: 70 } },
    },
    principals: { ci: { maxCallsPerMinute: 500 } },
  };
  const of = (principal: string, groups: string[] = []) =>
    appliedLimits(settings, principal, groups).map(({ setting, limit }) => [setting, limit]);

  it("are those of each, and of everybody together", () => {
    expect(of("ada")).toEqual([
      ["limits.each.max_programs_per_minute", 3],
      ["limits.each.max_calls_per_minute", 10],
      ["limits.together.max_calls_per_minute", 900],
    ]);
  });

  it("are the most generous of its groups, and those of each group together", () => {
    expect(of("ada", ["staff", "leads", "constructor"])).toEqual([
      ["limits.groups.staff.together.max_parallel_programs", 8],
      ["limits.each.max_programs_per_minute", 3],
      ["limits.groups.leads.each.max_calls_per_minute", 70],
      ["limits.together.max_calls_per_minute", 900],
    ]);
  });

  it("are its own where it is named, one by one", () => {
    expect(of("ci", ["staff"])).toContainEqual(["limits.principals.'ci'.max_calls_per_minute", 500]);
    expect(of("ci", ["staff"])).toContainEqual(["limits.each.max_programs_per_minute", 3]);
  });
});

describe("programs of a principal", () => {
  it("beyond those of a minute are refused with what is left and when there is more, without asking again", async () => {
    const { use, admit, pass, counted } = setUp(each({ maxProgramsPerMinute: 2 }));
    await admit("ada");
    await admit("ada");
    expect(await use.admit({ principal: "ada" })).toMatchObject({
      kind: "refused",
      failure: {
        type: "Busy",
        retryable: true,
        retryAfterSeconds: 40,
        message:
          "0 of 2 programs a minute are left (limits.each.max_programs_per_minute); there is more in 40 s",
      },
    });
    const asked = counted.length;
    pass(15_000);
    expect(use.whyNot({ principal: "ada" })?.retryAfterSeconds).toBe(25);
    expect(await use.admit({ principal: "ada" })).toMatchObject({
      ...{ kind: "refused", failure: { retryAfterSeconds: 25 } },
    });
    expect(counted).toHaveLength(asked);
    await admit("bob");
    pass(25_000);
    await admit("ada");
  });

  it("beyond those at a time have to wait until one ends", async () => {
    const { use, admit } = setUp(each({ maxParallelPrograms: 1 }));
    const first = await admit("ada");
    expect(await use.admit({ principal: "ada" })).toMatchObject({
      kind: "later",
      failure: { message: expect.stringContaining("wait for one to end") },
    });
    await admit("bob");
    first.end();
    first.end();
    await admit("ada");
  });

  it("are told of again while they run, so that nobody takes them for ended, and no longer", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { admit, counted } = setUp(each({ maxParallelPrograms: 2 }));
    const [one, two] = [await admit("ada"), await admit("ada")];
    const held = () => Object.values(counted.at(-1)?.holds ?? {});
    const heldIn = async (ms: number) => {
      counted.length = 0;
      await vi.advanceTimersByTimeAsync(ms);
      return held();
    };
    expect(await heldIn(HOLD_MS)).toEqual([2]);
    one.end();
    expect(await heldIn(HOLD_MS)).toEqual([1]);
    two.end();
    expect(await heldIn(HOLD_MS)).toEqual([]);
    expect(counted).toHaveLength(1);
    await heldIn(10 * HOLD_MS);
    expect(counted).toEqual([]);
    await admit("ada");
    expect(await heldIn(HOLD_MS)).toEqual([1]);
  });

  it("end once, however often that is said", async () => {
    const { use, admit } = setUp(each({ maxParallelPrograms: 2 }));
    const [one] = [await admit("ada"), await admit("ada")];
    one.end();
    one.end();
    await admit("ada");
    expect(await use.admit({ principal: "ada" })).toMatchObject({
      kind: "later",
      failure: {
        retryAfterSeconds: undefined,
        message:
          "0 of 2 programs at a time are left (limits.each.max_parallel_programs); wait for one to end",
      },
    });
  });

  it("wait for the limit of programs at a time where a minute has one left, the first of such limits", async () => {
    const { use, admit } = setUp({
      each: { maxParallelPrograms: 1, maxProgramsPerMinute: 2 },
      together: { maxParallelPrograms: 1 },
    });
    await admit("ada");
    expect(await use.admit({ principal: "ada" })).toMatchObject({
      kind: "later",
      failure: {
        message:
          "0 of 1 programs at a time are left (limits.each.max_parallel_programs); wait for one to end",
      },
    });
  });

  it("are admitted at once after their limit was raised, though it was used up", async () => {
    const limits = { each: { maxProgramsPerMinute: 1 } };
    const { use, admit } = setUp(limits);
    await admit("ada");
    expect(await use.admit({ principal: "ada" })).toMatchObject({ kind: "refused" });
    limits.each = { maxProgramsPerMinute: 2 };
    expect(use.whyNot({ principal: "ada" })).toBeUndefined();
    await admit("ada");
  });

  const DAY = { maxResultBytesPerDay: 1 };
  const MINUTE = { maxProgramsPerMinute: 1 };
  it.each<[limits: Partial<LimitSettings>, told: string]>([
    [
      { each: { ...MINUTE, ...DAY } },
      "bytes of results a day are left (limits.each.max_result_bytes_per_day)",
    ],
    [
      { each: DAY, together: MINUTE },
      "bytes of results a day are left (limits.each.max_result_bytes_per_day)",
    ],
    [
      { each: MINUTE, together: DAY },
      "bytes of results a day are left (limits.together.max_result_bytes_per_day)",
    ],
    [{ each: MINUTE, together: MINUTE }, "programs a minute are left (limits.each.max_programs_per_minute)"],
  ])("are told of the limit for which they have to wait longest: of %j, %s", async (limits, told) => {
    const { use, admit } = setUp(limits);
    (await admit("ada")).useBytes(5);
    await use.close();
    const seconds = told.includes("day") ? 43_180 : 40;
    expect(await use.admit({ principal: "ada" })).toEqual({
      kind: "refused",
      failure: {
        type: "Busy",
        retryable: true,
        retryAfterSeconds: seconds,
        message: `0 of 1 ${told}; there is more in ${seconds} s`,
      },
    });
  });

  it("hold nothing any more once ptc closes", async () => {
    const { use, admit, counted } = setUp(each({ maxParallelPrograms: 1 }));
    await admit("ada");
    await use.close();
    expect(counted.at(-1)).toMatchObject({ holds: {}, admissions: [[]] });
    await admit("ada");
  });

  it("are counted in one request at a time, in which those go together that come meanwhile", async () => {
    const { use, counters } = setUp(each({ maxProgramsPerMinute: 9 }));
    const count = counters.count.bind(counters);
    const [together, waiting]: [number[], (() => void)[]] = [[], []];
    counters.count = async (request) => {
      together.push(request.admissions.length);
      await new Promise<void>((resolve) => waiting.push(resolve));
      return count(request);
    };
    const admitted = [use.admit({ principal: "ada" })];
    await expect.poll(() => together).toEqual([1]);
    for (const principal of ["ada", "bob", "eve"]) admitted.push(use.admit({ principal }));
    await new Promise((resolve) => setImmediate(resolve));
    expect(together).toEqual([1]);
    waiting.shift()?.();
    await expect.poll(() => together).toEqual([1, 3]);
    waiting.shift()?.();
    expect((await Promise.all(admitted)).map(({ kind }) => kind)).toEqual(Array(4).fill("admitted"));
  });

  it("count for its groups, of the configuration and of its login", async () => {
    const limits = { groups: { staff: { together: { maxProgramsPerMinute: 2 }, each: {} } } };
    const { use, admit } = setUp(limits, { staff: ["ada"] });
    await admit("ada");
    await admit("bob", ["staff"]);
    expect(await use.admit({ principal: "ada" })).toMatchObject({ kind: "refused" });
    await admit("eve");
  });

  it("cost one request each, which takes along what earlier ones have used", async () => {
    const { admit, counted } = setUp(each({ maxCpuSecondsPerDay: 2, maxCallsPerMinute: 80 }));
    const first = await admit("ada");
    await first.takeCall();
    first.useCpu(1_500);
    first.useCpu(400);
    first.end();
    await admit("ada");
    expect(counted).toHaveLength(2);
    expect(counted[1]?.settle).toMatchObject([
      { span: "day", amount: 1_900 },
      { span: "minute", amount: -9 },
    ]);
    expect(counted[1]?.holds).toEqual({});
  });

  it("are not begun once the day's processor time is used up", async () => {
    const { use, admit, pass } = setUp(each({ maxCpuSecondsPerDay: 2 }));
    (await admit("ada")).useCpu(1_999);
    (await admit("ada")).useCpu(5);
    expect(await use.admit({ principal: "ada" })).toMatchObject({
      failure: {
        message: expect.stringMatching(/^0 of 2 processor seconds a day are left .* more in 43180 s$/),
      },
    });
    pass(43_180_000);
    await admit("ada");
  });

  it("are refused, and none is lost, while nothing can be counted", async () => {
    const { use, admit, counters, counted } = setUp(each({ maxResultBytesPerDay: 100 }));
    (await admit("ada")).useBytes(60);
    counters.fault = new Error("PostgreSQL cannot be reached");
    expect(await use.admit({ principal: "ada" })).toMatchObject({
      kind: "refused",
      failure: { type: "Busy", message: expect.stringContaining("PostgreSQL cannot be reached") },
    });
    delete counters.fault;
    (await admit("ada")).end();
    expect(counted.at(-1)?.settle).toMatchObject([{ amount: 60 }]);
  });

  it("are refused where they are not granted and no count says why", async () => {
    const { use, counters } = setUp(each({ maxParallelPrograms: 2 }));
    counters.count = async () => [];
    expect(await use.admit({ principal: "ada" })).toMatchObject({
      kind: "refused",
      failure: { type: "Busy", message: expect.stringContaining("cannot be counted") },
    });
  });

  it("are not counted where nothing is limited", async () => {
    const { admit, counted } = setUp({});
    expect(await (await admit("ada")).takeCall()).toBeUndefined();
    expect(counted).toEqual([]);
  });
});

describe("calls of programs", () => {
  it("of all of a principal's programs together are no more than those of a minute", async () => {
    const { admit } = setUp(each({ maxCallsPerMinute: 20 }));
    const programs = await Promise.all([admit("ada"), admit("ada"), admit("ada")]);
    const all = await Promise.all(
      Array.from({ length: 30 }, (_, n) => (programs[n % 3] as (typeof programs)[number]).takeCall()),
    );
    const refused = all.filter((each) => each !== undefined);
    expect(refused).toHaveLength(10);
    expect(refused[0]).toBe(
      "0 of 20 calls a minute are left (limits.each.max_calls_per_minute); there is more in 40 s",
    );
  });

  it("that a program did not make are given back", async () => {
    const { admit } = setUp(each({ maxCallsPerMinute: 8 }));
    for (let n = 0; n < 7; n++) {
      const program = await admit("ada");
      await program.takeCall();
      program.end();
    }
    const last = await admit("ada");
    expect(await last.takeCall()).toBeUndefined();
    expect(await last.takeCall()).toContain("0 of 8 calls");
  });

  it("that a program took for a minute are not made in the next", async () => {
    const { admit, pass, counted } = setUp(each({ maxCallsPerMinute: 80 }));
    const program = await admit("ada");
    await program.takeCall();
    await program.takeCall();
    expect(counted).toHaveLength(1);
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + 60_000);
    onTestFinished(() => void vi.restoreAllMocks());
    pass(60_000);
    await program.takeCall();
    expect(counted).toHaveLength(2);
    await program.takeCall();
    expect(counted).toHaveLength(2);
  });

  it("go by the smaller of two limits, and take no more than that of the other", async () => {
    const { admit, counted, use } = setUp({
      each: { maxCallsPerMinute: 3 },
      together: { maxCallsPerMinute: 5 },
    });
    const [ada, bob] = [await admit("ada"), await admit("bob")];
    const made = async (program: typeof ada, calls: number) => {
      let made = 0;
      for (let n = 0; n < calls; n++) if ((await program.takeCall()) === undefined) made++;
      return made;
    };
    expect(await made(ada, 4)).toBe(3);
    expect(await made(bob, 4)).toBe(2);
    await use.close();
    expect(counted.length).toBeGreaterThan(0);
  });

  it("end where the day's bytes of results are used up", async () => {
    const { admit } = setUp(each({ maxResultBytesPerDay: 100 }));
    const program = await admit("ada");
    expect(await program.takeCall()).toBeUndefined();
    program.useBytes(120);
    expect(await program.takeCall()).toMatch(/^0 of 100 bytes of results a day are left/);
  });

  it.each([
    ["together", { each: { maxResultBytesPerDay: 100 }, together: { maxResultBytesPerDay: 80 } }],
    ["each", { each: { maxResultBytesPerDay: 80 }, together: { maxResultBytesPerDay: 100 } }],
  ])("end sooner in a program that begins after others have used some of that: %s", async (whose, limits) => {
    const { admit } = setUp(limits);
    (await admit("ada")).useBytes(60);
    const program = await admit("ada");
    program.useBytes(19);
    expect(await program.takeCall()).toBeUndefined();
    program.useBytes(1);
    expect(await program.takeCall()).toContain(
      `0 of 80 bytes of results a day are left (limits.${whose}.max_result_bytes_per_day)`,
    );
  });

  it("by themselves are limited as those of programs are, and not as programs", async () => {
    const { use, admit } = setUp(
      each({ maxProgramsPerMinute: 1, maxParallelPrograms: 1, maxCpuSecondsPerDay: 2 }),
    );
    const program = await admit("ada");
    expect(await use.admit({ principal: "ada" }, true)).toMatchObject({ kind: "admitted" });
    program.useCpu(2_000);
    await use.close();
    expect(await use.admit({ principal: "ada" }, true)).toMatchObject({
      kind: "refused",
      failure: { message: expect.stringContaining("(limits.each.max_cpu_seconds_per_day)") },
    });
    expect(use.whyNot({ principal: "ada" }, true)).toBeDefined();
    expect(use.whyNot({ principal: "bob" }, true)).toBeUndefined();
  });
});
