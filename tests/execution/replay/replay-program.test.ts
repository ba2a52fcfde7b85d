import { afterEach, describe, expect, it, vi } from "vitest";
import type { ProgramScope } from "../../../execution/program.ts";
import { type RecordedRun, replayProgram } from "../../../execution/replay/replay-program.ts";
import type { Language, Preparation, TypecheckOptions } from "../../../languages/language.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";
import type { Envelope } from "../../../protocol/envelope.ts";
import { buildFailure, type FailureType } from "../../../protocol/failure.ts";
import { SandboxError } from "../../../sandbox/sandbox-error.ts";
import { SandboxStarter } from "../../../sandbox/sandbox-starter.ts";
import { Redactor } from "../../../secrets/redaction.ts";
import { InProcessEngine, type ProgramFunction } from "../../sandbox/in-process-engine.ts";

const LIMITS = {
  timeoutMs: 1_000,
  maxOutputBytes: 65_536,
  maxStderrBytes: 65_536,
  maxParallelCalls: 1,
  maxToolCalls: 1,
};

/** How long the recorded program took. */
const TOOK_MS = 900;

type Recorded = { data: unknown } | { failed: FailureType; message: string };

function recordedRun(recorded: Recorded): RecordedRun {
  const metrics = { duration_ms: TOOK_MS, tool_calls: 0, tool_result_bytes: 0 };
  const result =
    "failed" in recorded
      ? { ok: false as const, error: buildFailure(recorded.failed, recorded.message) }
      : { ok: true as const, data: recorded.data };
  const envelope: Envelope = {
    run_id: "run",
    trace_id: "t",
    tool_name: "execute_program",
    tool_version: "0",
    input_digest: `sha256:${"0".repeat(64)}`,
    output_digest: digestOf(result),
    sandbox_image: null,
    duration_ms: TOOK_MS,
    approval_state: "NOT_REQUIRED",
    result: { ...result, metrics },
  };
  return {
    program: { code: "1", data: {}, language: "plain", fileName: "program" },
    envelope,
    consoleText: "",
    emitted: [],
    calls: [],
    environment: { seed: "0".repeat(64) },
    knowsModules: true,
  };
}

interface Machine {
  program?: ProgramFunction;
  preparation?: Preparation;
  sandboxes?: ProgramScope["sandboxes"];
  signal?: AbortSignal;
  advise?: Language["advise"];
}

/** Replays on a machine where things go so. */
async function replay(recorded: Recorded, machine: Machine = {}) {
  const checks: TypecheckOptions[] = [];
  const { preparation = { ok: true, bundle: "1" } } = machine;
  const language = {
    names: ["plain"],
    suffixes: {},
    runner: "node",
    idioms: { output: "say", value: "value" },
    advise: machine.advise ?? (async () => []),
    async prepare(_program: unknown, _modules: unknown, check: TypecheckOptions) {
      checks.push(check);
      return preparation;
    },
  } as unknown as Language;
  const engine = new InProcessEngine(machine.program ?? (async () => 1));
  const sandboxes = new SandboxStarter({
    engine,
    owner: "me",
    image: "none",
    runtime: "none",
    limits: { memoryMb: 512, cpus: 1, pids: 64 },
  });
  const replayed = await replayProgram({
    run: recordedRun(recorded),
    sandboxes: machine.sandboxes ?? sandboxes,
    languages: [language],
    modules: { modules: () => [], load: async () => undefined },
    redactor: new Redactor([]),
    clock: { monotonicMs: () => performance.now() },
    toolVersion: "0",
    ...{ limits: LIMITS, typecheck: "error", signal: machine.signal ?? new AbortController().signal },
  });
  const { result } = replayed.envelope;
  return { ...replayed, checks, came: result.ok ? result.data : result.error.type };
}

afterEach(() => vi.useRealTimers());

