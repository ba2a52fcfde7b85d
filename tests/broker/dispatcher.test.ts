import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type ApprovalAnswer, type ApprovalRequest, RunApprovals } from "../../broker/approvals/approvals.ts";
import { planOf } from "../../broker/approvals/plan.ts";
import { type CallOutcome, Dispatcher } from "../../broker/dispatcher.ts";
import { PolicyAuthorizer } from "../../broker/policy/authorizer.ts";
import type { Policy } from "../../broker/policy/policy.ts";
import { IsolatingValidator } from "../../broker/schemas/schema-validator.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { PolicyDecided } from "../../protocol/call-decision.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import type { ToolCall } from "../../upstream/upstream.ts";
import { UpstreamError, type UpstreamErrorCode } from "../../upstream/upstream-error.ts";
import { toolOf } from "../catalog/tool-of.ts";
import { rowsBeside } from "../rows.ts";

const rows = rowsBeside(import.meta.filename);

const NAME = "mcp__my_files__get.file";

const POLICY: Policy = { allow: undefined, block: [], ask: [], neverAsk: [], byDefault: "annotated" };

interface Scene {
  tool?: Partial<Tool>;
  policy?: Partial<Policy>;
  listedDigest?: string | undefined;
  answer?: () => unknown;
  /** What the server turns out to list when it is asked about a drift. */
  listedAfterDrift?: string;
  /** What the server lists once somebody has answered. */
  listedAfterAsking?: string;
  connectError?: UpstreamError;
  approve?: ApprovalAnswer["decision"][];
  answeredAfterMs?: number;
  calls?: { tool: string; arguments: unknown; raw?: boolean }[];
  schemaMismatch?: "warn" | "error";
  /** How often the plan that somebody has allowed has the call again if it fails. */
  again?: number;
  /** Why a server's tools are not known. */
  unlisted?: [module: string, why: string][];
  redact?: (message: string) => string;
  /** Why a check has a person asked about each call but the first. */
  asks?: string;
  /** Whether the tool was hidden when its checks were to be asked. */
  isHidden?: boolean;
}

async function play({ tool, policy, answer, approve = [], answeredAfterMs = 0, calls, ...rest }: Scene) {
  const called: unknown[][] = [];
  const decided: PolicyDecided[] = [];
  const asked: ApprovalRequest[] = [];
  const known = toolOf("my-files", "get.file", {
    definitionDigest: "d1",
    inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    ...tool,
  });
  let listed = "listedDigest" in rest ? rest.listedDigest : "d1";
  const server = {
    async call({ tool, arguments: args }: ToolCall) {
      called.push([tool, args]);
      return (answer ?? (() => ({ content: [{ type: "text", text: "hi" }] })))();
    },
  };
  const connected: string[] = [];
  const dispatcher = new Dispatcher({
    context: { principal: "local", source: "run" },
    tools: Object.assign(new Map([[NAME, known]]), { unlisted: new Map(rest.unlisted) }),
    authorizer: new PolicyAuthorizer({ ...POLICY, ...policy }),
    servers: {
      async connect(name, _signal, { hasDrifted = false }) {
        if (rest.connectError !== undefined) throw rest.connectError;
        connected.push(hasDrifted ? `${name}, drifted` : name);
        if (hasDrifted) listed = rest.listedAfterDrift ?? listed;
        const digest = listed;
        return { ...server, definitionDigest: () => digest };
      },
    },
    validator: new IsolatingValidator(),
    schemaMismatch: rest.schemaMismatch,
    redact: rest.redact ?? ((message) => message),
  });
  const plan = planOf([
    {
      ...{
        tool: NAME,
        server: "my-files",
        definitionDigest: "d1",
        arguments: { path: "a" },
        asks: true,
        rule: "approvals.default: annotated",
      },
      ...{ argumentsDigest: digestOf({ path: "a" }), open: [], undecided: [], after: 0, again: rest.again },
    },
  ]);
  const approvals = new RunApprovals(
    "run-1",
    {
      async ask(request) {
        asked.push(request);
        listed = rest.listedAfterAsking ?? listed;
        await delay(answeredAfterMs);
        return { decision: approve.shift() ?? "denied", by: "somebody" };
      },
    },
    {},
    rest.again === undefined
      ? {}
      : {
          earlier: {
            ...{ state: "APPROVED", grants: [] },
            plan: { plan, approved: [1], used: [], ended: [], by: "ann" },
          },
        },
  );
  const events = { onDecision: (decision: PolicyDecided) => void decided.push(decision) };
  const run = { approvals, events, signal: new AbortController().signal };
  const outcomes: CallOutcome[] = [];
  for (const call of calls ?? [{ tool: NAME, arguments: { path: "a" } }]) {
    const isOfCheck = rest.asks !== undefined && outcomes.length > 0;
    const asks = isOfCheck ? { rule: "interceptors.dlp", reason: rest.asks } : undefined;
    outcomes.push(await dispatcher.dispatch(call, { ...run, asks, isHidden: rest.isHidden }));
  }
  return { outcomes, outcome: outcomes[0], called, decided, asked, connected, state: approvals.state };
}

