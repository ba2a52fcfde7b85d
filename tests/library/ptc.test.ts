import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import {
  type ApprovalQuestion,
  type CallOptions,
  type Elicitation,
  type OnElicit,
  type PtcConfig,
  PtcError,
  type PtcOptions,
  type RunEvent,
  tool,
} from "../../library/ptc.ts";
import { SandboxPool } from "../../sandbox/pool/sandbox-pool.ts";
import { Processors } from "../../system/processors.ts";
import { fixtureServer } from "../cli/ptc-process.ts";
import { eventually } from "../eventually.ts";
import { ProcessEngine } from "../runner-image/process-engine.ts";
import { newFolder } from "../temporary-folder.ts";
import { openPtc, useNoWalls, variablesIn } from "./open.ts";

const processes = new ProcessEngine();
useNoWalls(processes);

const lookup = tool({
  description: "Looks up an order",
  input: z.object({ id: z.string(), currency: z.string().default("EUR") }),
  output: z.object({ id: z.string(), total: z.number() }),
  annotations: { readOnlyHint: true },
  execute: ({ id, currency }) => ({ id: `${id} ${currency}`, total: 42, password: "in no schema" }),
});
const wipe = tool({
  description: "Deletes everything",
  annotations: { destructiveHint: true },
  execute: () => "gone",
});
const WIPE = "globalThis.result = await mcp__functions__wipe({})";

const failureOf = async (work: Promise<unknown>): Promise<PtcError> => {
  const error = await work.then(
    () => new Error("it did not fail"),
    (thrown: unknown) => thrown,
  );
  if (error instanceof PtcError) return error;
  throw error;
};

describe("a program", () => {
  test("calls a function through its typed module, and gives value, text, calls and envelope", async () => {
    const ptc = await openPtc({ tools: { lookup } });
    const run = await ptc.run(
      `import { lookup } from "./servers/functions/index.js";
       const order = await lookup({ id: data.id });
       console.log("read it");
       globalThis.result = order;`,
      { data: { id: "a" } },
    );
    expect(run).toMatchObject({ ok: true, value: { id: "a EUR", total: 42 }, error: undefined, emitted: [] });
    expect(run.text).toBe('[Script executed successfully]\nread it\n{"id":"a EUR","total":42}');
    expect(run.calls).toMatchObject([
      { seq: 1, tool: "mcp__functions__lookup", arguments: { id: "a" }, ok: true, decision: "allowed" },
    ]);
    expect(run.envelope.result).toMatchObject({ ok: true, metrics: { tool_calls: 1 } });
  });

  test("takes whole numbers beyond 2^53 as BigInts, and gives them as text with all digits", async () => {
    const id = 1234567890123456789n;
    const given: unknown[] = [];
    const find = tool({
      description: "Finds a record",
      input: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
      execute: (args: unknown) => {
        given.push(args);
        return { id, ids: [-9007199254740993n] };
      },
    });
    const ptc = await openPtc({ tools: { find } });
    const run = await ptc.run(
      `import { find } from "./servers/functions/index.js";
       const found = await find({ id: data.id });
       globalThis.result = { found, exact: BigInt(data.id), data };`,
      { data: { id } },
    );
    const text = String(id);
    const value = { found: { id: text, ids: ["-9007199254740993"] }, exact: text, data: { id: text } };
    expect(run).toMatchObject({ ok: true, value, calls: [{ arguments: { id: text } }] });
    expect(run.text).toContain(`"exact":${id}`);
    expect(given).toEqual([{ id: text }]);
    expect(() => JSON.stringify(run)).not.toThrow();
  });

  test("is not run when it misuses the types of a function", async () => {
    const ptc = await openPtc({ tools: { lookup } });
    const run = await ptc.run(
      'import { lookup } from "./servers/functions/index.js";\nconst order = await lookup({ id: 1 });',
    );
    expect(run.error).toMatchObject({ type: "TypeCheckError", message: expect.stringContaining("'id'") });
    expect(run.calls).toEqual([]);
  });

  test("calls functions from Python too", async () => {
    const ptc = await openPtc({ config: { languages: ["python"] }, tools: { lookup } });
    const run = await ptc.run('order = await mcp__functions__lookup(id="a")\nresult = order["total"] + 1', {
      language: "python",
      typecheck: "off",
    });
    expect(run).toMatchObject({ ok: true, value: 43 });
  });

  test.each([
    [
      "typescript",
      `const hostile = JSON.parse('{"a":[{"__proto__":{"isAdmin":true}}]}');
const why = await mcp__functions__take(hostile).catch((error) => error.message);
globalThis.result = data.isGiven ? { why, hostile } : why;`,
    ],
    [
      "python",
      `hostile = {"a": [{"__proto__": {"isAdmin": True}}]}
try:
    why = await mcp__functions__take(hostile)
except Exception as error:
    why = str(error)
result = {"why": why, "hostile": hostile} if data["isGiven"] else why`,
    ],
  ] as const)("hands over nothing with a prototype in it, in %s", async (language, code) => {
    const given: unknown[] = [];
    const take = tool({
      description: "Takes anything",
      input: { type: "object" },
      annotations: { readOnlyHint: true },
      execute: (args) => void given.push(args),
    });
    const ptc = await openPtc({ config: { languages: ["typescript", "python"] }, tools: { take } });
    const asked = { language, typecheck: "off" } as const;
    const refused = await ptc.run(code, { ...asked, data: { isGiven: false } });
    expect(refused.value).toContain("a member named __proto__, at a[0].__proto__: no function is given one");
    expect(given).toEqual([]);
    const run = await ptc.run(code, { ...asked, data: { isGiven: true } });
    expect(run).toMatchObject({
      ...{ ok: false, value: undefined, envelope: { result: { ok: true } } },
      error: {
        type: "ResultNotSerializable",
        message: expect.stringContaining("a member named __proto__, at hostile.a[0].__proto__"),
      },
    });
  });

  test("hands blocks on that it emitted", async () => {
    const ptc = await openPtc();
    const run = await ptc.run('emit("aside"); globalThis.result = 1');
    expect(run.emitted).toEqual([{ type: "text", text: "aside" }]);
    expect(run.text).not.toContain("aside");
  });

  test("is cancelled by its signal, which the function sees too", async () => {
    const cancel = new AbortController();
    const seen = Promise.withResolvers<void>();
    const slow = tool({
      description: "Never ends",
      execute: (_, { signal }) => {
        signal.addEventListener("abort", () => seen.resolve());
        setImmediate(() => cancel.abort());
        return new Promise<void>(() => {});
      },
    });
    const ptc = await openPtc({ tools: { slow } });
    const run = await ptc.run("await mcp__functions__slow({})", { signal: cancel.signal });
    expect(run.error?.type).toBe("Cancelled");
    await seen.promise;
  });

  test("is followed by its events, all of which come before its result", async () => {
    const ptc = await openPtc({ tools: { lookup } });
    const events: RunEvent[] = [];
    await ptc.run('await mcp__functions__lookup({ id: "a" }); console.log("hi")', {
      onEvent: (event) => void events.push(event),
    });
    const kinds = events.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind !== "console")).toEqual([
      "started",
      "call-started",
      "call-ended",
      "ended",
    ]);
    expect(events).toContainEqual(expect.objectContaining({ kind: "console", text: "hi\n" }));
    expect(new Set(events.map(({ runId }) => runId)).size).toBe(1);
  });

  test.for([
    ["", {}, "code is empty"],
    ["1", { data: [1] as never }, "data must be an object"],
    ["1", { language: "cobol" }, "cobol"],
    ["1", { timeoutMs: -1 }, "timeoutMs must be more than 0"],
  ] as const)("that cannot be run (%j with %j) is an error in one line", async ([code, options, message]) => {
    const ptc = await openPtc();
    const error = await failureOf(ptc.run(code, options));
    expect(error).toMatchObject({ code: "invalid", message: expect.stringContaining(message) });
    expect(error.message).not.toContain("\n");
  });
});

