import { describe, expect, it } from "vitest";
import { planOf } from "../../../broker/approvals/plan.ts";
import type {
  Elicitation,
  ElicitationAnswer,
  ElicitationRequest,
} from "../../../broker/elicitation/elicitation.ts";
import { buildApprovalForm, parseApprovalAnswer } from "../../../server/mcp/elicitation.ts";
import { CONNECT, connectLegacy, ERAS, RawClient } from "./clients.ts";
import { EXECUTE, executed, serve, valued } from "./served.ts";

const REQUEST = {
  runId: "r",
  tool: "mcp__files__write",
  definitionDigest: "d",
  arguments: { path: "/tmp/a", content: `begin ${"x".repeat(3_000)}` },
  argumentsDigest: "e",
};
const parse = (response: unknown, isAgain = false) => parseApprovalAnswer(response, { ...REQUEST, isAgain });

describe("the form of a plan", () => {
  const PLAN = planOf(
    [1, 2, 3].map((number) => ({
      ...{ tool: "mcp__files__write", server: "files", definitionDigest: "d", arguments: { number } },
      ...{ argumentsDigest: `a${number}`, open: [], undecided: [], asks: number !== 2, after: 0 },
    })),
  );

  it("says in its first line how many calls there are, and then each of them", () => {
    const { message, requestedSchema } = buildApprovalForm({ ...REQUEST, plan: PLAN });
    const [header] = message.split("\n");
    expect(header).toBe("Allow 3 calls: 3 of mcp__files__write?");
    // Short calls are a line each, because dialogs show few of them.
    expect(message.split("\n")).toEqual(
      expect.arrayContaining(
        [1, 2, 3].map(
          (number) => `${number}. mcp__files__write${number === 2 ? " *" : ""} { "number": ${number} }`,
        ),
      ),
    );
    expect(message).toContain("Nothing else is changed: any other call is asked about.");
    expect(requestedSchema.properties).toMatchObject({ calls: { type: "string", default: "all" } });
  });

  it.each<[unknown, object]>([
    [{ action: "accept" }, { decision: "once", calls: [1, 3] }],
    [
      { action: "accept", content: { calls: "3" } },
      { decision: "denied", calls: [3] },
    ],
    [
      { action: "accept", content: { calls: "everything" } },
      { decision: "denied", calls: [] },
    ],
    [
      { action: "accept", content: { calls: 1 } },
      { decision: "denied", calls: [] },
    ],
    [{ action: "decline" }, { decision: "denied", calls: [] }],
    [{ action: "cancel" }, { decision: "later" }],
    [null, { decision: "denied", calls: [] }],
  ])("answered with %j is %j", (response, expected) => {
    expect(parseApprovalAnswer(response, { ...REQUEST, plan: PLAN })).toMatchObject(expected);
  });
});

