import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { SqlitePendingStore } from "../../../archive/sqlite/sqlite-pending-store.ts";
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  type Approver,
  LATER,
} from "../../../broker/approvals/approvals.ts";
import { interceptQuestions } from "../../../broker/approvals/question-interceptors.ts";
import type { PendingApprovals } from "../../../execution/pending/pending-approvals.ts";
import { shareQuestions, type TellOfQuestion } from "../../../execution/pending/shared-questions.ts";
import { PendingError } from "../../../execution/pending/tickets.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import { currentProcess, formatIdentity } from "../../../system/process-identity.ts";
import { eventually } from "../../eventually.ts";
import { pendingProject } from "./pending-project.ts";

const CONTEXT: RunContext = { principal: "local", source: "serve" };
const REQUEST: ApprovalRequest = {
  runId: "r",
  tool: "mcp__a__drop",
  definitionDigest: "d",
  arguments: { table: "users" },
  argumentsDigest: "e",
};
const YES: ApprovalAnswer = { decision: "once", by: "ada", how: "ptc approvals" };
const OWN: ApprovalAnswer = { decision: "once", by: "terminal" };

/** A question that waits for the answer of the person who is asked here, and for any other. */
function asking(
  open: () => PendingApprovals,
  request = REQUEST,
  signal = new AbortController().signal,
  telling: { tell?: TellOfQuestion; tellAfterMs?: number } = {},
) {
  let give: (answer: ApprovalAnswer) => void = () => {};
  let withdrawn: AbortSignal | undefined;
  const answeredElsewhere = vi.fn<NonNullable<Approver["answeredElsewhere"]>>();
  const approver: Approver = {
    ask: (_, signal) => {
      withdrawn = signal;
      return new Promise((resolve) => {
        give = resolve;
        signal.addEventListener("abort", () =>
          resolve({ decision: "denied", by: "nobody", isUnasked: true }),
        );
      });
    },
    answeredElsewhere,
  };
  const shared = interceptQuestions(approver, [
    shareQuestions({
      ...{ context: CONTEXT, program: { fileName: "p.ts", code: "f()" }, ...telling },
      open: async () => open(),
    }),
  ]);
  const answer = shared.ask(request, signal);
  return {
    answer,
    give: (own: ApprovalAnswer) => give(own),
    answeredElsewhere,
    withdrawn: () => withdrawn?.aborted,
  };
}

it("whoever answers elsewhere sees the program that asks", async () => {
  const { pending } = await waiting();
  expect(pending).toMatchObject({ fileName: "p.ts", code: "f()" });
});

async function listed(approvals: PendingApprovals) {
  return eventually(async () => {
    const [listed] = await approvals.list("local");
    const pending = listed && (await approvals.get(listed.ticket));
    if (pending === undefined) throw new Error("nothing is asked");
    return pending;
  });
}

/** A question that waits in one process, and is seen in another. */
async function waiting(signal?: AbortSignal) {
  const project = pendingProject();
  const asked = asking(project.open, REQUEST, signal);
  const elsewhere = project.open();
  return { ...project, ...asked, elsewhere, pending: await listed(elsewhere) };
}

