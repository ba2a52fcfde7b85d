import { describe, expect, it } from "vitest";
import type { CallingRun, CallOutcome } from "../../../broker/dispatcher.ts";
import type { RunFlow } from "../../../broker/flow/run-flow.ts";
import { type ExperimentParts, Experiments } from "../../../execution/experiment/experiments.ts";
import { SandboxStarter } from "../../../sandbox/sandbox-starter.ts";
import { Redactor } from "../../../secrets/redaction.ts";
import { eventually } from "../../eventually.ts";
import { InProcessEngine, type ProgramFunction } from "../../sandbox/in-process-engine.ts";
import { LIMITS } from "../program-parts.ts";

const MANY_CALLS = { ...LIMITS, maxParallelCalls: 10, maxToolCalls: 100 };
const READ = "mcp__mail__read";
const SEND = "mcp__out__send";
const MAIL = { from: "Eve", isUrgent: true, pages: 12, subject: "invoice" };
const MOST_BYTES = 32 * 1024 * 1024;

const answer = (data: unknown, bytes = 10): CallOutcome => ({
  ...{ ok: true, data, raw: { content: [] } },
  ...{ decision: "allowed", bytes },
});

interface Recorded {
  /** The answers to its calls of `READ`, which came before its call of `SEND`. */
  answers?: CallOutcome[];
  /** The numbers of the calls whose answers have labels. */
  labelled?: number[];
  code?: string;
  parts?: Partial<ExperimentParts>;
  /** What the parts of the answers carry, where that is not the same. */
  partsOf?: (path: string) => readonly string[];
}

/** A program that has made some calls and now sends something, and the experiments of its run. */
async function recorded(
  program: ProgramFunction,
  { answers = [answer(MAIL)], labelled = [1], code = "", parts = {}, partsOf }: Recorded = {},
) {
  const engine = new InProcessEngine(program);
  const experiments = new Experiments(
    {
      scope: { limits: MANY_CALLS, clock: { monotonicMs: () => 0 }, redactor: new Redactor([]) },
      program: { code, data: {}, language: "javascript", fileName: "p.js" },
      prepared: {
        ...{ ok: true, bundle: "1", runner: "javascript", hints: [] },
        idioms: { output: "say", value: "value" },
      } as unknown as ExperimentParts["prepared"],
      environment: { seed: "0" },
      sandboxes: new SandboxStarter({
        ...{ engine, owner: "me", image: "none", runtime: "none" },
        limits: { memoryMb: 512, cpus: 1, pids: 64 },
      }),
      flow: {
        labelsOfCall: (seq: number) => ({ certain: labelled.includes(seq) ? ["secret"] : [], possible: [] }),
        partsOfCall: () => partsOf,
      } as unknown as RunFlow,
      signal: new AbortController().signal,
      ...parts,
    },
    0,
  );
  let seq = 0;
  for (const outcome of answers) {
    const call = experiments.aroundCalls(async () => outcome);
    expect(await call({ tool: READ, arguments: {} }, { seq: ++seq } as CallingRun)).toBe(outcome);
  }
  /** Which of the sent values stay the same, asked while the call is made. */
  const stays = async (sent: Record<string, unknown>, paths = Object.keys(sent)) => {
    let found: ReadonlyMap<string, boolean> = new Map();
    const target = { tool: SEND, arguments: sent, seq: ++seq };
    const call = experiments.aroundCalls(async () => {
      found = await experiments.try(target, paths, ["secret"]);
      return answer(null);
    });
    await call({ tool: SEND, arguments: sent }, { seq } as CallingRun);
    await eventually(() => expect(engine.live.size).toBe(0));
    return Object.fromEntries(found);
  };
  return { stays, engine };
}

/** A program that reads some mails and sends what it makes of the data of the last. */
const sending =
  (make: (data: typeof MAIL) => unknown, reads = 1): ProgramFunction =>
  async ({ call }) => {
    let mail = MAIL;
    for (let read = 0; read < reads; read++) {
      const reply = await call(READ, {});
      mail = reply.ok ? (reply.data as typeof MAIL) : { ...MAIL, from: reply.error.message };
    }
    await call(SEND, make(mail));
    return null;
  };

