import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ApprovalRequest, Approver } from "../../broker/approvals/approvals.ts";
import { interceptQuestions } from "../../broker/approvals/question-interceptors.ts";
import type { ElicitationAnswer, ElicitationRequest } from "../../broker/elicitation/elicitation.ts";
import { NOT_SAMPLED, type SamplingRequest } from "../../broker/elicitation/sampling.ts";
import { pauseWhileAsked, TimeLimit } from "../../execution/time-limit.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Longer than a question that is not worth a pause. */
const SOON_MS = 50;

function limit(ms: number, pausable = true) {
  const time = new TimeLimit(ms, { monotonicMs: () => Date.now() });
  const program = { said: [] as string[] };
  const controls = { pause: () => program.said.push("pause"), resume: () => program.said.push("resume") };
  let reached = false;
  void time.reached.then(() => {
    reached = true;
  });
  const passed = async (elapsedMs: number) => {
    await vi.advanceTimersByTimeAsync(elapsedMs);
    return reached;
  };
  return { time, program, controls, passed, start: () => time.start(pausable ? controls : {}) };
}

describe("a time limit", () => {
  it("stops when its program is left to a rehearsal, which is not paused, and begins anew with the run", async () => {
    const { time, program, start, passed } = limit(100);
    start();
    await passed(20);
    time.open();
    await passed(SOON_MS);
    time.leave();
    expect(program.said).toEqual(["pause", "resume"]);
    expect(await passed(500)).toBe(false);
    time.close();
    expect(program.said).toEqual(["pause", "resume"]);
    start();
    expect(await passed(99)).toBe(false);
    expect(await passed(1)).toBe(true);
    expect(time.spentMs).toBe(20 + SOON_MS + 100);
  });

  it("runs on for a program that cannot be paused yet, and pauses none that has ended", async () => {
    const { time, program, controls, passed } = limit(100);
    time.open();
    time.start({});
    await passed(SOON_MS + 20);
    expect(time.spentMs).toBe(SOON_MS + 20);
    time.letPause(controls);
    expect(await passed(29)).toBe(false);
    time.clear();
    time.letPause(controls);
    await passed(500);
    expect(program.said).toEqual([]);
  });

  it("stands still once its program can be paused, if a question is open", async () => {
    const { time, program, controls, passed } = limit(100);
    time.open();
    time.start({});
    await passed(20);
    time.letPause(controls);
    await passed(SOON_MS);
    expect(program.said).toEqual(["pause"]);
    expect(await passed(500)).toBe(false);
    time.close();
    expect(program.said).toEqual(["pause", "resume"]);
    expect(await passed(29)).toBe(false);
    expect(await passed(1)).toBe(true);
  });

  it("is reached when its time is up, counted from its start", async () => {
    const { start, passed } = limit(100);
    expect(await passed(500)).toBe(false);
    start();
    expect(await passed(99)).toBe(false);
    expect(await passed(1)).toBe(true);
  });

  it("stands still while the program is paused, however many questions are open", async () => {
    const { time, program, start, passed } = limit(100);
    start();
    await passed(20);
    time.open();
    time.open();
    await passed(SOON_MS);
    expect(program.said).toEqual(["pause"]);
    expect(await passed(1_000)).toBe(false);
    time.close();
    expect(await passed(1_000)).toBe(false);
    expect(program.said).toEqual(["pause"]);
    time.close();
    expect(program.said).toEqual(["pause", "resume"]);
    expect(await passed(100 - 20 - SOON_MS - 1)).toBe(false);
    expect(await passed(1)).toBe(true);
  });

  it("runs on through questions that are answered at once, and no program is stopped for them", async () => {
    const { time, program, start, passed } = limit(100);
    start();
    for (let i = 0; i < 3; i++) {
      time.open();
      expect(await passed(30)).toBe(false);
      time.close();
    }
    expect(await passed(10)).toBe(true);
    expect(program.said).toEqual([]);
  });

  it("runs on where the program cannot be paused", async () => {
    const { time, start, passed } = limit(100, false);
    start();
    time.open();
    expect(await passed(99)).toBe(false);
    expect(await passed(1)).toBe(true);
  });

  it("that was paused before its start stands still as soon as the program does", async () => {
    const { time, program, start, passed } = limit(100);
    time.open();
    expect(await passed(500)).toBe(false);
    start();
    await passed(SOON_MS);
    expect(program.said).toEqual(["pause"]);
    expect(await passed(500)).toBe(false);
    time.close();
    expect(await passed(100 - SOON_MS)).toBe(true);
  });

  it("that was cleared is never reached, and nothing is resumed, though a question be answered later", async () => {
    const { time, program, start, passed } = limit(100);
    start();
    time.open();
    await passed(SOON_MS);
    time.clear();
    time.close();
    expect(await passed(1_000)).toBe(false);
    expect(program.said).toEqual(["pause"]);
  });
});