function failure(code: UpstreamErrorCode): UpstreamError {
  return new UpstreamError(code, "server 'my-files' failed");
}

function raise(code: UpstreamErrorCode): never {
  throw failure(code);
}

const failed = (message: unknown) => ({ ok: false, error: { message } });

describe("dispatching a call", () => {
  it("reaches the tool by its protocol name, with the arguments as they came", async () => {
    const { outcome, called, connected } = await play({});
    expect(outcome).toMatchObject({ ok: true, data: "hi", bytes: 2 });
    expect(called).toEqual([["get.file", { path: "a" }]]);
    expect(connected).toEqual(["my-files"]);
  });

  it.each<[string, Partial<Policy>]>([
    ["allows it", {}],
    ["asks about it too", { ask: [NAME] }],
  ])("asks about it where a check does, whatever was approved, where the policy %s", async (_, policy) => {
    const call = { tool: NAME, arguments: { path: "a" } };
    const { asked, outcomes, called } = await play({
      ...{ policy: { ask: policy.ask ?? [] }, approve: policy.ask ? ["run", "denied"] : ["denied"] },
      ...{ calls: [call, call], asks: "a new address" },
    });
    expect(asked.at(-1)?.reason).toContain("a new address");
    expect(outcomes).toMatchObject([{ ok: true }, { ok: false, decision: "denied" }]);
    expect(called).toHaveLength(1);
  });

  it.each<[string, Scene]>([
    ["unknown", { calls: [{ tool: "mcp__my_files__other", arguments: {} }] }],
    ["blocked", { policy: { block: [NAME] } }],
    ["not on the allow list", { policy: { allow: [] } }],
    ["hidden when its checks were to be asked", { isHidden: true }],
  ])("says of a tool that is %s that it is not available, and connects to nothing", async (_name, scene) => {
    const { outcome, connected } = await play(scene);
    const name = scene.calls?.[0]?.tool ?? NAME;
    expect(outcome).toMatchObject(failed(`'${name}' is not available in execute_program`));
    expect(connected).toEqual([]);
  });

  it.each([
    ["was changed", "d2"],
    ["is no longer listed", undefined],
  ])("refuses a tool whose definition %s since it was generated", async (what, listedDigest) => {
    const { outcome, called } = await play({ listedDigest });
    expect(outcome).toMatchObject(failed(expect.stringContaining(`${what} by its server`)));
    expect(called).toEqual([]);
  });

  it("goes on when the server, asked again, has the tool that programs were made for", async () => {
    const { outcome, connected } = await play({ listedDigest: "d0", listedAfterDrift: "d1" });
    expect(outcome).toMatchObject({ ok: true });
    expect(connected).toEqual(["my-files", "my-files, drifted"]);
  });

  it.each<[string, string, Scene]>([
    ["in its pause after a failure", "unreachable", { answer: () => raise("backing_off") }],
    ["off", "unreachable", { connectError: failure("off") }],
    ["not to be started", "unreachable", { answer: () => raise("start_failed") }],
    ["lost while it lists", "unreachable", { connectError: failure("disconnected") }],
    ["lost while it works", "allowed", { answer: () => raise("disconnected") }],
    ["not waited for until it lists", "allowed", { connectError: failure("cancelled") }],
    ["not waited for until it answers", "allowed", { answer: () => raise("cancelled") }],
  ])("knows whether a server that is %s may have had the call", async (_what, decision, scene) => {
    expect((await play(scene)).outcome).toMatchObject({ ok: false, decision });
  });

  it("refuses bad arguments before the server sees them, naming the property", async () => {
    const { outcome, called } = await play({ calls: [{ tool: NAME, arguments: { path: 1 } }] });
    const message = `'${NAME}' was not called: arguments.path must be string, not 1`;
    expect(outcome).toMatchObject({
      ok: false,
      error: { type: "ToolError", server: "my_files", tool: "get.file", message },
    });
    expect(called).toEqual([]);
  });

  it("turns a tool's own error into a failure with its text", async () => {
    const answer = () => ({ isError: true, content: [{ type: "text", text: "no such file" }] });
    const { outcome } = await play({ answer });
    expect(outcome).toMatchObject(failed(`'${NAME}' failed: no such file`));
    expect(outcome).toHaveProperty("error.retryable", false);
    expect(outcome).toHaveProperty("raw.isError", true);
  });

  it.each<[Partial<Policy>, Omit<PolicyDecided, "server" | "tool">[]]>([
    [{}, []],
    [{ allow: [NAME] }, [{ decision: "allow", rule: `tools.allow: ${NAME}` }]],
    [{ ask: ["*"] }, [{ decision: "ask", rule: "approvals.ask: *" }]],
    [{ block: [NAME] }, [{ decision: "unavailable", rule: `tools.block: ${NAME}` }]],
  ])("reports what the policy decided, unless nothing names the tool: %j", async (policy, wanted) => {
    const { decided, outcome } = await play({ policy });
    expect(decided).toEqual(wanted.map((each) => ({ server: "my-files", tool: NAME, ...each })));
    expect(outcome?.rule).toBe(wanted[0]?.rule);
  });

  it("says of a tool whose server's tools are not known why they are not", async () => {
    const calls = [{ tool: "mcp__slow__get", arguments: {} }];
    const { outcome } = await play({ calls, unlisted: [["slow", "did not\nstart"]] });
    const message = "'mcp__slow__get' is not available in execute_program: did not start";
    expect(outcome).toMatchObject(failed(message));
  });

  it("redacts what a server says of its failure, and of what is wrong with its answer", async () => {
    const redact = (text: string) => text.replaceAll("hunter2", "[redacted]");
    const answer = () => ({ isError: true, content: [{ type: "text", text: "hunter2 is wrong" }] });
    expect((await play({ answer, redact })).outcome).toMatchObject(
      failed(`'${NAME}' failed: [redacted] is wrong`),
    );
    const structuredContent = { n: "hunter2" };
    const tool = { outputSchema: { type: "object", properties: { n: { type: "number" } } } };
    const { outcome } = await play({ tool, answer: () => ({ content: [], structuredContent }), redact });
    expect(outcome).toMatchObject({ warning: expect.stringMatching(/must be number, not "\[redacted\]"$/) });
  });

  it("passes on whether a fault of the server may pass by itself", async () => {
    const { outcome } = await play({ answer: () => raise("call_timeout") });
    expect(outcome).toMatchObject({ ok: false, error: { retryable: true } });
  });
});

