import { expect, test } from "vitest";
import * as z from "zod";
import type { ApprovalAnswer, ApprovalQuestion } from "../../../library/ptc.ts";
import { tool } from "../../../library/ptc.ts";
import { useNoWalls, usePtcOfFile } from "../../library/open.ts";
import { anew } from "./anew.ts";

useNoWalls();

const MAIL = z.object({ id: z.string(), subject: z.string(), text: z.string() });

interface Box {
  /** The mails that are there before. */
  before?: z.infer<typeof MAIL>[];
  /** What comes once a code is asked for. */
  sent?: string;
}

/** A shop that sends codes by mail. */
function shop({ before = [], sent = "Your code is 582913. It counts for 10 minutes." }: Box) {
  const made: [string, unknown][] = [];
  const mails = [...before];
  const changing = { annotations: { destructiveHint: true } };
  const reading = { annotations: { readOnlyHint: true } };
  const tools = {
    request_code: tool({
      description: "Has a code sent",
      input: z.object({ to: z.string() }),
      output: z.object({ ok: z.boolean() }),
      ...changing,
      execute: (args) => {
        made.push(["request_code", args]);
        mails.unshift({ id: `m-${1_000 + mails.length}`, subject: "Your code", text: sent });
        return { ok: true };
      },
    }),
    search: tool({
      description: "Searches mails, the newest first",
      input: z.object({ query: z.string() }),
      output: z.object({ mails: z.array(MAIL) }),
      ...reading,
      execute: ({ query }) => ({ mails: mails.filter(({ subject }) => subject.includes(query)) }),
    }),
    enter: tool({
      description: "Enters a code",
      input: z.object({ code: z.string() }),
      output: z.object({ token: z.string() }),
      ...changing,
      execute: (args) => {
        made.push(["enter", args]);
        return { token: "t" };
      },
    }),
  };
  return { tools, made };
}

const { tools, begin } = anew({ make: shop, first: [{}] });
const opened = usePtcOfFile({ tools, config: { approvals: { mode: "plan" }, sandbox: { warm: 0 } } });

async function planned(
  code: string,
  box: Box = {},
  answerTo: (question: ApprovalQuestion, index: number) => ApprovalAnswer = () => ({
    allow: true,
    for: "plan",
  }),
) {
  const made = begin(box);
  const questions: ApprovalQuestion[] = [];
  const run = await opened().run(code, {
    approve: (question) => {
      questions.push(question);
      return answerTo(question, questions.length - 1);
    },
  });
  return { run, questions, made };
}

const ENTER = `
  await mcp__functions__request_code({ to: "ann" });
  const { mails } = await mcp__functions__search({ query: "code" });
  const code = /\\d{6}/.exec(mails[0].text)[0];
  await mcp__functions__enter({ code });`;
const OLD = { id: "m-77", subject: "Your code", text: "Your code is 104466. It counts for 10 minutes." };
const DONE = [
  ["request_code", { to: "ann" }],
  ["enter", { code: "582913" }],
];
const FROM = "from mcp__functions__search after call 1, mails[0].text, six digits";

test.each([
  ["was in an earlier mail", { before: [OLD] }],
  ["is in no mail yet", {}],
])("a code that comes by mail, such as %s, is one question with the rest", async (_, box) => {
  const { run, questions, made } = await planned(ENTER, box);
  expect(run.error).toBeUndefined();
  expect(questions).toHaveLength(1);
  expect(questions[0]?.plan?.calls[1]).toMatchObject({
    arguments: { code: `<${FROM}>` },
    isApprovable: true,
    isKeepable: true,
    notes: [`code comes ${FROM}, and from nowhere else`],
  });
  expect(made).toEqual(DONE);
});

test("such a call can be kept for a question of its own, which has the code", async () => {
  const { questions, made } = await planned(ENTER, { before: [OLD] }, (_, index) =>
    index === 0 ? { allow: true, for: "plan", keep: [2] } : { allow: true },
  );
  expect(questions.map(({ arguments: args }) => args)).toEqual([{ to: "ann" }, { code: "582913" }]);
  expect(made).toEqual(DONE);
});

test.each([
  ["two codes", "Your order 111222 has the code 582913."],
  ["a code of another length", "Your code is 5829134. It counts for 10 minutes."],
])("an answer of another form, with %s, stops and asks", async (_, sent) => {
  const taking = ENTER.replace(
    "/\\d{6}/.exec(mails[0].text)[0]",
    `/code (?:is )?(\\d+)/.exec(mails[0].text)[1]`,
  );
  const { questions, made } = await planned(taking, { before: [OLD], sent }, (_question, index) =>
    index === 0 ? { allow: true, for: "plan" } : { allow: false },
  );
  expect(questions).toHaveLength(2);
  expect(questions[1]?.differs).toMatch(/^code is not what the plan says/);
  expect(made).toEqual(DONE.slice(0, 1));
});

test("a program that takes the code from elsewhere once it is approved is asked about", async () => {
  const code = `
    await mcp__functions__request_code({ to: "ann" });
    const { mails } = await mcp__functions__search({ query: "code" });
    const at = mails[0].text.includes("582913") ? 1 : 0;
    await mcp__functions__enter({ code: /\\d{6}/.exec(mails[at].text)[0] });`;
  const { questions, made } = await planned(code, { before: [OLD] }, (_, index) =>
    index === 0 ? { allow: true, for: "plan" } : { allow: false },
  );
  expect(questions[1]?.arguments).toEqual({ code: "104466" });
  expect(made).toEqual(DONE.slice(0, 1));
});

test("a server's value that looks invented keeps its form, and another one is asked about", async () => {
  const code = `
    await mcp__functions__request_code({ to: "ann" });
    const { mails } = await mcp__functions__search({ query: "code" });
    await mcp__functions__enter({ code: mails[0].id });`;
  const { questions, made } = await planned(code, { before: [{ ...OLD, id: "standin-4711" }] }, (_, index) =>
    index === 0 ? { allow: true, for: "plan" } : { allow: false },
  );
  expect(questions[0]?.plan?.calls[1]?.isApprovable).toBe(true);
  expect(questions[1]?.differs).toMatch(/^code is not what the plan says/);
  expect(made).toEqual(DONE.slice(0, 1));
});

test("a value that was known before the change is shown as it is", async () => {
  const code = `
    const before = await mcp__functions__search({ query: "code" });
    await mcp__functions__request_code({ to: "ann" });
    await mcp__functions__search({ query: "code" });
    await mcp__functions__enter({ code: before.mails[0].id });`;
  const { questions, made } = await planned(code, { before: [OLD] });
  expect(questions).toHaveLength(1);
  expect(questions[0]?.plan?.calls[1]?.arguments).toEqual({ code: "m-77" });
  expect(made[1]).toEqual(["enter", { code: "m-77" }]);
});
