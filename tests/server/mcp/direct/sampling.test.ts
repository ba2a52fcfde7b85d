import { Client as ModernClient } from "@modelcontextprotocol/client";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { fixtureServer } from "../../../cli/ptc-process.ts";
import { ERAS, type Era, StreamTransport } from "../clients.ts";
import { type Served, serveProject } from "./serve-project.ts";

const SECRET = "hunter2@vault.example";
const server = (sampling?: string) => ({
  ...fixtureServer("sage", "samples.mjs"),
  env: { PASSWORD: SECRET },
  ...(sampling === undefined ? {} : { sampling }),
});
const PARAMS = {
  messages: [{ role: "user", content: { type: "text", text: `What is ${SECRET}?` } }],
  ...{ systemPrompt: "Be brief", maxTokens: 100_000, includeContext: "allServers", temperature: 0.5 },
  tools: [{ name: "leak", inputSchema: { type: "object" } }],
};
const SAMPLED = {
  role: "assistant",
  model: "m-1",
  content: { type: "text", text: "42" },
  stopReason: "endTurn",
};

interface Answered {
  content: { text: string }[];
  isError?: boolean;
}

interface Person {
  decides?: string;
  answers?: object | (() => never);
  hasModel?: boolean;
}

/** A client with a model and a person, and what both were asked. */
async function clientOf(
  served: Served,
  era: Era,
  { decides = "accept", answers = SAMPLED, hasModel = true }: Person,
) {
  const questions: string[] = [];
  const sampled: object[] = [];
  const person = (message: string) => {
    questions.push(message);
    return { action: decides, content: {} };
  };
  const model = (params: object) => {
    sampled.push(params);
    return typeof answers === "function" ? answers() : answers;
  };
  const about = { name: "test", version: "1" };
  const sampling = hasModel ? { sampling: {} } : {};
  const transport = new StreamTransport((await served.serve()) as never) as never;
  const callsOf = (client: { callTool(call: object): Promise<Answered> }) => ({
    call: (args: object) => client.callTool({ name: "mcp__sage__think", arguments: args }),
    execute: () => client.callTool({ name: "execute_program", arguments: { code: "null;" } }),
  });
  if (era === "2025-11-25") {
    const client = new LegacyClient(about, { capabilities: { elicitation: {}, ...sampling } });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => person(params.message) as never);
    if (hasModel)
      client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => model(params) as never);
    await client.connect(transport);
    return { ...{ questions, sampled }, ...callsOf(client as never) };
  }
  const client = new ModernClient(about, {
    capabilities: { elicitation: { form: {} }, ...sampling },
    versionNegotiation: { mode: "auto" },
  });
  client.setRequestHandler("elicitation/create", async ({ params }) => person(params.message) as never);
  if (hasModel)
    client.setRequestHandler("sampling/createMessage", async ({ params }) => model(params) as never);
  await client.connect(transport);
  return { ...{ questions, sampled }, ...callsOf(client as never) };
}

const serveSage = (sampling?: string, answer?: Parameters<typeof serveProject>[2]) =>
  serveProject([], { servers: [server(sampling)], discovery: "direct" }, answer);