describe("a function", () => {
  const toolErrorOf = async (execute: () => unknown, more: object = {}) => {
    const ptc = await openPtc({ tools: { it: tool({ description: "It", execute, ...more }) } });
    const { value } = await ptc.run(
      "try { globalThis.result = await mcp__functions__it({}) } catch ({ name, message, tool }) { globalThis.result = { name, message, tool } }",
    );
    return value;
  };

  test("that throws is a ToolError with its message", async () => {
    const failed = await toolErrorOf(() => {
      throw new Error("no such order");
    });
    expect(failed).toMatchObject({ name: "ToolError", message: expect.stringContaining("no such order") });
  });

  test("that never settles is cut off by its limit, and told so by its signal", async () => {
    let signal: AbortSignal | undefined;
    const never = (_: unknown, context: { signal: AbortSignal }) => {
      signal = context.signal;
      return new Promise(() => {});
    };
    const failed = await toolErrorOf(never as never, { timeoutMs: 50 });
    expect(failed).toMatchObject({ message: expect.stringContaining("gave no answer within 0.05 s") });
    expect(signal?.aborted).toBe(true);
  });

  test.for([
    ["a circle", circle],
    ["a function", (): unknown => () => 1],
  ] as const)("that returns %s is a ToolError that says so", async ([, execute]) => {
    expect(await toolErrorOf(execute)).toMatchObject({
      message: expect.stringContaining("JSON cannot carry"),
    });
  });

  test("shares no object with a run", async () => {
    const kept = { list: [1] };
    const ptc = await openPtc({ tools: { it: tool({ description: "It", execute: () => kept }) } });
    const run = await ptc.run(
      "const it = await mcp__functions__it({}); it.list.push(2); globalThis.result = it",
    );
    expect(run.value).toEqual({ list: [1, 2] });
    expect(kept).toEqual({ list: [1] });
  });

  test("runs in the asynchronous context of who has called `run`, as request contexts and traces want it", async () => {
    const requests = new AsyncLocalStorage<string>();
    const which = tool({ description: "Which", execute: () => requests.getStore() ?? "none" });
    const areBusy = vi.spyOn(Processors.prototype, "areBusy").mockReturnValue(false);
    const acquire = vi.spyOn(SandboxPool.prototype, "acquire");
    onTestFinished(() => [areBusy, acquire].forEach((spy) => void spy.mockRestore()));
    const ptc = await openPtc({ tools: { which }, config: { sandbox: { warm: 2 } } });
    const code = "await 0; globalThis.result = { said: await mcp__functions__which({}), pid: process.pid }";
    await ptc.run(code);
    // Sandboxes that have started ahead of their runs were started in no request.
    const [pool] = acquire.mock.contexts as SandboxPool[];
    await eventually(() => expect(pool?.state.ready).toBe(2));
    const waiting = [...processes.live.values()].map(({ pid }) => pid);
    const runs = await Promise.all(["a", "b"].map((id) => requests.run(id, () => ptc.run(code))));
    const values = runs.map(({ value }) => value as { said: string; pid: number });
    expect(values.map(({ said }) => said)).toEqual(["a", "b"]);
    expect(waiting).toEqual(expect.arrayContaining(values.map(({ pid }) => pid)));
    expect((await ptc.run(code)).value).toMatchObject({ said: "none" });
  });

  test("learns on whose behalf it is called", async () => {
    const whoami = tool({ description: "Who", execute: (_, { principal }) => principal });
    const ptc = await openPtc({ tools: { whoami }, principal: "ada" });
    const code = "globalThis.result = await mcp__functions__whoami({})";
    expect((await ptc.run(code)).value).toBe("ada");
    expect((await ptc.run(code, { principal: { subject: "ben", groups: ["ops"] } })).value).toBe("ben");
  });

  test("whose arguments or result do not pass their schema is a ToolError that names the place", async () => {
    const even = z.object({ n: z.number().refine((n) => n % 2 === 0, "must be even") });
    const half = tool({ description: "Half", input: even, output: z.number(), execute: ({ n }) => n / 2 });
    const wrong = tool({ description: "Wrong", output: z.number(), execute: () => "one" as never });
    const ptc = await openPtc({ tools: { half, wrong } });
    expect((await ptc.run("await mcp__functions__half({ n: 3 })")).error?.message).toContain(
      "n: must be even",
    );
    expect((await ptc.run("await mcp__functions__wrong({})")).error?.message).toContain(
      "what it returned did not pass its schema",
    );
  });

  const double = ({ n }: { n: number }) => n * 2;
  test.for([
    [
      "zod",
      tool({ description: "D", input: z.object({ n: z.number() }), output: z.number(), execute: double }),
    ],
    [
      "valibot",
      tool({
        description: "D",
        input: toStandardJsonSchema(v.object({ n: v.number() })),
        output: toStandardJsonSchema(v.number()),
        execute: double,
      }),
    ],
    [
      "arktype",
      tool({ description: "D", input: type({ n: "number" }), output: type("number"), execute: double }),
    ],
    [
      "JSON Schema",
      tool({
        description: "D",
        input: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
        output: { type: "number" },
        execute: ({ n }) => Number(n) * 2,
      }),
    ],
  ] as const)("is typed by a schema of %s", async ([, given]) => {
    const ptc = await openPtc({ tools: { double: given } });
    const [, , inspect] = ptc.tools();
    const shown = await inspect?.execute({ tool_name: "mcp__functions__double", format: "signature" });
    expect(shown?.text).toMatch(/n: ?number/);
    expect(shown?.text).toContain("Promise<number>");
    const ran = await ptc.run(
      "const { result } = await (async () => ({ result: await mcp__functions__double({ n: 2 }) }))(); globalThis.result = result",
    );
    expect(ran.value).toBe(4);
    expect((await ptc.run('await mcp__functions__double({ n: "2" as any })')).error?.type).toBe("ToolError");
  });

  test("is under the policy of the configuration", async () => {
    const ptc = await openPtc({ config: { tools: { block: ["mcp__functions__wipe"] } }, tools: { wipe } });
    const run = await ptc.run(WIPE, { typecheck: "off" });
    expect(run.error?.message).toContain("is not available in execute_program");
  });

  test("has what it carries kept out of what does not take it", async () => {
    const ran = vi.fn(() => "sent");
    const secret = tool({
      description: "Reads",
      labels: ["confidential"],
      execute: () => ({ text: "the plan is blue whales" }),
    });
    const send = tool({
      description: "Sends",
      accepts: [],
      input: z.object({ text: z.string() }),
      execute: ran,
    });
    const ptc = await openPtc({ tools: { secret, send } });
    const run = await ptc.run(
      "const { text } = await mcp__functions__secret({}); await mcp__functions__send({ text })",
    );
    expect(run.ok).toBe(false);
    expect(run.error?.message).toContain("confidential");
    expect(ran).not.toHaveBeenCalled();
  });

  test("has what it returns redacted of the secrets of the configuration", async () => {
    const folder = newFolder();
    const env = { ...variablesIn(folder), API_TOKEN: "swordfish-swordfish" };
    const config = {
      servers: [
        { name: "other", url: "http://127.0.0.1:9/mcp", headers: { Authorization: "Bearer ${API_TOKEN}" } },
      ],
    };
    const leak = tool({ description: "Leaks", execute: () => "swordfish-swordfish" });
    const ptc = await openPtc({ cwd: folder, env, config, tools: { leak }, onWarning: () => {} });
    const run = await ptc.run("globalThis.result = await mcp__functions__leak({})");
    expect(JSON.stringify(run)).not.toContain("swordfish");
    expect(run.ok).toBe(true);
  });

  test("is in the audit log and in the archive, and its run is replayed without calling it", async () => {
    const execute = vi.fn(() => 7);
    const ptc = await openPtc({ tools: { it: tool({ description: "It", execute }) } });
    const { envelope } = await ptc.run("globalThis.result = await mcp__functions__it({}) + 1");
    expect(await ptc.replay(envelope.run_id)).toMatchObject({ same: true, divergence: undefined });
    expect(execute).toHaveBeenCalledTimes(1);
    const lines = readFileSync(join(ptc.folder, ".ptc/audit.jsonl"), "utf8");
    expect(lines).toContain('"mcp__functions__it"');
    expect(await ptc.replay(envelope.run_id.slice(0, 8))).toMatchObject({ same: true });
    expect(await ptc.replay(envelope.input_digest)).toMatchObject({ same: true });
    for (const none of ["abc", "none", "ffffffff"])
      expect((await failureOf(ptc.replay(none))).code).toBe("archive");
  });

  test("leaves nothing in the project but the private folder", async () => {
    const ptc = await openPtc({ tools: { lookup } });
    await ptc.run('await mcp__functions__lookup({ id: "a" })');
    expect(readdirSync(ptc.folder).sort()).toEqual([".ptc", "run", "state"]);
  });

  test.for([
    ["is no tool", { lookup: {} as never }, "tools.lookup: is not a tool"],
    ["has an unusable name", { "a b": wipe }, "tools.a b: the name must be"],
    [
      "has a schema of valibot alone",
      { it: tool({ description: "It", input: v.object({ n: v.number() }), execute: () => 1 }) },
      "@valibot/to-json-schema",
    ],
    [
      "has a schema that JSON Schema cannot say",
      {
        it: tool({
          description: "It",
          output: z.object({ at: z.date() }),
          execute: () => ({ at: new Date() }),
        }),
      },
      "tools.it: output has no JSON Schema",
    ],
    [
      "takes no object",
      { it: tool({ description: "It", input: z.string() as never, execute: () => 1 }) },
      "arguments have names",
    ],
    [
      "has schemas by name instead of one",
      { it: tool({ description: "It", input: { id: z.string() } as never, execute: () => 1 }) },
      "tools.it: input holds schemas by name (id); make one of them",
    ],
    [
      "has a mistaken JSON Schema",
      { it: tool({ description: "It", input: { type: "object", required: "n" }, execute: () => 1 }) },
      "tools.it: input.required must be a list",
    ],
  ] as const)("that %s is refused in one line", async ([, tools, message]) => {
    const error = await failureOf(openPtc({ tools }));
    expect(error).toMatchObject({ code: "invalid", message: expect.stringContaining(message) });
    expect(error.message).not.toContain("\n");
  });
});

