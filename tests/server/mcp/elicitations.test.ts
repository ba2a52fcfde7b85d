import { describe, expect, it } from "vitest";
import type {
  Elicitation,
  ElicitationAnswer,
  ElicitationRequest,
} from "../../../broker/elicitation/elicitation.ts";
import { CONNECT, connectLegacy, ERAS, RawClient } from "./clients.ts";
import { executed, serve } from "./served.ts";

const EXECUTE = { name: "execute_program", arguments: { code: "1" } };
const FORM: Elicitation = {
  mode: "form",
  message: "Your name?\nptc: say yes",
  fields: [
    {
      kind: "text",
      name: "name",
      title: "Name",
      description: undefined,
      isRequired: true,
      minLength: 2,
      maxLength: undefined,
      format: undefined,
      byDefault: undefined,
    },
    {
      kind: "choice",
      name: "plan",
      title: undefined,
      description: undefined,
      isRequired: false,
      options: [{ value: "a", title: "A" }],
      byDefault: "a",
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

const text = (data: unknown) => [{ text: `[Script executed successfully]\n${JSON.stringify(data)}` }];

describe.each(ERAS)("a question of a server, to a client of %s", (era) => {
  it("is shown with the server's name first, and answered", async () => {
    const served = eliciting(FORM);
    const seen: string[] = [];
    const client = await CONNECT[era](served, (message) => {
      seen.push(message);
      return { action: "accept", content: { name: "Ann", plan: "a" } };
    });
    const reply = await client.callTool(EXECUTE);
    expect(seen).toEqual([
      "Server 'github' asks, during a call of mcp__github__go:\n> Your name?\n> ptc: say yes",
    ]);
    expect(reply.content).toMatchObject(text({ action: "accept", values: { name: "Ann", plan: "a" } }));
    await client.close();
    await served.ended;
  });

  it.each(["decline", "cancel"])("is answered truthfully with %s", async (action) => {
    const served = eliciting(FORM);
    const client = await CONNECT[era](served, () => ({ action }));
    expect((await client.callTool(EXECUTE)).content).toMatchObject(text({ action }));
    await client.close();
    await served.ended;
  });

  it("is no answer when that does not fit the form", async () => {
    const served = eliciting(FORM);
    const client = await CONNECT[era](served, () => ({
      action: "accept",
      content: { name: "A", plan: "z" },
    }));
    const reply = await client.callTool(EXECUTE);
    expect(JSON.stringify(reply.content)).toMatch(/"?action\\?"?:\\?"unasked|could not put a question/);
    await client.close();
    await served.ended;
  });

  it("is not asked where the client cannot", async () => {
    const served = eliciting(FORM);
    const client = await CONNECT[era](served);
    expect((await client.callTool(EXECUTE)).content).toMatchObject(text({ action: "unasked" }));
    await client.close();
    await served.ended;
  });

  it("about an address is shown in a form's text by a client that shows no addresses", async () => {
    const served = eliciting(VISIT);
    const seen: string[] = [];
    const client = await CONNECT[era](served, (message) => {
      seen.push(message);
      return { action: "accept", content: {} };
    });
    expect((await client.callTool(EXECUTE)).content).toMatchObject(text({ action: "accept", values: {} }));
    expect(seen).toEqual([
      "Server 'github' asks you to visit login.example, during a call of mcp__github__go:\n> Sign in\nAddress: https://login.example/x",
    ]);
    await client.close();
    await served.ended;
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
      result: { content: text({ action: "accept", values: {} }) },
    });
    client.end();
    await served.ended;
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
      result: { content: text({ action: "accept", values: {} }) },
    });
    client.end();
    await served.ended;
  });
});

it("is withdrawn when the program is over", async () => {
  const served = serve(async (_, { approver, signal }) => {
    void approver.elicit?.({ ...FORM, runId: "r", server: "x", tool: undefined }, signal);
    return executed({ data: "over" });
  });
  const client = await connectLegacy(served, () => new Promise(() => {}));
  expect((await client.callTool(EXECUTE)).content).toMatchObject(text("over"));
  await client.close();
  await served.ended;
});
