import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { type PtcError, tool } from "../../../library/ptc.ts";
import { openPtc, useNoWalls } from "../../library/open.ts";
import { desk } from "./desk.ts";

useNoWalls();

/** A desk whose questions fail the test. */
async function opened(config: object = {}) {
  const { tools, made } = desk();
  const asked: unknown[] = [];
  const ptc = await openPtc({
    tools,
    config: { sandbox: { warm: 0 }, ...config },
    approve: (question) => {
      asked.push(question);
      return { allow: true };
    },
  });
  return { ptc, made, asked };
}

const LOOP = `
  const { people } = await mcp__functions__people({});
  for (const name of people) {
    const { mail } = await mcp__functions__address({ name });
    await mcp__functions__send({ to: mail, text: "hello " + name });
  }`;

test("a dry run tells all changes of a program, makes none of them, and asks nobody", async () => {
  const { ptc, made, asked } = await opened();
  const planned = await ptc.plan(LOOP);
  expect(planned.kind).toBe("changes");
  const { plan } = planned as Extract<typeof planned, { kind: "changes" }>;
  expect(plan.calls.map(({ number, tool, arguments: args }) => [number, tool, args])).toEqual(
    ["ann", "bob", "cem"].map((name, index) => [
      index + 1,
      "mcp__functions__send",
      { to: `${name}@example.com`, text: `hello ${name}` },
    ]),
  );
  expect(plan.more).toBeUndefined();
  expect(made.map(([name]) => name)).toEqual(["people", "address", "address", "address"]);
  expect(asked).toEqual([]);
});

test("a dry run of a program that only reads would change nothing", async () => {
  const { ptc, made } = await opened();
  expect(await ptc.plan(`globalThis.result = await mcp__functions__people({});`)).toEqual({
    kind: "unchanged",
  });
  expect(made.map(([name]) => name)).toEqual(["people"]);
});

test("a dry run tells of changes that need no approval, and of those that depend on others", async () => {
  const { ptc, made } = await opened();
  const planned = await ptc.plan(`
    const issue = await mcp__functions__create({ title: "a" });
    await mcp__functions__log({ text: "made " + issue.number });`);
  expect(planned).toMatchObject({
    kind: "changes",
    plan: {
      calls: [
        { tool: "mcp__functions__create", isApprovable: true, notes: [] },
        {
          tool: "mcp__functions__log",
          isApprovable: false,
          arguments: { text: "made <number of what call 1 answers>" },
        },
      ],
    },
  });
  expect(made).toEqual([]);
});

test("a first change with the time in it is decided later, because nobody has come to it yet", async () => {
  const { ptc } = await opened();
  const planned = await ptc.plan(`await mcp__functions__send({ to: "a", text: "t" + performance.now() });`);
  expect(planned).toMatchObject({
    kind: "changes",
    plan: { calls: [{ arguments: { to: "a", text: "<decided later>" }, isApprovable: false }] },
  });
});

test.each([
  ["throws", `await mcp__functions__people({}); throw new Error("no");`, "ScriptError", "no"],
  ["has a type error", `await mcp__functions__send({ nobody: 1 });`, "TypeCheckError", "nobody"],
  ["is no program", `const = 1;`, "BundleError", "p"],
])("a dry run of a program that %s before any change fails", async (_, code, type, message) => {
  const { ptc, made } = await opened();
  const planned = await ptc.plan(code);
  expect(planned).toMatchObject({ kind: "failed", error: { type } });
  expect(JSON.stringify(planned)).toContain(message);
  expect(made.filter(([name]) => name === "send")).toEqual([]);
});

test("a dry run that takes too long fails", async () => {
  const { ptc } = await opened();
  const planned = await ptc.plan(`await new Promise(() => setInterval(() => {}, 1000));`, {
    timeoutMs: 700,
  });
  expect(planned).toMatchObject({ kind: "failed", error: { type: "Timeout" } });
});