describe("an answer that holds more than its function returns", () => {
  const content = [{ type: "image", data: "AAAA", mimeType: "image/png" }];
  const answer = () => ({ content, structuredContent: { n: 1 } });
  const warning = `'${NAME}' also answered an image beside its structuredContent, which is all that its function returns; the content is \`raw.content\` of \`.result(...)\``;

  it("comes with a warning that says where the rest is", async () => {
    expect((await play({ answer })).outcome).toMatchObject({ ok: true, data: { n: 1 }, warning });
    const tool = { outputSchema: { type: "object", properties: { n: { type: "number" } } } };
    expect((await play({ answer, tool, schemaMismatch: "error" })).outcome).toMatchObject({
      ok: true,
      warning,
    });
  });

  it("comes without it where the program asks for the raw result", async () => {
    const { outcome } = await play({ answer, calls: [{ tool: NAME, arguments: { path: "a" }, raw: true }] });
    expect(outcome).toMatchObject({ ok: true, raw: { content } });
    expect(outcome).not.toHaveProperty("warning");
  });
});

describe("a tool's failure", () => {
  it("has its structured content as the error's data", async () => {
    const structuredContent = { code: 7 };
    const { outcome } = await play({ answer: () => ({ isError: true, content: [], structuredContent }) });
    expect(outcome).toMatchObject({ ok: false, data: structuredContent, raw: { structuredContent } });
  });
});