describe("a question to a person", () => {
  const about = { server: "desk", tool: "mcp__desk__a", runId: "run-1" };
  const FORM: ElicitationRequest = { ...about, mode: "form", message: "which?", fields: [] };
  const ACCEPTED: ElicitationAnswer = { action: "accept", values: {} };
  const ONCE = { decision: "once", by: "ann" } as const;

  /** A program that has started, and questions to a person who answers when `give` is called. */
  function asking() {
    const { time, program, start, passed } = limit(100);
    const given = Promise.withResolvers<unknown>();
    const answer = () => given.promise;
    const approver = { ask: answer, elicit: answer, sample: answer } as unknown as Approver;
    const run = new AbortController();
    start();
    return {
      questions: interceptQuestions(approver, [pauseWhileAsked(time)]),
      give: (answer: unknown) => given.resolve(answer),
      fail: (fault: Error) => given.reject(fault),
      ...{ run, time, program, passed },
    };
  }

  /** A request to visit a URL, which the person does when `visit` is called. */
  function visiting() {
    const { promise: visited, resolve: visit, reject: leave } = Promise.withResolvers<void>();
    const request = {
      ...about,
      mode: "url",
      message: "log in",
      url: "https://a.example/",
      host: "a.example",
    };
    return { request: { ...request, visited } as ElicitationRequest, visit, leave };
  }

  it("stops the time of the program until it is answered, also with a fault", async () => {
    for (const [kind, answer] of [
      ["ask", ONCE],
      ["elicit", ACCEPTED],
      ["sample", NOT_SAMPLED],
    ] as const) {
      const { questions, give, run, program, passed } = asking();
      const asked =
        kind === "ask"
          ? questions.ask({} as ApprovalRequest, run.signal)
          : kind === "elicit"
            ? questions.elicit(FORM, run.signal)
            : questions.sample({} as SamplingRequest, run.signal);
      expect(await passed(10_000)).toBe(false);
      give(answer);
      expect(await asked).toBe(answer);
      expect(program.said).toEqual(["pause", "resume"]);
      expect(await passed(100 - SOON_MS)).toBe(true);
    }
    const { questions, fail, run, passed } = asking();
    const failing = questions.elicit(FORM, run.signal).catch(({ message }: Error) => message);
    expect(await passed(10_000)).toBe(false);
    fail(new Error("planted"));
    expect(await failing).toBe("planted");
    expect(await passed(100 - SOON_MS)).toBe(true);
  });

  it.each(["visit", "leave"] as const)(
    "to visit a URL stops it until the person has been there, if they agree, however that ends: %s",
    async (end) => {
      const { questions, give, run, program, passed } = asking();
      const there = visiting();
      const asked = questions.elicit(there.request, run.signal);
      await passed(SOON_MS);
      give(ACCEPTED);
      expect(await passed(10_000)).toBe(false);
      expect(program.said).toEqual(["pause"]);
      there[end]();
      expect(await asked).toBe(ACCEPTED);
      expect(program.said).toEqual(["pause", "resume"]);
    },
  );

  it("to visit a URL stops it no longer where the person declines, or the run ends", async () => {
    const declining = asking();
    const declined = declining.questions.elicit(visiting().request, declining.run.signal);
    declining.give({ action: "decline" });
    expect(await declined).toEqual({ action: "decline" });
    const ending = asking();
    const ended = ending.questions.elicit(visiting().request, ending.run.signal);
    ending.give(ACCEPTED);
    await ending.passed(SOON_MS);
    ending.run.abort();
    expect(await ended).toBe(ACCEPTED);
    expect(ending.program.said).toEqual(["pause", "resume"]);
  });
});