describe("an experiment about whether a call is made", () => {
  const mayWipe =
    (isWanted: (data: typeof MAIL) => boolean): ProgramFunction =>
    async ({ call }) => {
      const reply = await call(READ, {});
      if (reply.ok && isWanted(reply.data as typeof MAIL)) await call(SEND, {});
      return null;
    };

  it.each<[name: string, isWanted: (data: typeof MAIL) => boolean, code: string, isMade: boolean]>([
    ["whatever was read", () => true, "", true],
    ["where a word was read", ({ from }) => String(from).includes("Eve"), "from.includes('Eve')", false],
    ["where a number was read", ({ pages }) => pages > 10, "pages > 10", false],
  ])("tells whether it is made %s", async (_, isWanted, code, isMade) => {
    const { stays } = await recorded(mayWipe(isWanted), { code });
    expect(await stays({}, ["()"])).toEqual({ "()": isMade });
  });

  it.each<[name: string, data: unknown, isWanted: (data: never) => boolean]>([
    ["a list is empty", { items: [] }, ({ items }: { items?: [] }) => (items ?? []).length === 0],
    ["a whole answer is empty", [], (items: []) => items.length === 0],
    ["a text is empty", { note: "" }, ({ note }: { note: string }) => note === ""],
    ["nothing is there", { note: null }, ({ note }: { note: unknown }) => note === null],
    ["a member is missing", { a: 1 }, ({ note }: { note: unknown }) => note === undefined],
    ["a member is there", { note: 1 }, ({ note }: { note: unknown }) => note !== undefined],
    [
      "a text does not have a word",
      { body: "a b" },
      ({ body }: { body: string }) => !String(body).includes("stop"),
    ],
  ])("takes a call that is made because %s for one that depends on it", async (_, data, isWanted) => {
    const code = 'const { note, items, body } = found; if (found.note || body.includes("stop")) stop();';
    const { stays } = await recorded(mayWipe(isWanted as never), { answers: [answer(data)], code });
    expect(await stays({}, ["()"])).toEqual({ "()": false });
  });

  it("takes a call that is made because another failed for one that depends on it", async () => {
    const failed = {
      ok: false,
      error: { kind: "tool", message: "not found" },
      decision: "allowed",
      bytes: 1,
    };
    const program: ProgramFunction = async ({ call }) => {
      const reply = await call(READ, {});
      if (!reply.ok) await call(SEND, {});
      return null;
    };
    const { stays } = await recorded(program, { answers: [failed as unknown as CallOutcome] });
    expect(await stays({}, ["()"])).toEqual({ "()": false });
  });
});

describe("an experiment about an answer whose parts have labels of their own", () => {
  const pages = [answer([MAIL, { ...MAIL, from: "Ann", pages: 3 }])];
  const sendingOf =
    (make: (data: (typeof MAIL)[]) => unknown): ProgramFunction =>
    async ({ call }) => {
      const reply = await call(READ, {});
      if (reply.ok) await call(SEND, make(reply.data as (typeof MAIL)[]));
      return null;
    };

  it("leaves the parts without a label, and their number", async () => {
    const partsOf = (path: string) => (path.endsWith(".from") ? ["secret"] : []);
    const program = sendingOf((all) => ({ count: all.length, pages: all[1]?.pages, from: all[0]?.from }));
    const { stays } = await recorded(program, { answers: pages, partsOf });
    expect(await stays({ count: 2, pages: 3, from: "Eve" })).toEqual({
      count: true,
      pages: true,
      from: false,
    });
  });

  it("has another number of parts where that is a stranger's", async () => {
    const partsOf = (path: string) => (path.endsWith(".pages") ? [] : ["secret"]);
    const program = sendingOf((all) => ({ count: all.length, pages: all[0]?.pages }));
    const { stays } = await recorded(program, { answers: pages, partsOf });
    expect(await stays({ count: 2, pages: 12 })).toEqual({ count: false, pages: true });
  });
});