describe("an answer that is none that MCP allows", () => {
  it.each<[string, object, unknown, string]>([
    ["text", { content: "a" }, "a", "with content that is a string, where MCP has a list of content blocks"],
    ["nothing", {}, [], "without any content"],
  ])("such as %s reaches the program with a warning", async (_name, given, data, problem) => {
    const { outcome } = await play({ answer: () => given });
    const warning = `'${NAME}' answered ${problem}; its server is to blame`;
    expect(outcome).toMatchObject({ ok: true, data, warning });
  });
});

describe("an answer that contradicts its tool's output schema", () => {
  const tool = { outputSchema: { type: "object", properties: { n: { type: "number" } } } };
  const structuredContent = { n: "1" };
  const answer = () => ({ content: [], structuredContent });
  const mismatch = `'${NAME}' answered against its own outputSchema: structuredContent.n must be number, not "1"`;

  it("reaches the program, with a warning that names tool and path", async () => {
    const { outcome, called } = await play({ tool, answer });
    expect(outcome).toMatchObject({ ok: true, data: structuredContent, warning: mismatch });
    expect(called).toHaveLength(1);
  });

  it("is the data of an error that says first that the call was made, under schema_mismatch: error", async () => {
    const { outcome } = await play({ tool, answer, schemaMismatch: "error" });
    const message = `the call was made: ${mismatch}; what it answered is the error's data`;
    expect(outcome).toMatchObject({
      ok: false,
      error: { type: "ToolError", message, retryable: false },
      data: structuredContent,
      raw: { structuredContent },
    });
  });

  it("has no structured content where that is promised, and then its text is the data", async () => {
    const content = [{ type: "text", text: '{"n":1}' }];
    const warning = `'${NAME}' answered without the structuredContent that its outputSchema promises; its server is to blame`;
    expect((await play({ tool, answer: () => ({ content }) })).outcome).toMatchObject({
      ok: true,
      data: { n: 1 },
      warning,
    });
    const refused = await play({ tool, answer: () => ({ content }), schemaMismatch: "error" });
    expect(refused.outcome).toMatchObject({
      ok: false,
      error: { message: expect.stringMatching(/^the call was made: /) },
      data: { n: 1 },
    });
  });

  it("cannot be checked, and reaches the program with a warning all the same", async () => {
    const hostile = { outputSchema: { properties: { s: { pattern: "^(a+)+$" } } } };
    const data = { s: `${"a".repeat(40)}!` };
    const { outcome } = await play({
      tool: hostile,
      answer: () => ({ content: [], structuredContent: data }),
    });
    expect(outcome).toMatchObject({
      ok: true,
      data,
      warning: expect.stringContaining("structuredContent could not be checked"),
    });
  });

  it("is none where the tool says that it has failed", async () => {
    const content = [{ type: "text", text: '{"n":1}' }];
    const { outcome } = await play({ tool, answer: () => ({ isError: true, content }) });
    expect(outcome).toMatchObject({ ok: false, error: { message: `'${NAME}' failed: {"n":1}` } });
  });
});