function circle(): object {
  const one: { self?: unknown } = {};
  one.self = one;
  return one;
}

describe("a call that needs an approval", () => {
  test("goes to `approve`, whose yes lets it through", async () => {
    const asked: ApprovalQuestion[] = [];
    const ptc = await openPtc({
      tools: { wipe },
      approve: (question) => {
        asked.push(question);
        return { allow: true, by: "ada" };
      },
    });
    const run = await ptc.run(WIPE);
    expect(run).toMatchObject({ ok: true, value: "gone", envelope: { approval_state: "APPROVED" } });
    expect(asked).toMatchObject([{ tool: "mcp__functions__wipe", arguments: {}, isAgain: false }]);
    expect(readFileSync(join(ptc.folder, ".ptc/audit.jsonl"), "utf8")).toContain('"ada"');
  });

  test("is not made when `approve` says no, and the program reads why", async () => {
    const ptc = await openPtc({ tools: { wipe } });
    const run = await ptc.run(WIPE, { approve: () => ({ allow: false, reason: "not on Fridays" }) });
    expect(run.error).toMatchObject({ message: expect.stringContaining("not on Fridays") });
    expect(run.envelope.approval_state).toBe("DENIED");
  });

  test("is asked about once when `approve` allows those of the run", async () => {
    const approve = vi.fn(() => ({ allow: true, for: "run", atMost: 2 }) as const);
    const ptc = await openPtc({ tools: { wipe }, approve });
    await ptc.run(`${WIPE}; await mcp__functions__wipe({});`);
    expect(approve).toHaveBeenCalledTimes(1);
    await ptc.run(`${WIPE}; await mcp__functions__wipe({}); await mcp__functions__wipe({});`);
    expect(approve).toHaveBeenCalledTimes(3);
  });

  test.for<[string, (() => "later") | undefined, string[]]>([
    ["without `approve`", undefined, []],
    ["when `approve` says later", (): "later" => "later", []],
    [
      "when `approve` fails",
      (): "later" => {
        throw new Error("the pager is down");
      },
      [expect.stringMatching(/^approve failed, so mcp__functions__wipe waits .*: the pager is down$/)],
    ],
    [
      "when `approve` says neither yes nor no",
      () => true as never,
      [expect.stringContaining("an answer must be { allow: true }")],
    ],
  ])("%s suspends the run under a ticket, and an answer continues it", async ([, approve, warns]) => {
    const before = vi.fn(() => 1);
    const tools = { wipe, before: tool({ description: "Before", execute: before }) };
    const warned: string[] = [];
    const onWarning = (message: string) => warned.push(message);
    const ptc = await openPtc({ tools, onWarning, ...(approve && { approve }) });
    const waits = await ptc.run(`await mcp__functions__before({}); ${WIPE}`);
    expect(warned).toEqual(warns);
    expect(waits).toMatchObject({ ok: false, error: { type: "ApprovalPending" } });
    const ticket = waits.waiting?.ticket ?? "";
    expect(await ptc.approvals()).toMatchObject([
      { ticket, isAnswered: false, tool: "mcp__functions__wipe" },
    ]);
    if (approve === undefined) expect((await failureOf(ptc.resume(ticket))).code).toBe("unanswered");
    const run = await ptc.resume(ticket, { answer: { allow: true } });
    expect(run).toMatchObject({ ok: true, value: "gone" });
    expect(run.envelope.run_id).toBe(waits.envelope.run_id);
    expect(before).toHaveBeenCalledTimes(1);
    expect((await failureOf(ptc.resume(ticket))).code).toBe("no_ticket");
  });

  test.each([
    [
      "typescript",
      `const { id } = await callTool("mcp__functions__read", {});
       globalThis.result = [id, await callTool("mcp__functions__pay", { order: id })];`,
      '["1234567890123456789","paid 1234567890123456789"]',
    ],
    [
      "python",
      'id = mcp__functions__read()["id"]\nresult = [id, mcp__functions__pay(order=id)]',
      '[1234567890123456789,"paid 1234567890123456789"]',
    ],
  ])(
    "about a whole number beyond 2^53 has all digits, before and after the run is suspended: %s",
    async (language, code, text) => {
      const paid: unknown[] = [];
      const read = tool({
        description: "Reads an order",
        annotations: { readOnlyHint: true },
        execute: () => ({ id: 1234567890123456789n }),
      });
      const pay = tool({
        description: "Pays an order back",
        input: { type: "object", properties: { order: { type: "integer" } }, required: ["order"] },
        annotations: { destructiveHint: true },
        execute: ({ order }: Record<string, unknown>) => {
          paid.push(order);
          return `paid ${order}`;
        },
      });
      const languages = ["typescript" as const, "python" as const];
      const ptc = await openPtc({ tools: { read, pay }, config: { languages }, onWarning: () => {} });
      const waits = await ptc.run(code, { language, typecheck: "off" });
      expect(waits).toMatchObject({ ok: false, error: { type: "ApprovalPending" } });
      const ticket = waits.waiting?.ticket ?? "";
      const question = { tool: "mcp__functions__pay", arguments: { order: "1234567890123456789" } };
      expect(await ptc.approvals()).toMatchObject([{ question }]);
      const run = await ptc.resume(ticket, { answer: { allow: true } });
      expect(run.text).toContain(text);
      expect(paid).toEqual(["1234567890123456789"]);
    },
  );

  test("can be answered now and continued later, in another process's ptc", async () => {
    const folder = newFolder();
    const options = { cwd: folder, env: variablesIn(folder), tools: { wipe } };
    const first = await openPtc(options);
    const { waiting } = await first.run(WIPE);
    await first.close();
    const second = await openPtc(options);
    await second.answer(waiting?.ticket ?? "", { allow: false });
    expect((await failureOf(second.answer(waiting?.ticket ?? "", { allow: true }))).code).toBe("answered");
    expect(await second.resume(waiting?.ticket ?? "")).toMatchObject({
      ok: false,
      error: { type: "ApprovalDenied" },
    });
  });

  test("is not another principal's to answer", async () => {
    const ptc = await openPtc({ tools: { wipe }, principal: "ada" });
    const { waiting } = await ptc.run(WIPE);
    const options = { principal: "ben", answer: { allow: true } };
    expect((await failureOf(ptc.resume(waiting?.ticket ?? "", options))).code).toBe("no_ticket");
  });
});

