import { describe, expect, it } from "vitest";
import { clock } from "../../../base/clock.ts";
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  type Approver,
  complete,
  RunApprovals,
  UNASKED,
} from "../../../broker/approvals/approvals.ts";
import type { ElicitationRequest } from "../../../broker/elicitation/elicitation.ts";
import { Conversation } from "../../../broker/flow/conversation.ts";
import { buildApprover } from "../../../project/terminal/approver.ts";
import { ProgramConsole } from "../../../project/terminal/program-console.ts";
import { giveAnswer, readAnswer } from "../../../server/mcp/elicitation.ts";
import { type ClientConnection, ClientNotices } from "../../../server/mcp/programs/client-request.ts";
import { LiveRun } from "../../../server/mcp/programs/live-run.ts";
import { FakeTerminal, pipe } from "../../cli/terminal/terminals.ts";

type Answered = "yes" | "no";

/** An approver, and the person behind it. `isAsked` resolves when a question is open, which `answer` then answers. */
interface Asking {
  approver: Approver;
  isAsked(): Promise<unknown>;
  answer(given: Answered): Promise<void>;
}

function atTerminal(): Asking {
  const terminal = new FakeTerminal();
  const console = new ProgramConsole(terminal.surroundings, 100_000);
  const approver = buildApprover([], { console, surroundings: terminal.surroundings, onInterrupt: () => {} });
  let read = 0;
  const isAsked = () =>
    expect.poll(() => terminal.screen.slice(read), { timeout: 20_000 }).toMatch(/\[N\]o: $/);
  return {
    approver,
    isAsked,
    async answer(given) {
      await isAsked();
      read = terminal.screen.length;
      terminal.type(given === "yes" ? "y\r" : "n\r");
    },
  };
}

function liveRun(canAsk: boolean): LiveRun {
  const connection: ClientConnection = {
    context: { principal: "ann", source: "serve", session: "s", groups: [] } as never,
    closed: new AbortController().signal,
    conversation: new Conversation(),
    notices: new ClientNotices(),
    known: () => Promise.reject(new Error("nobody looks for tools")),
  };
  const request = { connection, signal: new AbortController().signal, progress: undefined, canAsk };
  return new LiveRun(request, { isOneOfMany: false, pause() {}, resume() {}, free() {} }, clock);
}

function atClient(): Asking {
  const run = liveRun(true);
  const opened = async () => {
    const event = await run.next(undefined);
    if (event.kind !== "question") throw new Error("the run has ended");
    return event.question;
  };
  return {
    approver: run.request.approver,
    isAsked: opened,
    async answer(given) {
      const content = { decision: "once" };
      const response = given === "yes" ? { action: "accept", content } : { action: "decline" };
      const question = await opened();
      giveAnswer(question, readAnswer(question, response, undefined));
    },
  };
}

/** The least that an approver may be: it asks in memory, and puts no question of a server. */
function inMemory(): Asking {
  let question = Promise.withResolvers<(answer: ApprovalAnswer) => void>();
  return {
    approver: {
      ask: (_, signal) =>
        new Promise((resolve) => {
          const answer = (given: ApprovalAnswer) => {
            question = Promise.withResolvers();
            resolve(given);
          };
          if (signal.aborted) return answer(UNASKED);
          signal.addEventListener("abort", () => answer(UNASKED));
          question.resolve(answer);
        }),
    },
    isAsked: () => question.promise,
    async answer(given) {
      (await question.promise)({ decision: given === "yes" ? "once" : "denied", by: "ann" });
    },
  };
}

const request = (args: unknown): ApprovalRequest => ({
  ...{ runId: "run-1", tool: "mcp__desk__send", definitionDigest: "d" },
  ...{ arguments: args, argumentsDigest: JSON.stringify(args) },
});
const form = { mode: "form", message: "which?", fields: [], server: "desk", tool: "t", runId: "run-1" };
const tool = { namespacedName: "mcp__desk__send", definitionDigest: "d" } as Parameters<
  RunApprovals["approve"]
>[0];
const never = new AbortController().signal;

const APPROVERS: [name: string, open: () => Asking][] = [
  ["at a terminal", atTerminal],
  ["at a client of ptc serve", atClient],
  ["in memory", inMemory],
];

describe.each(APPROVERS)("an approver %s", (_, open) => {
  it.each([
    ["yes", "once"],
    ["no", "denied"],
  ] as const)(
    "that is answered %s decides about one call, and names who answered",
    async (given, decision) => {
      const { approver, answer } = open();
      const decided = approver.ask(request(1), never);
      await answer(given);
      expect(await decided).toMatchObject({ decision, by: expect.stringMatching(/./) });
    },
  );

  it("asks about the next call again, after either answer", async () => {
    const { approver, answer } = open();
    const approvals = new RunApprovals("run-1", approver);
    const decided = [1, 2, 3].map((args) => approvals.approve(tool, args, never));
    for (const given of ["yes", "no", "yes"] as const) await answer(given);
    expect((await Promise.all(decided)).map(({ decision }) => decision)).toEqual([
      "approved-once",
      "denied",
      "approved-once",
    ]);
  });

  it("approves nothing when its question is withdrawn, and can ask the next", async () => {
    const { approver, isAsked, answer } = open();
    const withdrawn = new AbortController();
    const first = approver.ask(request(1), withdrawn.signal);
    await isAsked();
    withdrawn.abort();
    expect(["denied", "later"]).toContain((await first).decision);
    const elsewhere = { decision: "once", by: "bob" } as const;
    expect(() => approver.answeredElsewhere?.(request(1), elsewhere)).not.toThrow();
    const second = approver.ask(request(2), never);
    await answer("yes");
    expect(await second).toMatchObject({ decision: "once" });
  });

  it("approves nothing that is withdrawn before it is asked", async () => {
    const { approver } = open();
    expect(["denied", "later"]).toContain((await approver.ask(request(1), AbortSignal.abort())).decision);
  });

  it("gives a server no answer that no person gave", async () => {
    const { elicit, canVisit } = complete(open().approver);
    expect(await elicit(form as unknown as ElicitationRequest, AbortSignal.abort())).not.toMatchObject({
      action: "accept",
    });
    expect(canVisit()).toBe(false);
  });
});

const piped = (suspends: boolean) => {
  const { surroundings } = pipe();
  const console = new ProgramConsole(surroundings, 10_000);
  return buildApprover([], { console, surroundings, suspends, onInterrupt: () => {} });
};

it.each<[name: string, approver: () => Approver, decision: string]>([
  ["in a pipe", () => piped(false), "denied"],
  ["in a pipe, for a run that may be suspended", () => piped(true), "later"],
  ["at a client that cannot ask", () => liveRun(false).request.approver, "later"],
])("an approver %s says that nobody was asked", async (_, open, decision) => {
  const { ask, elicit } = complete(open());
  expect(await ask(request(1), never)).toMatchObject({ decision, isUnasked: true });
  expect(await elicit(form as unknown as ElicitationRequest, never)).toMatchObject({ action: "unasked" });
});