describe("an experiment", () => {
  it("tells the values that change with what the program has read from those that do not", async () => {
    const { stays, engine } = await recorded(
      sending(({ from, pages }) => ({ to: from, text: "hi", count: pages, inside: { also: from } })),
    );
    const sent = { to: "Eve", text: "hi", count: 12, inside: { also: "Eve" } };
    expect(await stays(sent, ["to", "text", "count", "inside.also", "nowhere"])).toEqual({
      ...{ to: false, text: true, count: false },
      ...{ "inside.also": false, nowhere: true },
    });
    expect(engine.programs.map(({ environment }) => environment)).toEqual(
      Array(3).fill({ seed: "0", replay: { started_ms: 0, clock: "", events: "" } }),
    );
  });

  it("gives each call of a tool the answer that it had, and others where that has labels", async () => {
    const answers = [answer({ ...MAIL, from: "Ann" }), answer({ ...MAIL, from: "Bob" })];
    const program = sending(({ from }) => ({ to: from }), 2);
    for (const [labelled, to] of [
      [[1], true],
      [[2], false],
      [[], true],
    ] as const) {
      const { stays } = await recorded(program, { answers, labelled: [...labelled] });
      expect(await stays({ to: "Bob" })).toEqual({ to });
    }
  });

  it("changes what a failed call said, too", async () => {
    const error = { server: "mail", tool: "read", message: "no mail of Eve", retryable: false };
    const failed: CallOutcome = {
      ok: false,
      error: { type: "ToolError", ...error },
      decision: "allowed",
      bytes: 10,
    };
    const { stays } = await recorded(
      sending(({ from }) => ({ text: from, length: from.length })),
      { answers: [failed] },
    );
    expect(await stays({ text: "no mail of Eve", length: 14 })).toEqual({ text: false, length: false });
  });

  it("has what the program looks for in other data, so that the program goes on", async () => {
    const program: ProgramFunction = async ({ call }) => {
      const reply = await call(READ, {});
      const mails = (reply.ok ? reply.data : []) as (typeof MAIL)[];
      const mail =
        mails.find(({ subject }) => subject === "invoice") ??
        mails.find(({ from }) => /^bill (\d+)/.exec(from));
      if (mail !== undefined) await call(SEND, { text: ["pay", "me"].join(" "), from: mail.from });
      return null;
    };
    const code = "s === 'invoice' || /^bill (\\d+)/.exec(from)";
    const { stays } = await recorded(program, {
      answers: [answer([MAIL, { ...MAIL, subject: "other" }])],
      code,
    });
    expect(await stays({ text: "pay me", from: "Eve" })).toEqual({ text: true, from: false });
  });

  it("takes a choice that depends on what was read for a value that changes", async () => {
    const program = sending(({ isUrgent, subject }) => ({
      ...{ isUrgent, color: isUrgent ? "red" : "blue" },
      folder: subject === "invoice" ? "bills" : "rest",
    }));
    const { stays } = await recorded(program, { code: "s === 'invoice'" });
    expect(await stays({ isUrgent: true, color: "red", folder: "bills" })).toEqual({
      ...{ isUrgent: false, color: false, folder: false },
    });
  });

  it("takes a value for one that changes where it does so in one of two runs", async () => {
    let runs = 0;
    const { stays } = await recorded(sending(() => ({ text: runs++ === 0 ? "hi" : "ho", other: "hi" })));
    expect(await stays({ text: "hi", other: "hi" })).toEqual({ text: false, other: true });
  });

  it.each<[string, ProgramFunction, () => Partial<ExperimentParts>]>([
    ["does not make the call again", async () => null, () => ({})],
    [
      "makes it only for certain data",
      async ({ call }) => {
        const reply = await call(READ, {});
        if (reply.ok && (reply.data as typeof MAIL).from === "Eve") await call(SEND, { text: "hi" });
        return null;
      },
      () => ({}),
    ],
    [
      "first makes a call that the run did not make",
      async ({ call }) => {
        await call("mcp__other__read", {});
        await call(SEND, { text: "hi" });
        return null;
      },
      () => ({ signal: AbortSignal.timeout(200) }),
    ],
    [
      "gets no sandbox",
      async () => null,
      () => ({ sandboxes: { acquire: () => Promise.reject(new Error("there is none")) } }),
    ],
  ])("takes a value for one that changes where the program %s", async (_, program, parts) => {
    const { stays } = await recorded(program, { parts: parts() });
    expect(await stays({ text: "hi" })).toEqual({ text: false });
  });

  it("is made eight times in a run at most", async () => {
    const { stays, engine } = await recorded(sending(() => ({ text: "hi" })));
    expect(await stays({ text: "hi" })).toEqual({ text: true });
    for (let made = 1; made < 8; made++) expect(Object.keys(await stays({ text: "hi" }))).toEqual(["text"]);
    const before = engine.programs.length;
    expect(await stays({ text: "hi" })).toEqual({});
    expect(engine.programs).toHaveLength(before);
  });

  it.each([
    [MOST_BYTES, { text: true }],
    [MOST_BYTES + 1, {}],
  ])("is made where the run has read no more than can be held: %i bytes", async (bytes, found) => {
    const { stays } = await recorded(
      sending(() => ({ text: "hi" })),
      { answers: [answer(MAIL, bytes)] },
    );
    expect(await stays({ text: "hi" })).toEqual(found);
  });
});