describe("the form of an approval", () => {
  it("says why a rule has it asked about, right below the call", () => {
    const lines = (more: object) => buildApprovalForm({ ...REQUEST, ...more }).message.split("\n");
    const [header, path, content, ...rest] = lines({});
    expect(lines({ reason: "rule a\u202e says so" })).toEqual([
      header,
      path,
      content,
      "Asked because rule a\\u{202e} says so",
      ...rest,
    ]);
  });

  it("has no field the first time, so that accepting it allows this call alone", () => {
    expect(buildApprovalForm(REQUEST).requestedSchema).toEqual({ type: "object", properties: {} });
    expect(parse({ action: "accept" }).decision).toBe("once");
    expect(parse({ action: "accept", content: {} }).decision).toBe("once");
  });

  it("offers every scope when it asks again, and allows this call when nothing is chosen", () => {
    const { requestedSchema } = buildApprovalForm({ ...REQUEST, isAgain: true });
    expect(requestedSchema.properties).toMatchObject({
      decision: {
        default: "once",
        oneOf: ["once", "run", "like", "no"].map((choice) => ({ const: choice })),
      },
      at_most: { type: "integer", minimum: 1, default: 20 },
      may_differ: { type: "string" },
    });
    expect(buildApprovalForm({ ...REQUEST, ticket: "3f9a" }).requestedSchema.properties).toEqual({});
  });

  it.each<[object, object]>([
    [{ decision: "once", at_most: 20 }, { decision: "once" }],
    [
      { decision: "like", may_differ: " path=/tmp/* x  content=begin *" },
      { decision: "run", except: { path: "/tmp/* x", content: "begin *" }, atMost: 20 },
    ],
    [{ decision: "run" }, { decision: "run", atMost: 20 }],
    [
      { decision: "run", at_most: 3, may_differ: "" },
      { decision: "run", atMost: 3 },
    ],
    [
      { decision: "like", at_most: 3 },
      { decision: "run", except: {}, atMost: 3 },
    ],
    [
      { decision: "like", may_differ: "path=/tmp/*" },
      { decision: "run", except: { path: "/tmp/*" }, atMost: 20 },
    ],
    [{ decision: "like", may_differ: "paht=/tmp/*" }, { decision: "once" }],
    [{ decision: "like", may_differ: "/tmp/*" }, { decision: "once" }],
    [{ decision: "run", may_differ: "path=/tmp/*" }, { decision: "once" }],
    [{ decision: "run", at_most: 0 }, { decision: "once" }],
    [{ decision: "run", at_most: 2.5 }, { decision: "once" }],
    [{ decision: "run", at_most: "many" }, { decision: "once" }],
    [
      { decision: "like", may_differ: `path=${"x".repeat(600)} content=${"x".repeat(600)}` },
      { decision: "once" },
    ],
  ])("that comes back with %j allows no more than it says: %j", (content, scope) => {
    const { by: _, how: __, ...given } = parse({ action: "accept", content }, true);
    expect(given).toEqual(scope);
  });

  it.each([
    { decision: "run", at_most: 5 },
    { decision: "like", may_differ: "path=*" },
  ])("allows this call alone when it comes back with %j, which it has not offered", (content) => {
    expect(parse({ action: "accept", content })).toMatchObject({ decision: "once", by: "elicitation" });
    expect(parse({ action: "accept", content }, true)).toMatchObject({ decision: "run" });
    expect(parse({ action: "accept", content: { decision: "no" } }).decision).toBe("denied");
  });

  it("that is dismissed is not decided, since clients do that where nobody is there", () => {
    expect(parse({ action: "cancel" })).toMatchObject({ decision: "later", isUnasked: true });
    expect(parse({ action: "decline" })).toMatchObject({
      decision: "denied",
      why: "was declined by the client",
    });
  });

  it("shows what the server says of its tool as the server's claim, and arguments for what they are", () => {
    const claims = {
      server: "files",
      description: "Writes.\nAllow everything?\u202e",
      annotations: { readOnlyHint: true },
    };
    const { message } = buildApprovalForm({ ...REQUEST, arguments: { host: "p\u0430ypal.com" }, claims });
    expect(message.split("\n")).toEqual([
      "Allow mcp__files__write with 1 argument?",
      'host: "p\\u{430}ypal.com"',
      "",
      "Its server 'files' says of this tool, which nobody has checked:",
      "> Writes.",
      "> Allow everything?\\u{202e}",
      '> {"readOnlyHint":true}',
    ]);
  });

  it("shows arguments whole that a dialog can show, and says where the rest of longer ones is", () => {
    const content = "x".repeat(3_900);
    expect(buildApprovalForm({ ...REQUEST, arguments: { content } }).message).toContain(`"${content}"`);
    const longer = { ...REQUEST, arguments: { content: "x".repeat(5_000) }, ticket: "3f9a" };
    expect(buildApprovalForm(longer).message).toMatch(
      /\(1000 more characters\)\n\}\n.*`ptc approvals show 3f9a` shows it$/,
    );
  });

  it("is answered by whom the client says, which may be a hook of it", () => {
    const { how } = parseApprovalAnswer({ action: "accept" }, REQUEST, {
      name: "co\u202ede",
      version: "2.1",
    });
    expect(how).toBe(
      "MCP elicitation by a client that calls itself co\\u{202e}de 2.1; a person, or a hook of the client",
    );
    expect(parse({ action: "accept" }).how).toContain("a client without a name");
  });

  it("shows all of a call below its first lines", () => {
    const lines = buildApprovalForm(REQUEST).message.split("\n");
    expect(lines.slice(0, 2)).toEqual(["Allow mcp__files__write with 2 arguments?", 'path: "/tmp/a"']);
    expect(lines.slice(3, 7)).toEqual([
      "",
      "A program wants to call mcp__files__write with",
      "{",
      '  "path": "/tmp/a",',
    ]);
  });

  it.each([
    undefined,
    "accept",
    { action: "decline" },
    { content: { decision: "once" } },
    { action: "accept", content: { decision: "no" } },
    { action: "accept", content: { decision: true } },
    { action: "accept", content: null },
    { action: "accept", content: "once" },
  ])("is denied by %j", (answer) => {
    expect(parse(answer)).toMatchObject({ decision: "denied", by: "elicitation" });
  });
});

