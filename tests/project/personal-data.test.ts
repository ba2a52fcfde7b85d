import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LATER } from "../../broker/approvals/approvals.ts";
import { loadReplayable } from "../../execution/replay/load-replayable.ts";
import type { ProgramFunction } from "../sandbox/in-process-engine.ts";
import { completion, scriptedModel } from "../upstream/model/scripted-model.ts";
import { echoServer, servedProject } from "./served-project.ts";

const CODE = "// for owner@example.com\n1";
const PERSON = "Alice <alice@example.com> at 203.0.113.7, card 4111 1111 1111 1111";
const MASKED = "Alice <[REDACTED:email]> at [REDACTED:ip], card [REDACTED:card]";
const WITH_EMAIL = MASKED.replace("[REDACTED:email]", "alice@example.com");

/** A ptc with servers that echo. */
async function open(
  program: ProgramFunction,
  pii: object | undefined,
  allowed: Record<string, object> = {},
  more: object = {},
) {
  const servers = ["crm", "web"].map((name) => echoServer(name, { pii: allowed[name] }));
  const settings = { servers, execution: { typecheck: "off" }, sandbox: { warm: 0 }, pii, ...more };
  const project = servedProject(settings);
  const { cwd } = project;
  const tools = "extract" in more ? 5 : 4;
  const {
    host,
    store: archive,
    run: runProgram,
  } = await project.open({ program, tools, following: undefined });
  const asked: unknown[] = [];
  const run = async (more: object = {}) => {
    const observed: unknown[] = [];
    const executed = await runProgram({
      program: { code: CODE, data: { to: "bob@example.com" }, language: "javascript", fileName: "p.js" },
      approver: {
        async ask(request) {
          asked.push(request.arguments);
          return { decision: "once", by: "a person" };
        },
      },
      onCall: (call) => void observed.push(call.arguments),
      ...more,
    });
    return { ...executed, observed };
  };
  const archived = async (runId: string) => {
    const kept = await archive.read(runId);
    const calls = await Promise.all(
      kept.record.calls.map(async (call) => [await kept.argumentsOf(call), await kept.outcomeOf(call)]),
    );
    return { ...kept, calls };
  };
  const replay = async (runId: string) => {
    const loaded = await loadReplayable(archive, runId);
    if (!loaded.ok) throw new Error("the run cannot be replayed");
    return host.replay({ ...loaded.replayable, signal: new AbortController().signal });
  };
  const audit = () =>
    readFileSync(join(cwd, ".ptc/audit.jsonl"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  return { host, run, archived, replay, audit, asked };
}

const echoes =
  (servers: readonly string[], seen: string[] = []): ProgramFunction =>
  async ({ call, print }) => {
    let last = "";
    for (const server of servers) {
      const reply = await call(`mcp__${server}__echo`, { text: PERSON });
      last = reply.ok ? String(reply.data) : reply.error.message;
      seen.push(last);
    }
    const half = Math.floor(last.length / 2);
    print(last.slice(0, half));
    print(`${last.slice(half)}\n`);
    return { person: last, phone: 1 };
  };

test("personal data is seen by the program alone, and is in nothing that leaves its run", async () => {
  const seen: string[] = [];
  const { run, archived, replay, audit } = await open(echoes(["crm"], seen), {
    redact: ["email", "ip", "card"],
  });
  const shown: string[] = [];
  const executed = await run({ onConsole: ({ text }: { text: string }) => void shown.push(text) });
  expect(seen).toEqual([PERSON]);
  expect(executed.envelope.result).toMatchObject({ ok: true, data: { person: MASKED } });
  expect(executed.consoleText).toBe(`${MASKED}\n`);
  expect(shown.join("")).toBe(`${MASKED}\n`);
  expect(executed.observed).toEqual([{ text: MASKED }]);
  const kept = await archived(executed.envelope.run_id);
  expect(kept.calls).toEqual([[{ text: MASKED }, { ok: true, data: MASKED }]]);
  expect(kept).toMatchObject({ code: "// for [REDACTED:email]\n1", data: { to: "[REDACTED:email]" } });
  expect(kept.record).toMatchObject({
    // Console, result, code, data, and arguments and answer of the call.
    redactions: 3 + 3 + 1 + 1 + 6,
    options: { pii: { kinds: ["email", "ip", "card"], countries: [], shown: [] } },
  });
  expect(audit().map(({ redactions }) => redactions)).toEqual([6, 14]);
  expect(JSON.stringify([kept, audit()])).not.toMatch(/alice@|bob@|owner@|203\.0\.113|4111/);
  const replayed = await replay(executed.envelope.run_id);
  expect(replayed.divergence).toBeUndefined();
  expect(replayed.envelope.output_digest).toBe(executed.envelope.output_digest);
});

test("a kind is shown when every server that a run has read allows it", async () => {
  const allowed = { crm: { allow: ["email"] } };
  const crm = await open(echoes(["crm"]), { redact: ["email", "ip", "card"] }, allowed);
  const shown = await crm.run();
  expect(shown.envelope.result).toMatchObject({ data: { person: WITH_EMAIL } });
  expect(shown.consoleText).toBe(`${WITH_EMAIL}\n`);
  expect(await crm.archived(shown.envelope.run_id)).toMatchObject({
    // Arguments are compared by replays, and are redacted whatever was read by then.
    calls: [[{ text: MASKED }, { data: WITH_EMAIL }]],
    data: { to: "bob@example.com" },
  });
  expect((await crm.replay(shown.envelope.run_id)).divergence).toBeUndefined();

  const both = await open(echoes(["crm", "web"]), { redact: ["email", "ip", "card"] }, allowed);
  const mixed = await both.run();
  expect(mixed.envelope.result).toMatchObject({ data: { person: MASKED } });
  expect((await both.replay(mixed.envelope.run_id)).divergence).toBeUndefined();

  const none = await open(async () => PERSON, { redact: ["email", "ip", "card"] }, allowed);
  expect((await none.run()).envelope.result).toMatchObject({ data: MASKED });
});

test("a model is sent personal data of the kinds that it may be sent, and decides nothing about what is shown", async () => {
  const { url, requests } = await scriptedModel([
    (request) =>
      completion({ value: JSON.stringify(request.body.messages).match(/<text>\\n(.*?)\\n/)?.[1] ?? "" }),
  ]);
  const asking: ProgramFunction = async ({ call }) => {
    const reply = await call("mcp__ptc__extract", { value: PERSON, schema: { type: "string" } });
    return reply.ok ? reply.data : reply.error.message;
  };
  const kinds = { redact: ["email", "ip", "card"] };
  const extract = { url, model: "small" };
  const none = await open(asking, kinds, {}, { extract });
  const masked = await none.run();
  expect(masked.envelope.result).toMatchObject({ ok: true, data: MASKED });
  const sent = () => JSON.stringify(requests.at(-1)?.body);
  expect(sent()).toContain("Alice <[REDACTED:email:1]> at [REDACTED:ip:2], card [REDACTED:card:3]");
  expect(sent()).not.toMatch(/alice@|203\.0|4111/);
  const kept = await none.archived(masked.envelope.run_id);
  expect(kept.calls).toMatchObject([[{ value: MASKED }, { ok: true, data: MASKED }]]);
  expect(JSON.stringify([kept, none.audit()])).not.toMatch(/alice@|203\.0|4111/);
  expect((await none.replay(masked.envelope.run_id)).divergence).toBeUndefined();

  const some = await open(asking, kinds, {}, { extract: { ...extract, pii: { allow: ["email"] } } });
  expect((await some.run()).envelope.result).toMatchObject({ data: MASKED });
  expect(sent()).toContain("Alice <alice@example.com> at [REDACTED:ip:1], card [REDACTED:card:2]");
  const off = await open(asking, undefined, {}, { extract });
  expect((await off.run()).envelope.result).toMatchObject({ data: PERSON });
  expect(sent()).toContain(PERSON);
});

test("nothing is redacted but secrets where nothing is set", async () => {
  const { run, archived } = await open(echoes(["crm"]), undefined);
  const { envelope } = await run();
  expect(envelope.result).toMatchObject({ data: { person: PERSON } });
  const { record } = await archived(envelope.run_id);
  expect(record.redactions).toBe(0);
  expect(record.options).not.toHaveProperty("pii");
});

test("a person sees what is to be approved, and a run that waited is redacted as one that did not", async () => {
  const program: ProgramFunction = async ({ call }) => {
    const reply = await call("mcp__crm__echo", { text: PERSON });
    await call("mcp__web__echo", { text: "carol@example.com" });
    return reply.ok ? reply.data : null;
  };
  const { host, run, asked, archived } = await open(
    program,
    ["email", "ip", "card"],
    { crm: { allow: ["ip"] } },
    { approvals: { ask: ["mcp__web__echo"] } },
  );
  const waited = await run({ approver: { ask: async () => LATER }, suspends: true });
  expect(waited.suspended).toBeDefined();
  const ticket = waited.suspended?.ticket ?? "";
  const approvals = await host.pendingApprovals();
  const [pending] = await approvals.find("local", ticket);
  if (pending === undefined) throw new Error("nothing waits");
  expect(pending.request.arguments).toEqual({ text: "carol@example.com" });
  await approvals.answer("local", pending, { decision: "once", by: "a person", how: "here" });
  const taken = await host.suspended.take({ principal: "local" }, ticket);
  if (taken.kind !== "taken") throw new Error(taken.kind);
  const ended = await host.run({
    program: taken.resumed.run.program,
    resumed: taken.resumed,
    context: { principal: "local", source: "serve" },
    approver: { ask: async () => LATER },
    signal: new AbortController().signal,
  });
  await ended.recorded;
  expect(ended.envelope.result).toMatchObject({ ok: true, data: MASKED });
  expect((await archived(ended.envelope.run_id)).calls[1]?.[0]).toEqual({ text: "[REDACTED:email]" });
  await run();
  expect(asked).toEqual([{ text: "carol@example.com" }]);
});
