import { expect, test } from "vitest";
import * as z from "zod";
import type { ApprovalAnswer, ApprovalQuestion } from "../../../library/ptc.ts";
import { tool } from "../../../library/ptc.ts";
import { openPtc, useNoWalls } from "../../library/open.ts";

useNoWalls();

/** A desk in memory: mails are sent, issues created, closed and commented on. */
function desk() {
  const made: [string, unknown][] = [];
  let issues = 41;
  const changing = { annotations: { destructiveHint: true } };
  const reading = { annotations: { readOnlyHint: true } };
  const note = (name: string, args: unknown) => made.push([name, args]);
  const tools = {
    people: tool({
      description: "Lists people",
      output: z.object({ people: z.array(z.string()) }),
      ...reading,
      execute: () => {
        note("people", {});
        return { people: ["ann", "bob", "cem"] };
      },
    }),
    address: tool({
      description: "Says where somebody is",
      input: z.object({ name: z.string() }),
      output: z.object({ mail: z.string() }),
      ...reading,
      execute: ({ name }) => {
        note("address", name);
        return { mail: `${name}@example.com` };
      },
    }),
    send: tool({
      description: "Sends a mail",
      input: z.object({ to: z.string(), text: z.string() }),
      output: z.object({ id: z.string() }),
      ...changing,
      execute: (args) => {
        note("send", args);
        return { id: `m-${made.length}` };
      },
    }),
    create: tool({
      description: "Creates an issue",
      input: z.object({ title: z.string() }),
      output: z.object({ number: z.number().int(), ok: z.boolean() }),
      ...changing,
      execute: (args) => {
        note("create", args);
        return { number: ++issues, ok: true };
      },
    }),
    comment: tool({
      description: "Comments on an issue",
      input: z.object({ number: z.number().int(), text: z.string() }),
      output: z.object({ ok: z.boolean() }),
      ...changing,
      execute: (args) => {
        note("comment", args);
        return { ok: true };
      },
    }),
    log: tool({
      description: "Notes something",
      input: z.object({ text: z.string() }),
      output: z.object({ ok: z.boolean() }),
      annotations: { readOnlyHint: false, destructiveHint: false },
      execute: (args) => {
        note("log", args);
        return { ok: true };
      },
    }),
  };
  return { tools, made };
}

const ALL: ApprovalAnswer = { allow: true, for: "plan", by: "ann" };

/** Runs a program over the desk with plans, and gives every question, and everything that was called. */
async function planned(
  code: string,
  answerTo: (question: ApprovalQuestion, index: number) => ApprovalAnswer | "later" = () => ALL,
  { mode = "plan" }: { mode?: "plan" | "call" } = {},
) {
  const { tools, made } = desk();
  const questions: ApprovalQuestion[] = [];
  const ptc = await openPtc({ tools, config: { approvals: { mode }, sandbox: { warm: 0 } } });
  const run = await ptc.run(code, {
    approve: (question) => {
      questions.push(question);
      return answerTo(question, questions.length - 1);
    },
  });
  const plans = questions.map(({ plan }) =>
    plan?.calls.map(({ tool: name, arguments: args }) => [name.replace("mcp__functions__", ""), args]),
  );
  const changes = made.filter(([name]) => !["people", "address"].includes(name));
  return { ptc, run, questions, plans, made, changes };
}

const LOOP = `
  const { people } = await mcp__functions__people({});
  for (const name of people) {
    const { mail } = await mcp__functions__address({ name });
    await mcp__functions__send({ to: mail, text: "hello " + name });
  }
  globalThis.result = people.length;`;

const LOOPED = ["ann", "bob", "cem"].map((name) => ["send", { to: `${name}@example.com`, text: `hello ${name}` }]);

test("a loop of changes is one question that shows all of them, and then they are made", async () => {
  const { run, plans, changes, questions } = await planned(LOOP);
  expect(run.error).toBeUndefined();
  expect(run.value).toBe(3);
  expect(plans).toEqual([LOOPED]);
  expect(questions[0]?.plan?.more).toBeUndefined();
  expect(changes).toEqual(LOOPED);
  expect(run.envelope.approval_state).toBe("APPROVED");
});

test("without the setting each change is a question of its own, without a plan", async () => {
  const { questions, changes } = await planned(LOOP, () => ({ allow: true }), { mode: "call" });
  expect(questions.map(({ plan }) => plan)).toEqual([undefined, undefined, undefined]);
  expect(changes).toEqual(LOOPED);
});