describe("a question that a run waits for", () => {
  it("counts the first answer, and the person who was asked learns that another answered", async () => {
    const { file, elsewhere, pending, answer, answeredElsewhere, withdrawn } = await waiting();
    expect(pending).toMatchObject({
      isLive: true,
      isAnswered: false,
      request: { arguments: { table: "users" } },
    });
    expect(readFileSync(file, "latin1")).not.toContain("users");
    expect(await elsewhere.find("somebody else", pending.ticket)).toEqual([]);
    expect(await elsewhere.take({ principal: "local" }, pending.ticket)).toMatchObject({ kind: "live" });
    expect(await elsewhere.answer("local", pending, YES)).toBe(true);
    expect(await elsewhere.answer("local", pending, { decision: "denied", by: "too late" })).toBe(false);
    expect(await answer).toEqual(YES);
    expect(withdrawn()).toBe(true);
    expect(answeredElsewhere.mock.calls).toMatchObject([[{ ticket: pending.ticket }, YES]]);
    expect(await elsewhere.list("local")).toEqual([]);
  });

  it("is told to people, where it can be answered, when nobody has answered it for a while", async () => {
    const { open } = pendingProject();
    const tell = vi.fn<TellOfQuestion>();
    const { answer, give } = asking(open, REQUEST, undefined, { tell, tellAfterMs: 0 });
    await eventually(async () => expect(tell).toHaveBeenCalledOnce());
    const [[request, { ticket, expiresAt }]] = tell.mock.calls as [
      [ApprovalRequest, { ticket: string; expiresAt?: number }],
    ];
    expect(request).toMatchObject(REQUEST);
    expect(await open().find("local", ticket)).toHaveLength(1);
    expect(expiresAt).toBeUndefined();
    give(OWN);
    expect(await answer).toEqual(OWN);
  });

  it("is told to nobody once it is answered", async () => {
    const { open } = pendingProject();
    const tell = vi.fn<TellOfQuestion>();
    const { answer, give } = asking(open, REQUEST, undefined, { tell, tellAfterMs: 300 });
    await listed(open());
    give(OWN);
    await answer;
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(tell).not.toHaveBeenCalled();
  });

  it("is gone for others when it is answered where it was asked", async () => {
    const { elsewhere, pending, answer, give, answeredElsewhere } = await waiting();
    give(OWN);
    expect(await answer).toEqual(OWN);
    expect(answeredElsewhere).not.toHaveBeenCalled();
    expect(await elsewhere.list("local")).toEqual([]);
    expect(await elsewhere.answer("local", pending, YES)).toBe(false);
  });

  it("has one answer where two come at once: the one that was kept first", async () => {
    const { elsewhere, pending, answer, give, answeredElsewhere } = await waiting();
    await elsewhere.answer("local", pending, { decision: "denied", by: "ada" });
    // Nobody has looked for that yet.
    give(OWN);
    expect(await answer).toMatchObject({ decision: "denied", by: "ada" });
    expect(answeredElsewhere).toHaveBeenCalledOnce();
  });

  it("keeps its ticket when nobody answers while it waits", async () => {
    const { elsewhere, pending, answer, give } = await waiting();
    give(LATER);
    expect(await answer).toMatchObject({ decision: "later", ticket: pending.ticket });
    expect(await elsewhere.list("local")).toEqual([]);
  });

  it("takes no answer to another question", async () => {
    const { elsewhere, pending, answer, give } = await waiting();
    await elsewhere.answer("local", { ...pending, digest: "another" }, YES);
    give({ decision: "denied", by: "terminal" });
    expect(await answer).toMatchObject({ decision: "denied", by: "terminal" });
  });

  it("is withdrawn with its run", async () => {
    const over = new AbortController();
    const { elsewhere, answer } = await waiting(over.signal);
    over.abort();
    expect(await answer).toMatchObject({ decision: "denied" });
    expect(await elsewhere.list("local")).toEqual([]);
  });

  it("of a process that has died is not listed", async () => {
    const { file, elsewhere, pending, answer, give } = await waiting();
    const store = new SqlitePendingStore(file, () => Date.now());
    const [row] = await store.list("local");
    const owner = formatIdentity({ ...currentProcess(), pid: 2 ** 30 });
    if (row !== undefined)
      await store.offer({ ...row, question: row.listing, ticket: "dead", owner }, { bytes: 1e6 });
    expect(await store.list("local")).toHaveLength(2);
    expect(await elsewhere.list("local")).toMatchObject([{ ticket: pending.ticket }]);
    give(OWN);
    await answer;
  });

  it("is asked all the same where it cannot be offered", async () => {
    const { open } = pendingProject();
    const offer = vi.fn(async () => {
      throw new PendingError("no key");
    });
    const { answer, give } = asking(() => Object.assign(open(), { offer }));
    await eventually(() => expect(offer).toHaveBeenCalled());
    give(OWN);
    expect(await answer).toEqual(OWN);
  });

  it("that is answered at once is not written anywhere", async () => {
    const { open } = pendingProject();
    const opened = vi.fn(open);
    const { answer, give } = asking(opened);
    give(OWN);
    expect(await answer).toEqual(OWN);
    expect(opened).not.toHaveBeenCalled();
  });
});