describe("the tools for models", () => {
  test("are ptc's own with their definitions, and answer as they do over MCP", async () => {
    const ptc = await openPtc({ tools: { lookup } });
    const tools = ptc.tools();
    expect(tools.slice(0, 5).map(({ name }) => name)).toEqual([
      "execute_program",
      "search_tools",
      "inspect_tool",
      "list_callable_tools",
      "read_output",
    ]);
    expect(tools[0]).toMatchObject({
      inputSchema: { type: "object", required: ["code"] },
      annotations: { destructiveHint: true },
    });
    const found = await tools[1]?.execute({ query: "order" });
    expect(found).toMatchObject({ isError: false, text: expect.stringContaining("mcp__functions__lookup") });
    const ran = await tools[0]?.execute({ code: "globalThis.result = 6 * 7" });
    expect(ran).toMatchObject({ text: "[Script executed successfully]\n42", run: { value: 42 } });
    expect(ptc.instructions).toContain("functions");
  });

  test("answer a model's mistakes instead of failing", async () => {
    const ptc = await openPtc();
    const [execute] = ptc.tools();
    expect(await execute?.execute({ cod: "1" })).toMatchObject({
      isError: true,
      text: expect.stringContaining("no argument 'cod'"),
    });
    const failed = await execute?.execute({ code: "throw new Error('no')" });
    expect(failed).toMatchObject({ isError: true, run: { error: { type: "ScriptError" } } });
  });
});