describe("an argument that its tool does not have", () => {
  const call = (args: object) => [{ tool: NAME, arguments: args }];
  const properties = { entityNames: { type: "array" }, per_page: { type: "number" } };

  it.each<[string, object, object, string]>(rows("mistaken arguments"))(
    "is refused with the one that is meant: %s",
    async (_what, args, more, problem) => {
      const inputSchema = { type: "object", properties, ...more };
      const { outcome, called } = await play({ tool: { inputSchema }, calls: call(args) });
      expect(outcome).toMatchObject({
        ok: false,
        decision: "invalid",
        error: { message: `'${NAME}' was not called: arguments${problem}` },
      });
      expect(called).toEqual([]);
    },
  );

  it.each<[string, object, object]>(rows("accepted arguments"))(
    "reaches a tool where it %s",
    async (_what, args, schema) => {
      const { outcome } = await play({
        tool: { inputSchema: { type: "object", ...schema } },
        calls: call(args),
      });
      expect(outcome).toMatchObject({ ok: true });
    },
  );

  it.each<[string, object]>([
    ["as the Python SDKs write it", { properties: {}, title: "countArguments" }],
    ["as others do", { properties: {}, required: [], additionalProperties: false, $schema: "x" }],
  ])("is refused by a tool that takes none, %s", async (_what, schema) => {
    const inputSchema = { type: "object", ...schema };
    const { outcome } = await play({ tool: { inputSchema }, calls: call({ limit: 1 }) });
    const message = `'${NAME}' was not called: arguments.limit is not a known property; it takes no arguments`;
    expect(outcome).toMatchObject({ ok: false, decision: "invalid", error: { message } });
    expect((await play({ tool: { inputSchema }, calls: call({}) })).outcome).toMatchObject({ ok: true });
  });
});

describe("a result that a Python SDK has wrapped", () => {
  const outputSchema = { type: "object", properties: { result: { type: "array" } }, required: ["result"] };
  const structuredContent = { result: [1, 2] };
  const answer = () => ({ content: [{ type: "text", text: "1" }], structuredContent });

  it("is given without its wrapper, and raw with it", async () => {
    const { outcome } = await play({ tool: { outputSchema, unwraps: true }, answer });
    expect(outcome).toMatchObject({ ok: true, data: [1, 2], raw: { structuredContent } });
    expect(outcome).not.toHaveProperty("warning");
  });

  it("stays in it where its module was written by an earlier ptc, or its schema is no wrapper", async () => {
    expect((await play({ tool: { outputSchema }, answer })).outcome).toMatchObject({
      data: structuredContent,
    });
  });

  it("is given without it also where it contradicts its schema, and as it is where it has none", async () => {
    const wrong = () => ({ content: [], structuredContent: { result: "x" } });
    const tool = { outputSchema, unwraps: true } as const;
    expect((await play({ tool, answer: wrong })).outcome).toMatchObject({
      ok: true,
      data: "x",
      warning: expect.stringContaining("structuredContent.result must be array"),
    });
    const bare = () => ({ content: [], structuredContent: { rows: [1] } });
    expect((await play({ tool, answer: bare })).outcome).toMatchObject({ ok: true, data: { rows: [1] } });
  });
});

describe("a call that was made", () => {
  it.each<[string, () => unknown, RegExp]>([
    [
      "whose answer breaks the protocol",
      () => raise("protocol_error"),
      /^the call was made: '\S+' failed, because its answer cannot be read: server 'my-files' failed$/,
    ],
    [
      "whose server was lost",
      () => raise("disconnected"),
      /^'\S+' failed: server 'my-files' failed; the call may have been made$/,
    ],
    [
      "whose answer ptc fails over",
      () => {
        const round: Record<string, unknown> = { type: "text", text: 1 };
        round.again = round;
        return { content: [round] };
      },
      /^the call was made: '\S+' answered, and ptc could not read the answer: .*circular/,
    ],
  ])("is told as such: %s", async (_what, answer, message) => {
    const { outcome } = await play({ answer });
    expect(outcome).toMatchObject({ ok: false, error: { message: expect.stringMatching(message) } });
  });

  it("is not told as made where it never went out", async () => {
    const { outcome } = await play({ connectError: failure("protocol_error") });
    expect(outcome).toMatchObject(failed(`'${NAME}' failed: server 'my-files' failed`));
  });
});