describe("a server that asks for an answer of the client's model", () => {
  it.each(ERAS)("gets it from a client of %s, within bounds, after a person has allowed it", async (era) => {
    const served = await serveSage("allow");
    const { questions, sampled, call } = await clientOf(served, era, {});
    const { content, isError } = await call({ params: PARAMS });
    expect(isError).not.toBe(true);
    expect(JSON.parse(content[0]?.text ?? "")).toEqual([SAMPLED]);
    expect(questions).toHaveLength(1);
    expect(questions[0]).toMatch(
      /^Server 'sage' asks, during a call of mcp__sage__think:\n> It wants an answer of your model, of up to 4096 tokens/,
    );
    expect(questions[0]).toContain("> user: What is [REDACTED]?");
    expect(sampled).toHaveLength(1);
    expect(sampled[0]).toMatchObject({
      messages: [{ role: "user", content: { type: "text", text: "What is [REDACTED]?" } }],
      ...{ systemPrompt: "Be brief", maxTokens: 4_096, temperature: 0.5 },
    });
    for (const member of ["includeContext", "tools"]) expect(sampled[0]).not.toHaveProperty(member);
    expect(served.auditLines()).toContainEqual(
      expect.objectContaining({ event: "decision", decision: "allow", rule: "servers[].sampling" }),
    );
  });

  it.each([
    ["where its server is not named for it", undefined, {}, 0, "asked|asks"],
    ["where it is off", "off", {}, 0, "asked|asks"],
    ["where the person refuses", "allow", { decides: "decline" }, 1, "the user did not allow it"],
    ["where the client has no model", "allow", { hasModel: false }, 1, "the client offers none"],
    ["where the model's answer is none", "allow", { answers: { ...SAMPLED, content: [] } }, 1, "not valid"],
  ])("gets none %s", async (_, sampling, person: Person, asked, why) => {
    const served = await serveSage(sampling);
    const { questions, sampled, call } = await clientOf(served, "2026-07-28", person);
    const { content, isError } = await call({ params: PARAMS });
    const text = content.map((each) => each.text).join("\n");
    if (sampling === "allow") {
      expect(isError).toBe(true);
      expect(text).toMatch(new RegExp(why));
      expect(served.auditLines()).toContainEqual(
        expect.objectContaining({ event: "decision", decision: "deny", rule: "servers[].sampling" }),
      );
    } else expect(text).toContain("error");
    expect(questions).toHaveLength(asked);
    expect(sampled).toHaveLength(person.answers === undefined ? 0 : 1);
  });

  it("gets no personal data that is redacted", async () => {
    const served = await serveProject([], {
      servers: [server("allow")],
      discovery: "direct",
      pii: ["email"],
    });
    const { sampled, call } = await clientOf(served, "2026-07-28", {});
    const content = { type: "text", text: "Write to ada@example.com" };
    await call({ params: { messages: [{ role: "user", content }], maxTokens: 10 } });
    expect(sampled).toHaveLength(1);
    expect(JSON.stringify(sampled)).not.toContain("ada@example.com");
  });

  it("gets none from a client that refuses by an error, and its program goes on", async () => {
    const served = await serveSage("allow", async ({ call }) => {
      const reply = await call("mcp__sage__think", { params: PARAMS });
      return reply.ok ? "thought" : `went on: ${reply.error.message}`;
    });
    const refuses = () => {
      throw new McpError(-1, "User rejected sampling request");
    };
    const { sampled, execute } = await clientOf(served, "2025-11-25", { answers: refuses });
    const text = (await execute()).content.map((each) => each.text).join("\n");
    expect(text).toContain("went on: ");
    expect(text).toContain("the client gave none: ");
    expect(text).toContain("User rejected sampling request");
    expect(sampled).toHaveLength(1);
    expect(served.auditLines()).toContainEqual(
      expect.objectContaining({ event: "decision", decision: "deny", rule: "servers[].sampling" }),
    );
  });

  it("gets so many in one call, and no more", async () => {
    const served = await serveSage("allow");
    const { sampled, call } = await clientOf(served, "2025-11-25", {});
    const { content, isError } = await call({ params: PARAMS, times: 6 });
    expect(isError).toBe(true);
    expect(content.map((each) => each.text).join("\n")).toContain("a call may ask for 5");
    expect(sampled).toHaveLength(5);
  });

  it.each([
    ["no messages", { messages: [], maxTokens: 1 }],
    [
      "a message of nobody",
      { messages: [{ role: "system", content: { type: "text", text: "x" } }], maxTokens: 1 },
    ],
    [
      "a result of a tool",
      { messages: [{ role: "user", content: { type: "tool_result", toolUseId: "1", content: [] } }] },
    ],
    ["too much", { messages: [{ role: "user", content: { type: "text", text: "x".repeat(300_000) } }] }],
  ])("is told what is wrong with a request with %s, and nobody is asked", async (_, params) => {
    const served = await serveSage("allow");
    const { questions, sampled, call } = await clientOf(served, "2025-11-25", {});
    const { content } = await call({ params });
    expect(content[0]?.text).toMatch(/asked for an answer of a model, and|error/);
    expect([questions, sampled]).toEqual([[], []]);
    expect(served.auditLines()).toContainEqual(
      expect.objectContaining({ event: "decision", decision: "deny", rule: "servers[].sampling" }),
    );
  });
});