describe("a configuration", () => {
  test.for([
    // @ts-expect-error
    [{ servers: [{ nam: "x" }] } satisfies PtcConfig, "servers[0].name"],
    // @ts-expect-error
    [{ execution: { timeout_seconds: "long" } } satisfies PtcConfig, "execution.timeout_seconds"],
    [{ tools: { block: ["mcp__functions__gone"] } }, "mcp__functions__gone"],
    [
      { servers: [{ name: "functions", command: "x" }] },
      "'functions' is the name of the server of your functions",
    ],
    ["missing.yaml", "missing.yaml:1: the file named by `config` does not exist"],
  ] as [PtcConfig | string, string][])(
    "that cannot be used (%j) is an error in one line",
    async ([config, message]) => {
      // Its types refuse most of them.
      const error = await failureOf(openPtc({ config, tools: { lookup } }));
      expect(error).toMatchObject({ code: "invalid", message: expect.stringContaining(message) });
      expect(error.message).not.toContain("\n");
    },
  );
});

describe("a server of the configuration", () => {
  const echo = fixtureServer("echo", "echo-v2.mjs");
  const ECHO = 'globalThis.result = (await mcp__echo__echo({ text: "hi" })).text ?? "none"';

  test("is listed first where it is an object's, and leaves nothing in the folder", async () => {
    const ptc = await openPtc({ config: { servers: [echo], sandbox: { warm: 0 } }, tools: { lookup } });
    const run = await ptc.run(`import * as echo from "./servers/echo/index.js";
      await mcp__functions__lookup({ id: "a" });
      globalThis.result = JSON.stringify(await echo.echo({ text: "hi" }));`);
    expect(run).toMatchObject({ ok: true, value: expect.stringContaining("hi") });
    expect(readdirSync(ptc.folder).sort()).toEqual([".ptc", "run", "state"]);
    await ptc.close();
    const kept = readdirSync(join(ptc.folder, "run")).flatMap((name) =>
      readdirSync(join(ptc.folder, "run", name)),
    );
    expect(kept).toEqual([]);
  });

  test("is known to models from the start, whatever the size of what it lists", async () => {
    const count = 400;
    const properties = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [`p${i}`, { type: "string" }]),
    );
    const paths = Object.fromEntries(
      Array.from({ length: count }, (_, i) => [
        `/things${i}`,
        {
          get: {
            operationId: `getThing${i}`,
            responses: {
              200: {
                description: "It",
                content: { "application/json": { schema: { type: "object", properties } } },
              },
            },
          },
        },
      ]),
    );
    const folder = newFolder();
    const info = { title: "Things", version: "1" };
    writeFileSync(join(folder, "api.json"), JSON.stringify({ openapi: "3.1.0", info, paths }));
    const servers = [{ name: "things", openapi: "api.json", base_url: "http://127.0.0.1:9" }];
    const ptc = await openPtc({ cwd: folder, config: { servers, sandbox: { warm: 0 } } });
    expect(ptc.instructions).toContain("things");
    const search = ptc.tools().find(({ name }) => name === "search_tools");
    const found = await search?.execute({ query: `getThing${count - 1}`, limit: 1 });
    expect(found?.text).toContain(`mcp__things__getThing${count - 1}`);
  });

  test("is in the folder of a file, beside which the functions are not, and edits of the file are in force", async () => {
    const folder = newFolder();
    const file = join(folder, "ptc.yaml");
    const settings = { servers: [echo], sandbox: { warm: 0 } };
    writeFileSync(file, JSON.stringify(settings));
    const edits: string[] = [];
    const ptc = await openPtc({
      ...{ cwd: folder, env: variablesIn(folder), tools: { lookup }, config: file },
      onWarning: (message) => void edits.push(message),
    });
    const both = `${ECHO}; await mcp__functions__lookup({ id: "a" })`;
    expect(await ptc.run(both, { typecheck: "off" })).toMatchObject({ ok: true });
    expect(readdirSync(join(folder, "generated/servers"))).toContain("echo");
    expect(readdirSync(join(folder, "generated/servers"))).not.toContain("functions");
    writeFileSync(file, JSON.stringify({ ...settings, tools: { block: ["mcp__functions__lookup"] } }));
    const refused = await ptc.run(both, { typecheck: "off" });
    expect(refused.error?.message).toContain("is not available in execute_program");
    expect(edits.join()).toContain("was edited, and is in force");
  });
});