test("a dry run is not in the archive, and what it reads is in the audit log, marked", async () => {
  const { ptc } = await opened();
  await ptc.plan(LOOP);
  await ptc.close();
  const audit = readFileSync(join(ptc.folder, ".ptc", "audit.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(audit.filter(({ event }) => event === "call").map(({ rehearsed }) => rehearsed)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(audit.filter(({ event }) => event === "run")).toEqual([]);
  expect(existsSync(join(ptc.folder, ".ptc", "runs", "index"))).toBe(false);
});

test("a model asks for a dry run with `dry_run`, and reads the calls as JSON", async () => {
  const { ptc, made, asked } = await opened();
  const execute = ptc.tools().find(({ name }) => name === "execute_program");
  const reply = await execute?.execute({ code: LOOP, dry_run: true });
  expect(reply?.isError).toBe(false);
  const [status, json = ""] = reply?.text.split("\n") ?? [];
  expect(status).toBe("[Plan: 3 calls would change something; none was made, and nobody was asked]");
  expect(JSON.parse(json)).toMatchObject({ outcome: "changes", calls: [{ number: 1 }, {}, { asks: true }] });
  expect((await execute?.execute({ code: "1 + 1", dry_run: true }))?.text).toBe(
    "[Plan: the script would change nothing]",
  );
  expect((await execute?.execute({ code: "throw 1", dry_run: true }))?.isError).toBe(true);
  expect(made.filter(([name]) => name === "send")).toEqual([]);
  expect(asked).toEqual([]);
});

test("a dry run of a session, of a ticket and with unknown options is refused", async () => {
  const { ptc } = await opened();
  const execute = ptc.tools().find(({ name }) => name === "execute_program");
  const ticket = { code: "ticket 0123456789abcdef", dry_run: true };
  expect((await execute?.execute(ticket))?.text).toContain("leave out dry_run");
  await expect(ptc.plan("1", { approve: () => "later" } as object)).rejects.toMatchObject({
    code: "invalid" satisfies PtcError["code"],
  });
});

/** `execute_program` of a desk with a vault, whose word is labelled. */
async function openedVault() {
  const vault = tool({
    description: "Opens the vault",
    output: z.object({ word: z.string() }),
    annotations: { readOnlyHint: true },
    labels: ["confidential"],
    execute: () => ({ word: "the treasure lies under the seventh oak of the northern avenue" }),
  });
  const ptc = await openPtc({ tools: { ...desk().tools, vault } });
  return ptc.tools().find(({ name }) => name === "execute_program");
}

test("labelled data in a plan that a model reads counts as shown to it", async () => {
  const execute = await openedVault();
  const code = `
    const { word } = await mcp__functions__vault({});
    await mcp__functions__send({ to: "ann", text: word });`;
  const reply = await execute?.execute({ code, dry_run: true });
  expect(reply?.text).toContain("seventh oak");
  expect(reply?.text).toContain("You were shown 'confidential' data");
});

test("a dry run masks personal data as a run does", async () => {
  const { ptc } = await opened({ pii: ["email"] });
  const planned = JSON.stringify(await ptc.plan(LOOP));
  expect(planned).not.toContain("ann@example.com");
  expect(planned).toContain('"to":');
  const failed = await ptc.plan(`throw new Error((await mcp__functions__address({ name: "bob" })).mail);`);
  expect(failed).toMatchObject({ kind: "failed" });
  expect(JSON.stringify(failed)).not.toContain("bob@example.com");
});

test("labelled data in the error of a dry run counts as shown to the model that reads it", async () => {
  const execute = await openedVault();
  const code = `throw new Error((await mcp__functions__vault({})).word);`;
  const reply = await execute?.execute({ code, dry_run: true });
  expect(reply?.text).toContain("seventh oak");
  expect(reply?.text).toContain("You were shown 'confidential' data");
});