describe("a replay that was ended from outside", () => {
  it("is undecided where a program takes longer than it did, which is first waited for", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const replaying = replay({ data: 1 }, { program: () => new Promise(() => {}) });
    const ended = vi.fn();
    void replaying.then(ended);
    await vi.advanceTimersByTimeAsync(20 * TOOK_MS + 50_000);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await replaying).toMatchObject({
      came: "Timeout",
      divergence: undefined,
      undecided: expect.stringMatching(/^the replay was ended: .*; replay it once more$/),
    });
  });

  it("is undecided where the types of a refused program cannot be checked in time", async () => {
    const refused = { failed: "TypeCheckError", message: "program:1:1: no" } as const;
    const unchecked = "type checking took longer than 1 ms";
    const found = await replay(refused, { preparation: { ok: true, bundle: "1", unchecked } });
    expect(found).toMatchObject({ came: "InternalError", divergence: undefined });
    expect(found.undecided).toContain(unchecked);
    expect(found.checks[0]?.patienceMs).toBeGreaterThanOrEqual(300_000);
  });

  it("is undecided where the bundler had no time", async () => {
    const late = {
      ok: false,
      type: "BundleError",
      message: "too slow",
      reasons: [{ code: "out_of_time" }],
    } as const;
    expect(await replay({ data: 1 }, { preparation: late })).toMatchObject({
      divergence: undefined,
      undecided: "too slow; replay it once more",
    });
  });

  it("is undecided where no sandbox can be had, and says so as any run does", async () => {
    const acquire = () => Promise.reject(new SandboxError("engine_unreachable", "there is no engine"));
    expect(await replay({ data: 1 }, { sandboxes: { acquire } })).toMatchObject({
      came: "SandboxUnavailable",
      divergence: undefined,
      undecided: "there is no engine",
    });
  });

  it("is undecided where it was cancelled", async () => {
    const cancel = new AbortController();
    const program = () => {
      cancel.abort();
      return new Promise(() => {});
    };
    expect(await replay({ data: 1 }, { program, signal: cancel.signal })).toMatchObject({
      came: "Cancelled",
      divergence: undefined,
      undecided: "the replay was cancelled",
    });
  });
});

describe("a replay that ends by itself", () => {
  it("is the same where it comes to the same, also after a run that time has ended", async () => {
    expect(await replay({ data: 1 })).toMatchObject({ came: 1, divergence: undefined, undecided: undefined });
    const cut = { failed: "Timeout", message: "it took too long" } as const;
    expect(await replay(cut)).toMatchObject({ came: "Timeout", divergence: undefined, undecided: undefined });
  });

  it("has diverged where it comes to something else", async () => {
    expect(await replay({ data: 2 })).toMatchObject({
      came: "ReplayDiverged",
      divergence: "the result differs at .data: expected 2; got 1",
      undecided: undefined,
    });
    const mistaken = { ok: false, type: "TypeCheckError", message: "program:1:1: no", reasons: [] } as const;
    const refused = { failed: "TypeCheckError", message: "program:2:2: no" } as const;
    expect((await replay(refused, { preparation: mistaken })).divergence).toContain("the result differs");
  });

  it.each<[Recorded, TypecheckOptions["mode"]]>([
    [{ data: 1 }, "off"],
    [{ failed: "ScriptError", message: "no" }, "off"],
    [{ failed: "Timeout", message: "it took too long" }, "off"],
    [{ failed: "TypeCheckError", message: "program:1:1: no" }, "error"],
    [{ failed: "BundleError", message: "no such module" }, "error"],
  ])(
    "checks the types of a program again only where it was refused before it ran: after %j, %s",
    async (recorded, mode) => {
      const { checks } = await replay(recorded);
      expect(checks.map((check) => check.mode)).toEqual([mode]);
    },
  );

  it("is the same though the types of a program that ran cannot be checked now", async () => {
    const preparation = { ok: true, bundle: "1", unchecked: "type checking took longer than 1 ms" } as const;
    expect(await replay({ data: 1 }, { preparation })).toMatchObject({
      came: 1,
      divergence: undefined,
      undecided: undefined,
    });
  });

  it("says what its language advises, after the hints of its check, and nothing where it cannot be advised", async () => {
    const preparation = { ok: true, bundle: "1", hints: ["look at x"] } as const;
    const advice = async (advise: Language["advise"]) =>
      (await replay({ data: 1 }, { preparation, advise })).advice;
    expect(await advice(async () => ["print it"])).toEqual(["look at x", "print it"]);
    expect(await advice(() => Promise.reject(new Error("planted")))).toEqual(["look at x"]);
  });
});