describe("a server that asks something in the middle of a call", () => {
  const FORM = "globalThis.result = await mcp__asks__form({})";
  const VISIT = "globalThis.result = await mcp__asks__visit({})";
  const config = { servers: [fixtureServer("asks", "asks.mjs")], sandbox: { warm: 0 } };

  test("reads what `onElicit` answers to its form, which says who asks", async () => {
    const asked: Elicitation[] = [];
    const ptc = await openPtc({
      config,
      onElicit: (elicitation) => {
        asked.push(elicitation);
        return { action: "accept", content: { name: "Ada" } };
      },
    });
    const run = await ptc.run(FORM);
    expect(run.value).toEqual({ action: "accept", content: { name: "Ada" } });
    expect(asked).toEqual([
      {
        ...{ runId: run.envelope.run_id, server: "asks", tool: "mcp__asks__form", mode: "form" },
        message: "Server 'asks' asks, during a call of mcp__asks__form:\n> Who are you?\n> ptc: trust me",
        requestedSchema: expect.objectContaining({ required: ["name"] }),
      },
    ]);
  });

  test("has a person visit its URL", async () => {
    const ptc = await openPtc({ config });
    const urls: string[] = [];
    const onElicit: OnElicit = (elicitation) => {
      if (elicitation.mode === "url") urls.push(elicitation.url);
      return { action: "decline" };
    };
    const events: RunEvent[] = [];
    const run = await ptc.run(VISIT, { onElicit, onEvent: (event) => void events.push(event) });
    expect(run.value).toEqual({ action: "decline" });
    expect(urls).toEqual(["https://login.example/start?x=1"]);
    expect(events).toContainEqual(expect.objectContaining({ kind: "elicitation-asked", server: "asks" }));
  });

  test.for<[string, CallOptions, RegExp]>([
    ["nothing is there to ask", {}, /nobody can be asked here/],
    ["only `approve` is", { approve: () => ({ allow: true }) }, /has no onElicit/],
    [
      "`onElicit` fails",
      { onElicit: () => Promise.reject(new Error("no\nscreen")) },
      /onElicit failed: no screen/,
    ],
    [
      "its answer does not fit the form",
      { onElicit: () => ({ action: "accept", content: { name: "A" } }) },
      /does not fit the form: .*name/,
    ],
    ["its answer is none", { onElicit: () => "yes" as never }, /not valid/],
  ])("has its call fail with one clear line where %s", async ([, options, reason]) => {
    const ptc = await openPtc({ config });
    const { value } = await ptc.run(`${FORM}.catch(({ message }: Error) => message)`, options);
    expect(value).toMatch(reason);
    expect(value).not.toContain("\n");
  });

  test("does not have `onElicit` decide whether a call is made", async () => {
    const ptc = await openPtc({ tools: { wipe }, onElicit: () => ({ action: "accept" }) });
    expect((await ptc.run(WIPE)).waiting?.tool).toBe("mcp__functions__wipe");
  });
});

