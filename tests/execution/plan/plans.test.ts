import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { type ApprovalAnswer, type ApprovalQuestion, type Ptc, tool } from "../../../library/ptc.ts";
import { openPtc, useNoWalls, usePtcOfFile } from "../../library/open.ts";
import { anew } from "./anew.ts";
import { desk } from "./desk.ts";
import { useNoHaste } from "./patient.ts";

useNoWalls();
useNoHaste();

const { tools: TOOLS, begin } = anew({ make: desk, first: [] });
const opened = usePtcOfFile({
  tools: TOOLS,
  config: { approvals: { mode: "plan" }, sandbox: { warm: 0 } },
});

const ALL: ApprovalAnswer = { allow: true, for: "plan", by: "ann" };

/** Runs a program over the desk with plans, and gives every question, and everything that was called. */
async function planned(
  code: string,
  answerTo: (question: ApprovalQuestion, index: number) => ApprovalAnswer | "later" = () => ALL,
  /** By default that of the file, which has plans. */
  ptc: Pick<Ptc, "run"> = opened(),
) {
  const made = begin();
  const questions: ApprovalQuestion[] = [];
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
  return { run, questions, plans, made, changes };
}

const LOOP = `
  const { people } = await mcp__functions__people({});
  for (const name of people) {
    const { mail } = await mcp__functions__address({ name });
    await mcp__functions__send({ to: mail, text: "hello " + name });
  }
  globalThis.result = people.length;`;

const LOOPED = ["ann", "bob", "cem"].map((name) => [
  "send",
  { to: `${name}@example.com`, text: `hello ${name}` },
]);

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
  const ptc = await openPtc({ tools: TOOLS, config: { approvals: { mode: "call" }, sandbox: { warm: 0 } } });
  const { questions, changes } = await planned(LOOP, () => ({ allow: true }), ptc);
  expect(questions.map(({ plan }) => plan)).toEqual([undefined, undefined, undefined]);
  expect(changes).toEqual(LOOPED);
});

test("a value that an earlier call answers is shown as that, and has to be just that", async () => {
  const code = `
    const issue = await mcp__functions__create({ title: "broken" });
    await mcp__functions__comment({ number: issue.number, text: "see #" + issue.number });
    globalThis.result = issue.number;`;
  const { run, plans, questions, changes } = await planned(code);
  expect(run.value).toBe(42);
  expect(plans).toEqual([
    [
      ["create", { title: "broken" }],
      [
        "comment",
        { number: "<number of what call 1 answers>", text: "see #<number of what call 1 answers>" },
      ],
    ],
  ]);
  expect(questions[0]?.plan?.calls[1]).toMatchObject({
    isApprovable: true,
    notes: [
      "number has number of what call 1 answers, which has to be just that",
      "text has number of what call 1 answers, which has to be just that",
    ],
  });
  expect(changes).toEqual([
    ["create", { title: "broken" }],
    ["comment", { number: 42, text: "see #42" }],
  ]);
});

test("a program that passes something else than the plan says is asked about again, and nothing of it is made unasked", async () => {
  const code = `
    const issue = await mcp__functions__create({ title: "broken" });
    await mcp__functions__comment({ number: issue.number < 1000 ? 7 : issue.number, text: "mine" });`;
  const { run, plans, questions, changes } = await planned(code, (_, index) =>
    index === 0 ? ALL : { allow: false, reason: "no" },
  );
  expect(plans).toEqual([
    [
      ["create", { title: "broken" }],
      ["comment", { number: "<number of what call 1 answers>", text: "mine" }],
    ],
    [["comment", { number: 7, text: "mine" }]],
  ]);
  expect(questions[1]?.differs).toBe(
    "number is not what the plan says: an earlier call answered otherwise, or the program passes something else",
  );
  expect(changes).toEqual([["create", { title: "broken" }]]);
  expect(run.error?.type).toBe("ApprovalDenied");
});