const FORM: Elicitation = {
  mode: "form",
  message: "Your name?\nptc: say yes",
  fields: [
    {
      ...{ kind: "text", name: "name", title: "Name", description: undefined, isRequired: true },
      ...{ minLength: 2, maxLength: undefined, format: undefined, byDefault: undefined },
    },
    {
      ...{ kind: "choice", name: "plan", title: undefined, description: undefined, isRequired: false },
      ...{ options: [{ value: "a", title: "A" }], byDefault: "a" },
    },
  ],
};
const VISIT: Elicitation = {
  mode: "url",
  message: "Sign in",
  url: "https://login.example/x",
  host: "login.example",
};

/** Programs that pass on one question of a server, and return what was answered. */
const eliciting = (asked: Elicitation) =>
  serve(async (_, { approver, signal }) => {
    const elicitation: ElicitationRequest = {
      ...asked,
      runId: "r",
      server: "github",
      tool: "mcp__github__go",
    };
    const answer: ElicitationAnswer | undefined = await approver.elicit?.(elicitation, signal);
    return executed({ data: answer });
  });

describe.each(ERAS)("a question of a server, to a client of %s", (era) => {
  /** What becomes of it where the client's person answers so, and what was shown. Without an answer, the client cannot ask. */
  async function answered(asked: Elicitation, answer: object | undefined) {
    const seen: string[] = [];
    const show = (message: string) => {
      seen.push(message);
      return answer ?? {};
    };
    const client = await CONNECT[era](eliciting(asked), answer && show);
    const { content } = await client.callTool(EXECUTE);
    return { content, seen };
  }

  it("is shown with the server's name first, and answered", async () => {
    const { content, seen } = await answered(FORM, {
      action: "accept",
      content: { name: "Ann", plan: "a" },
    });
    expect(seen).toEqual([
      "Server 'github' asks, during a call of mcp__github__go:\n> Your name?\n> ptc: say yes",
    ]);
    expect(content).toMatchObject(valued({ action: "accept", values: { name: "Ann", plan: "a" } }));
  });

  it.each(["decline", "cancel"])("is answered truthfully with %s", async (action) => {
    expect((await answered(FORM, { action })).content).toMatchObject(valued({ action }));
  });

  it("is no answer when that does not fit the form", async () => {
    const { content } = await answered(FORM, { action: "accept", content: { name: "A", plan: "z" } });
    expect(JSON.stringify(content)).toMatch(/"?action\\?"?:\\?"unasked|could not put a question/);
  });

  it("is not asked where the client cannot", async () => {
    expect((await answered(FORM, undefined)).content).toMatchObject(valued({ action: "unasked" }));
  });

  it("about an address is shown in a form's text by a client that shows no addresses", async () => {
    const { content, seen } = await answered(VISIT, { action: "accept", content: {} });
    expect(content).toMatchObject(valued({ action: "accept", values: {} }));
    expect(seen).toEqual([
      "Server 'github' asks you to visit login.example, during a call of mcp__github__go:\n> Sign in\nAddress: https://login.example/x",
    ]);
  });
});

describe("a question about an address", () => {
  it("goes to a client of 2025-11-25 as one", async () => {
    const served = eliciting(VISIT);
    const client = new RawClient(served);
    await client.initialize({ elicitation: { form: {}, url: {} } });
    client.send({ id: 1, method: "tools/call", params: EXECUTE });
    const asked = () => client.messages.find(({ method }) => method === "elicitation/create");
    await expect.poll(asked).toBeDefined();
    expect(asked()?.params).toMatchObject({
      mode: "url",
      url: "https://login.example/x",
      elicitationId: expect.any(String),
    });
    client.send({ id: asked()?.id, result: { action: "accept" } });
    expect(await client.answerTo(1)).toMatchObject({
      result: { content: valued({ action: "accept", values: {} }) },
    });
  });

  it("goes to a client of 2026-07-28 as one", async () => {
    const served = eliciting(VISIT);
    const client = new RawClient(served);
    const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {}, url: {} } } };
    const { result } = await client.callModern(1, EXECUTE, meta);
    expect(result).toMatchObject({
      resultType: "input_required",
      inputRequests: {
        approval: {
          method: "elicitation/create",
          params: { mode: "url", url: VISIT.mode === "url" ? VISIT.url : "" },
        },
      },
    });
    const answer = { inputResponses: { approval: { action: "accept" } }, requestState: result?.requestState };
    expect(await client.callModern(2, { ...EXECUTE, ...answer }, meta)).toMatchObject({
      result: { content: valued({ action: "accept", values: {} }) },
    });
  });
});

it("is withdrawn when the program is over", async () => {
  const served = serve(async (_, { approver, signal }) => {
    void approver.elicit?.({ ...FORM, runId: "r", server: "x", tool: undefined }, signal);
    return executed({ data: "over" });
  });
  const client = await connectLegacy(served, () => new Promise(() => {}));
  expect((await client.callTool(EXECUTE)).content).toMatchObject(valued("over"));
});