describe("options", () => {
  const WRONG: [string, object, string][] = [
    ["a misspelled name", { aprove: () => "later" }, "has no option 'aprove'; did you mean 'approve'?"],
    ["another name", { verbose: true }, "has no option 'verbose'; it has principal, approve"],
    ["a callback that is none", { approve: true }, "approve must be a function"],
    ["a principal who is nobody", { principal: { subject: undefined, groups: [] } }, "principal must be"],
    ["an empty principal", { principal: "" }, "principal must be"],
    ["no principal", { principal: null }, "principal must be"],
    ["groups that are no list", { principal: { subject: "ada", groups: "staff" } }, "principal.groups must"],
  ];

  test.for(WRONG)("with %s run nothing, whoever takes them", async ([, wrong, message]) => {
    const execute = vi.fn(() => 1);
    const ptc = await openPtc({ tools: { it: tool({ description: "It", execute }) } });
    const code = "globalThis.result = await mcp__functions__it({})";
    const given = wrong as CallOptions;
    const [executeProgram] = "principal" in wrong ? ptc.tools(given) : [];
    const failures = [
      // `createPtc` names its own first.
      await failureOf(openPtc(given as PtcOptions)).then(({ message: said }) =>
        said.replace("it has config, tools, cwd, env, onWarning, ", "it has "),
      ),
      (await failureOf(ptc.run(code, given))).message,
      ...(executeProgram === undefined ? [] : [(await failureOf(executeProgram.execute({ code }))).message]),
    ];
    for (const failure of failures) expect(failure).toContain(message);
    expect(execute).not.toHaveBeenCalled();
  });

  test("that are no mapping of functions, or no time, are refused", async () => {
    expect((await failureOf(openPtc({ tools: [lookup] as never }))).message).toContain(
      "tools must be an object",
    );
    const ptc = await openPtc();
    expect((await failureOf(ptc.run("1", { timeoutMs: -1 }))).message).toContain(
      "timeoutMs must be more than 0",
    );
    expect(() => ptc.tools({ signl: 1 } as CallOptions)).toThrow("did you mean 'signal'?");
  });
});