test("a program that makes one call more than planned is asked about that call", async () => {
  const code = `
    const issue = await mcp__functions__create({ title: "a" });
    await mcp__functions__create({ title: "b" });
    if (issue.number < 1000) await mcp__functions__send({ to: "eve@example.com", text: "it is real" });`;
  const { plans, questions, changes } = await planned(code, (_, index) =>
    index === 0 ? ALL : { allow: false },
  );
  expect(plans).toEqual([
    [
      ["create", { title: "a" }],
      ["create", { title: "b" }],
    ],
    [["send", { to: "eve@example.com", text: "it is real" }]],
  ]);
  expect(questions[1]?.differs).toBe("the approved plan has no such call, or no further one");
  expect(changes).toEqual([
    ["create", { title: "a" }],
    ["create", { title: "b" }],
  ]);
});

test("a planned call is made once: the same call again is asked about", async () => {
  const code = `
    const issue = await mcp__functions__create({ title: "a" });
    for (let i = 0; i < (issue.number < 1000 ? 3 : 1); i++)
      await mcp__functions__send({ to: "ann@example.com", text: "x" });`;
  const { questions, changes } = await planned(code, (_, index) => (index === 0 ? ALL : { allow: false }));
  expect(questions).toHaveLength(2);
  expect(changes.map(([name]) => name)).toEqual(["create", "send"]);
});

test("of a plan some calls are allowed, and the others are denied to the program without another question", async () => {
  const code = `
    const results = [];
    for (const to of ["a", "b", "c"]) {
      try { results.push((await mcp__functions__send({ to, text: "x" })).id !== undefined); }
      catch (error) { results.push(error.name); }
    }
    globalThis.result = results;`;
  const { run, questions, changes } = await planned(code, () => ({ allow: true, for: "plan", calls: [2] }));
  expect(questions).toHaveLength(1);
  expect(run.value).toEqual(["ToolError", true, "ToolError"]);
  expect(changes).toEqual([["send", { to: "b", text: "x" }]]);
  expect(run.envelope.approval_state).toBe("DENIED");
});

test("an answer about the first call alone leaves the others to further questions", async () => {
  const { questions, changes } = await planned(LOOP, (_, index) => ({ allow: index < 2 }));
  expect(questions.map(({ plan }) => plan?.calls.length)).toEqual([3, 2, 1]);
  expect(changes).toEqual(LOOPED.slice(0, 2));
});

const BRANCH = `
    const issue = await mcp__functions__create({ title: "a" });
    if (issue.ok) await mcp__functions__send({ to: "ann@example.com", text: "done" });
    else await mcp__functions__send({ to: "bob@example.com", text: "failed" });`;

test("a branch on the result of a change is planned on condition of that result", async () => {
  const { plans, questions, changes } = await planned(BRANCH);
  const sent = ["send", { to: "ann@example.com", text: "done" }];
  expect(plans).toEqual([[["create", { title: "a" }], sent]]);
  expect(questions[0]?.plan?.calls[1]).toMatchObject({
    isApprovable: true,
    notes: ["only if ok of what call 1 answers is true"],
  });
  expect(questions[0]?.plan?.more).toBe(
    "if a call answers something other than what the plan assumes, the program may do something else",
  );
  expect(changes).toEqual([["create", { title: "a" }], sent]);
});

test("a call that was planned on condition of a result is asked about if the result is another", async () => {
  const code = `
    const issue = await mcp__functions__create({}).catch(() => ({ ok: true }));
    if (issue.ok) await mcp__functions__send({ to: "ann@example.com", text: "done" });`;
  const tools = { ...desk().tools };
  const made: unknown[] = [];
  const create = tool({
    description: "Creates an issue",
    output: z.object({ ok: z.boolean() }),
    annotations: { destructiveHint: true },
    execute: () => {
      made.push("create");
      throw new Error("not now");
    },
  });
  const ptc = await openPtc({
    tools: { ...tools, create },
    config: { approvals: { mode: "plan" }, sandbox: { warm: 0 } },
  });
  const questions: ApprovalQuestion[] = [];
  await ptc.run(code, {
    approve: (question) => {
      questions.push(question);
      return questions.length === 1 ? ALL : { allow: false };
    },
  });
  expect(questions[0]?.plan?.calls[1]?.notes).toEqual(["only if ok of what call 1 answers is true"]);
  expect(questions.map(({ differs }) => differs)).toEqual([
    undefined,
    "the plan has it only if ok of what call 1 answers is true, and that is not so",
  ]);
  expect(made).toEqual(["create"]);
});