describe("a call of a plan that has it again if it fails", () => {
  const output = { outputSchema: { type: "object", required: ["id"] } };
  const again = async (answer: () => unknown, more: Scene = {}) => {
    const call = { tool: NAME, arguments: { path: "a" } };
    const tool = { annotations: { destructiveHint: true }, ...more.tool };
    const { called, asked, outcomes } = await play({
      ...{ answer, again: 1, calls: [call, call], ...more, tool },
    });
    expect(outcomes[0]).toMatchObject({ ok: false });
    return { called: called.length, asked: asked.length };
  };

  it.each<[string, () => unknown, Scene?]>([
    ["its tool says that it has failed", () => ({ isError: true, content: [] })],
    ["its server did not begin it", () => raise("session_ended")],
    ["its server turned it away", () => raise("busy")],
  ])("is made again without a question where %s", async (_, answer, more) => {
    const before = await again(answer, more);
    expect(before.called).toBeGreaterThan(1);
    expect(before.asked).toBe(0);
  });

  it("is made again without a question where its server could not be reached", async () => {
    const connectError = failure("start_failed");
    expect(await again(() => ({}), { connectError })).toEqual({ called: 0, asked: 0 });
  });

  it.each<[string, () => unknown, Scene?]>([
    ["its answer cannot be read", () => raise("protocol_error")],
    ["its answer is no result", () => "done"],
    [
      "its answer contradicts its schema",
      () => ({ content: [], structuredContent: {} }),
      { tool: output, schemaMismatch: "error" },
    ],
    ["the connection broke", () => raise("disconnected")],
    ["it took too long", () => raise("call_timeout")],
    [
      "ptc is at fault",
      () => {
        throw new Error("a fault");
      },
    ],
  ])("is asked about, and not made twice, where %s", async (_, answer, more) => {
    expect(await again(answer, more)).toEqual({ called: 1, asked: 1 });
  });
});

describe("approvals", () => {
  const DESTRUCTIVE = { annotations: { destructiveHint: true } };
  const twice = ["a", "b"].map((path) => ({ tool: NAME, arguments: { path } }));

  it("are asked for a destructive tool, bound to run, definition and arguments", async () => {
    const { asked, state, called } = await play({ tool: DESTRUCTIVE, approve: ["once"] });
    expect(asked).toEqual([
      {
        ...{ isAgain: false, runId: "run-1", tool: NAME, definitionDigest: "d1" },
        ...{ arguments: { path: "a" }, argumentsDigest: digestOf({ path: "a" }) },
        claims: expect.objectContaining(DESTRUCTIVE),
      },
    ]);
    expect(state).toBe("APPROVED");
    expect(called).toHaveLength(1);
  });

  it("given once are used once", async () => {
    const { asked, outcomes, state } = await play({
      tool: DESTRUCTIVE,
      approve: ["once", "denied"],
      calls: twice,
    });
    expect(asked).toHaveLength(2);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false]);
    expect(state).toBe("DENIED");
  });

  it.each(["once", "denied"] as const)("say how long a person took to answer: %s", async (decision) => {
    const scene = { policy: { ask: ["*"] }, approve: [decision], answeredAfterMs: 20 };
    const { outcome } = await play(scene);
    expect(outcome?.waitedMs).toBeGreaterThan(10);
    expect((await play({})).outcome).not.toHaveProperty("waitedMs");
  });

  it("given for the run are not asked for again", async () => {
    const { asked, outcomes } = await play({ tool: DESTRUCTIVE, approve: ["run"], calls: twice });
    expect(asked).toHaveLength(1);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true]);
  });

  it("are for the tool as it was: one that has changed meanwhile is not called", async () => {
    const { outcome, called, asked } = await play({
      tool: DESTRUCTIVE,
      approve: ["once"],
      listedAfterAsking: "d2",
    });
    expect(asked).toHaveLength(1);
    expect(outcome).toMatchObject({
      ok: false,
      decision: "drifted",
      approver: "somebody",
      error: { message: expect.stringContaining("was changed by its server") },
    });
    expect(called).toEqual([]);
  });

  it("that are denied keep the call from the server", async () => {
    const { outcome, called } = await play({ policy: { ask: ["*"] } });
    expect(outcome).toMatchObject({
      ok: false,
      error: {
        type: "ApprovalDenied",
        message: expect.stringMatching(/ needs an approval and was refused by the user$/),
      },
    });
    expect(called).toEqual([]);
  });

  it("are not asked for a call whose arguments are wrong", async () => {
    const { asked, state } = await play({ policy: { ask: ["*"] }, calls: [{ tool: NAME, arguments: {} }] });
    expect(asked).toEqual([]);
    expect(state).toBe("NOT_REQUIRED");
  });
});