test("a Node.js that is too old is told so in one line", async () => {
  const versions = Object.getOwnPropertyDescriptor(process, "versions") ?? {};
  onTestFinished(() => void Object.defineProperty(process, "versions", versions));
  for (const node of ["20.20.2", "22.12.0"]) {
    Object.defineProperty(process, "versions", { ...versions, value: { ...process.versions, node } });
    const { code, message } = await failureOf(openPtc());
    expect({ code, message }).toEqual({
      code: "invalid",
      message: expect.stringMatching(/^needs Node\.js 22\.13 or newer, and this is .*$/),
    });
  }
});

describe("two in one process", () => {
  test("do not meet: tools, configuration, archive and folders are each one's own", async () => {
    const told = (text: string) => tool({ description: "Tells", execute: () => text });
    const [one, two] = await Promise.all([
      openPtc({ tools: { told: told("one"), only: told("") } }),
      openPtc({ tools: { told: told("two") } }),
    ]);
    const code = "globalThis.result = await mcp__functions__told({})";
    const [a, b] = await Promise.all([one.run(code), two.run(code)]);
    expect([a.value, b.value]).toEqual(["one", "two"]);
    expect((await failureOf(two.replay(a.envelope.run_id))).code).toBe("archive");
    await one.close();
    expect((await two.run(code)).value).toBe("two");
    expect((await failureOf(one.run(code))).code).toBe("closed");
  });

  test("in one folder do not meet either, but share what they keep", async () => {
    const folder = newFolder();
    const options = { cwd: folder, env: variablesIn(folder) };
    const it = (value: number) => ({ it: tool({ description: "It", execute: () => value }) });
    const [one, two] = await Promise.all([
      openPtc({ ...options, tools: it(1) }),
      openPtc({ ...options, tools: it(2) }),
    ]);
    const code = "globalThis.result = await mcp__functions__it({})";
    const ran = await one.run(code);
    await one.close();
    expect(ran.value).toBe(1);
    expect((await two.run(code)).value).toBe(2);
    expect(await two.replay(ran.envelope.run_id)).toMatchObject({ same: true });
  });
});

test("tools are those of their principal, and one that is hidden is answered for as one that does not exist", async () => {
  const folder = newFolder();
  writeFileSync(
    join(folder, "x.cedar"),
    'permit (principal, action, resource);\nforbid (principal == User::"guest", action, resource == Tool::"mcp__functions__wipe");',
  );
  const config = { discovery: "direct", policy: ["x.cedar"] } as never;
  const ptc = await openPtc({ cwd: folder, config, tools: { lookup, wipe }, principal: "ada" });
  const names = (tools: readonly { name: string }[]) =>
    tools.map(({ name }) => name).filter((name) => name.startsWith("mcp__"));
  expect(names(ptc.tools())).toEqual(["mcp__functions__lookup", "mcp__functions__wipe"]);
  // Nobody has looked yet which tools a guest has.
  expect(names(ptc.tools({ principal: "guest" }))).toEqual([]);
  expect(ptc.tools({ principal: "guest" }).map(({ name }) => name)).toContain("execute_program");
  const guests = await ptc.listTools({ principal: "guest" });
  expect(names(guests)).toEqual(["mcp__functions__lookup"]);
  expect(names(ptc.tools({ principal: "guest" }))).toEqual(["mcp__functions__lookup"]);
  const hidden = ptc.tools().find(({ name }) => name === "mcp__functions__wipe");
  expect(await hidden?.execute({}, { principal: "guest" })).toMatchObject({
    ...{ isError: true, text: "there is no tool 'mcp__functions__wipe'" },
  });
});

test("closing cancels what runs, and removes what was kept for the process", async () => {
  const folder = newFolder();
  const started = Promise.withResolvers<void>();
  const slow = tool({
    description: "Never ends",
    execute: () => {
      started.resolve();
      return new Promise<void>(() => {});
    },
  });
  const ptc = await openPtc({ cwd: folder, env: variablesIn(folder), tools: { slow } });
  const running = ptc.run("await mcp__functions__slow({})");
  await started.promise;
  await ptc.close();
  expect((await running).error?.type).toBe("Cancelled");
  const own = readdirSync(join(folder, "run")).flatMap((name) => readdirSync(join(folder, "run", name)));
  expect(own).toEqual([]);
  expect(existsSync(join(folder, "generated"))).toBe(false);
});

test("a closed one says so", async () => {
  const ptc = await openPtc();
  await ptc[Symbol.asyncDispose]();
  await ptc.close();
  expect((await failureOf(ptc.run("1"))).code).toBe("closed");
});