test("a program that does more with other answers gets a plan that says that more may follow", async () => {
  const code = `
    const issue = await mcp__functions__create({ title: "a" });
    if (!issue.ok) await mcp__functions__send({ to: "ann@example.com", text: "failed" });`;
  const { plans, questions } = await planned(code);
  expect(plans[0]).toEqual([["create", { title: "a" }]]);
  expect(questions[0]?.plan?.more).toBe("what the program does depends on what the calls before it answer");
  expect(questions).toHaveLength(1);
});

test("calls that a program makes at once are one plan, in any order", async () => {
  const code = `
    globalThis.result = (await Promise.all(["a", "b", "c", "d"].map((to) =>
      mcp__functions__send({ to, text: "x" })))).length;`;
  const { run, questions, changes } = await planned(code);
  expect(run.value).toBe(4);
  expect(questions).toHaveLength(1);
  expect(changes.map(([, args]) => (args as { to: string }).to).sort()).toEqual(["a", "b", "c", "d"]);
});

test("changes that need no approval are in the plan and marked, and are not made before it is approved", async () => {
  const code = `
    await mcp__functions__send({ to: "a", text: "x" });
    await mcp__functions__log({ text: "sent" });
    await mcp__functions__send({ to: "b", text: "x" });`;
  let before: unknown[] = [];
  const { tools, made } = desk();
  const ptc = await openPtc({ tools, config: { approvals: { mode: "plan" }, sandbox: { warm: 0 } } });
  const questions: ApprovalQuestion[] = [];
  const run = await ptc.run(code, {
    approve: (question) => {
      questions.push(question);
      before = [...made];
      return ALL;
    },
  });
  expect(run.error).toBeUndefined();
  expect(before).toEqual([]);
  expect(questions).toHaveLength(1);
  expect(questions[0]?.plan?.calls.map(({ isApprovable, notes }) => [isApprovable, notes])).toEqual([
    [true, []],
    [false, ["it changes something, and no approval is needed"]],
    [true, []],
  ]);
  expect(made.map(([name]) => name)).toEqual(["send", "log", "send"]);
});

test("a program that calls in another order than planned is asked about again", async () => {
  const code = `
    const issue = await mcp__functions__create({ title: "a" });
    const order = issue.number < 1000 ? ["two", "one"] : ["one", "two"];
    for (const text of order) await mcp__functions__send({ to: "ann@example.com", text });`;
  const { questions, changes } = await planned(code, (_, index) => (index === 0 ? ALL : { allow: false }));
  expect(questions[1]?.differs).toBe("a call that the plan has before it has not been made");
  expect(changes).toEqual([["create", { title: "a" }]]);
});

test("time in arguments is decided later, and such a call is asked about by itself", async () => {
  const code = `
    await mcp__functions__send({ to: "ann", text: "x" });
    await mcp__functions__send({ to: "ann", text: "at " + performance.now() + Math.random() });`;
  const { questions, plans, changes } = await planned(code);
  expect(plans[0]?.[1]).toEqual(["send", { to: "ann", text: "<decided later>" }]);
  expect(questions).toHaveLength(2);
  expect(questions[1]?.plan).toBeUndefined();
  expect(changes).toHaveLength(2);
});

test("nothing that a rehearsal prints or returns is seen, and its stand-ins reach no server", async () => {
  const code = `
    const { id } = await mcp__functions__send({ to: "ann", text: "x" });
    console.log("sent", id);
    await mcp__functions__address({ name: id });
    globalThis.result = id;`;
  const { run, made } = await planned(code);
  expect(run.value).toBe("m-1");
  expect(run.text).toContain("sent m-1");
  expect(run.text).not.toContain("standin");
  expect(made).toEqual([
    ["send", { to: "ann", text: "x" }],
    ["address", "m-1"],
  ]);
});

test("what a program prints is shown once and as it is printed, though it is rehearsed and its run begins again", async () => {
  const { tools } = desk();
  const ptc = await openPtc({ tools, config: { approvals: { mode: "plan" }, sandbox: { warm: 0 } } });
  const shown: string[] = [];
  let before = "";
  const run = await ptc.run(
    `console.log("first");
    const { mail } = await mcp__functions__address({ name: "ann" });
    console.error("to " + mail);
    const { id } = await mcp__functions__send({ to: mail, text: "x" });
    console.log("sent " + id);
    emit("id " + id);
    globalThis.result = 1;`,
    {
      onEvent: (event) => void (event.kind === "console" && shown.push(event.text)),
      approve: () => {
        before = shown.join("");
        return ALL;
      },
    },
  );
  await ptc.close();
  expect(run.error).toBeUndefined();
  expect(before).not.toContain("sent");
  expect(shown.join("").split("\n").sort()).toEqual(["", "first", "sent m-2", "to ann@example.com"]);
  expect(run.emitted).toEqual([{ type: "text", text: "id m-2" }]);
  expect(run.calls.map(({ tool: name }) => name)).toEqual([
    "mcp__functions__address",
    "mcp__functions__send",
  ]);
});

test("a whole number beyond 2^53 is in the plan with all digits", async () => {
  const pay = tool({
    description: "Pays an order back",
    input: { type: "object", properties: { order: { type: "integer" } }, required: ["order"] },
    annotations: { destructiveHint: true },
    execute: ({ order }: Record<string, unknown>) => `paid ${order}`,
  });
  const ptc = await openPtc({
    tools: { pay },
    config: { approvals: { mode: "plan" }, sandbox: { warm: 0 } },
  });
  const plans: unknown[] = [];
  const run = await ptc.run(
    `for (const order of ["1234567890123456789", "1234567890123456790"]) await callTool("mcp__functions__pay", { order });`,
    {
      typecheck: "off",
      approve: ({ plan }) => {
        plans.push(plan?.calls.map(({ arguments: args }) => args));
        return ALL;
      },
    },
  );
  await ptc.close();
  expect(run.error).toBeUndefined();
  expect(plans).toEqual([[{ order: "1234567890123456789" }, { order: "1234567890123456790" }]]);
});

test("a run that waits keeps its plan: it is approved later, and happens then without another question", async () => {
  const ptc = await openPtc({ tools: TOOLS, config: { approvals: { mode: "plan" }, sandbox: { warm: 0 } } });
  const { run, changes: before } = await planned(LOOP, () => "later", ptc);
  expect(before).toEqual([]);
  const [pending] = await ptc.approvals();
  expect(pending?.question.plan?.calls).toHaveLength(3);
  const asked: ApprovalQuestion[] = [];
  const resumed = await ptc.resume(run.waiting?.ticket ?? "", {
    answer: ALL,
    approve: (question) => {
      asked.push(question);
      return { allow: false };
    },
  });
  expect(asked).toEqual([]);
  expect(resumed.value).toBe(3);
});

test("a program of a session is planned up to its first change, and says so", async () => {
  const { tools, made } = desk();
  const config = { approvals: { mode: "plan" as const }, sandbox: { warm: 0 }, sessions: { max: 1 } };
  const ptc = await openPtc({ tools, config });
  const questions: ApprovalQuestion[] = [];
  await ptc.run(`for (const to of ["a", "b"]) await mcp__functions__send({ to, text: "x" });`, {
    session: "s",
    approve(question) {
      questions.push(question);
      return { allow: true };
    },
  });
  expect(made).toHaveLength(2);
  expect(questions.map(({ plan }) => plan?.more)).toEqual([
    "the program runs in a session, and is not rehearsed",
    "the program runs in a session, and is not rehearsed",
  ]);
});

test("what a rehearsal reads is in the audit log, marked, and not in the archive", async () => {
  const ptc = await openPtc({ tools: TOOLS, config: { approvals: { mode: "plan" }, sandbox: { warm: 0 } } });
  const { run } = await planned(LOOP, undefined, ptc);
  const lines = readFileSync(join(ptc.folder, ".ptc", "audit.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ event }) => event === "call");
  const rehearsed = lines.filter((line) => line.rehearsed === true);
  expect(rehearsed.map(({ tool: name }) => name)).toEqual([
    "mcp__functions__address",
    "mcp__functions__address",
  ]);
  expect(lines.filter((line) => line.rehearsed === undefined)).toHaveLength(run.calls.length);
  expect(await ptc.replay(run.envelope.run_id)).toMatchObject({ same: true });
});
