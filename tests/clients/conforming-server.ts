/**
 * The server that the public conformance suite expects: its tools, resources and prompts under the suite's names, in both eras of the
 * protocol, over HTTP. Each of them does the least that its scenario asks for.
 */
import { createHash, createHmac, randomUUID } from "node:crypto";
import type { RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import {
  createMcpHandler,
  type EventStore,
  inputRequired,
  ProtocolError,
  Server,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import * as z from "zod/mini";
import type { Era } from "../../server/mcp/mcp-server.ts";

const INVALID_PARAMS = -32602;
/** A red dot. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const IMAGE = { type: "image", data: PNG, mimeType: "image/png" };
const resource = (uri: string, mimeType: string, content: string) => ({
  ...{ type: "resource", resource: { uri, mimeType, text: content } },
});
const said = (words: string) => ({ type: "text", text: words });

interface Call {
  args: Record<string, unknown>;
  context: ServerContext;
  era: Era;
}
type Answer = object | Promise<object>;

const textOnly = (words: string) => ({ content: [said(words)] });

/** Asks the client in the middle of a call of 2025-11-25, and answers with what it said. */
async function ask({ context }: Call, method: string, params: object) {
  const answer = await context.mcpReq.send({ method, params } as never, { timeout: 60_000 });
  return textOnly(JSON.stringify(answer));
}

const form = (properties: object, required: string[] = []) => ({
  ...{ message: "What do you say?", requestedSchema: { type: "object", properties, required } },
});

const DEFAULTS = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};
const titled = [1, 2, 3].map((n) => ({ const: `value${n}`, title: `Choice ${n}` }));
const ENUMS = {
  untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
  titledSingle: { type: "string", oneOf: titled },
  legacyEnum: { type: "string", enum: ["opt1", "opt2"], enumNames: ["Option One", "Option Two"] },
  untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2"] } },
  titledMulti: { type: "array", items: { anyOf: titled } },
};

/** The questions that tools of 2026-07-28 ask in a result. */
const QUESTIONS = {
  name: inputRequired.elicit(form({ name: { type: "string" } }, ["name"]) as never),
  ok: inputRequired.elicit(form({ ok: { type: "boolean" } }, ["ok"]) as never),
  model: inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: "What is the capital of France?" } }],
    maxTokens: 100,
  }),
  roots: inputRequired.listRoots(),
  context: inputRequired.elicit(form({ context: { type: "string" } }) as never),
};

/** The files of two skills. */
const SKILL_FILES: Record<string, string> = {
  "skill://git-workflow/SKILL.md":
    "---\nname: git-workflow\ndescription: for the suite\n---\nCommit often.\n",
  "skill://acme/refunds/SKILL.md": "---\nname: refunds\ndescription: for the suite\n---\nWrite a mail.\n",
  "skill://acme/refunds/examples/mail.md": "Dear customer, € 5 are on their way.\n",
};
const SKILLS = ["skill://git-workflow", "skill://acme/refunds"].map((root) => ({
  uri: `${root}/SKILL.md`,
  frontmatter: { name: root.split("/").at(-1), description: "for the suite" },
  resources: Object.entries(SKILL_FILES)
    .filter(([uri]) => uri.startsWith(`${root}/`))
    .map(([uri, file]) => ({
      uri,
      digest: `sha256:${createHash("sha256").update(file).digest("hex")}`,
      size: Buffer.byteLength(file),
    })),
}));

const SECRET = randomUUID();
const sealOf = (state: string) => createHmac("sha256", SECRET).update(state).digest("hex");

/** Asks so many rounds of questions, each with a state that only this server can have made. */
function rounds(...asked: Record<string, (typeof QUESTIONS)[keyof typeof QUESTIONS]>[]) {
  return ({ context: { mcpReq } }: Call) => {
    const state: unknown = mcpReq.requestState();
    const [round = "0", seal] = typeof state === "string" ? state.split(".") : [];
    if (state !== undefined && seal !== sealOf(round)) throw new ProtocolError(INVALID_PARAMS, "tampered");
    const before = asked[Number(round) - 1];
    const given = mcpReq.inputResponses ?? {};
    const isAnswered = before !== undefined && Object.keys(before).every((key) => given[key] !== undefined);
    const next = isAnswered ? Number(round) : 0;
    const inputRequests = asked[next];
    if (inputRequests === undefined) return { content: [said(`state-ok: ${JSON.stringify(given)}`)] };
    return inputRequired({ inputRequests, requestState: `${next + 1}.${sealOf(String(next + 1))}` });
  };
}

/** Asks one round of questions without a state. */
function once(
  key: string,
  question: (typeof QUESTIONS)[keyof typeof QUESTIONS],
  isFit = (_: unknown) => true,
) {
  return ({ context: { mcpReq } }: Call) => {
    const response: unknown = mcpReq.inputResponses?.[key];
    if (response !== undefined && isFit(response)) return textOnly(JSON.stringify(response));
    return inputRequired({ inputRequests: { [key]: question } });
  };
}

function hasName(response: unknown): boolean {
  const { content } = response as { content?: { name?: unknown } };
  return typeof content?.name === "string";
}

async function progress({ context: { mcpReq } }: Call) {
  const progressToken = mcpReq._meta?.progressToken;
  for (const done of [0, 50, 100]) {
    if (progressToken !== undefined)
      await mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress: done, total: 100 },
      });
    await delay(50);
  }
  return textOnly("done");
}

async function logging({ context: { mcpReq } }: Call) {
  for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
    await mcpReq.notify({ method: "notifications/message", params: { level: "info", data } });
    await delay(50);
  }
  return textOnly("logged");
}

async function reconnection({ context }: Call) {
  context.http?.closeSSE?.();
  await delay(100);
  return textOnly("answered after the stream was closed");
}

/** The tools of both eras. */
const TOOLS: Record<string, (call: Call) => Answer> = {
  test_simple_text: () => textOnly("This is a simple text response for testing."),
  test_image_content: () => ({ content: [IMAGE] }),
  test_audio_content: () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }),
  test_embedded_resource: () => ({
    content: [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
  }),
  test_multiple_content_types: () => ({
    content: [
      said("Multiple content types test:"),
      IMAGE,
      resource("test://mixed", "application/json", "{}"),
    ],
  }),
  test_tool_with_progress: progress,
  test_error_handling: () => ({
    ...textOnly("This tool intentionally returns an error for testing"),
    isError: true,
  }),
  json_schema_2020_12_tool: () => textOnly("called"),
};

/** The tools that ask and say what only 2025-11-25 has. */
const OF_SESSIONS: typeof TOOLS = {
  test_tool_with_logging: logging,
  test_reconnection: reconnection,
  test_sampling: (call) =>
    ask(call, "sampling/createMessage", {
      messages: [{ role: "user", content: said(String(call.args.prompt)) }],
      maxTokens: 100,
    }),
  test_elicitation: (call) =>
    ask(call, "elicitation/create", form({ response: { type: "string" } }, ["response"])),
  test_elicitation_sep1034_defaults: (call) => ask(call, "elicitation/create", form(DEFAULTS)),
  test_elicitation_sep1330_enums: (call) => ask(call, "elicitation/create", form(ENUMS)),
};

/** The tools that ask in a result, as 2026-07-28 has it. */
const OF_REQUESTS: typeof TOOLS = {
  test_missing_capability: once("model", QUESTIONS.model),
  test_input_required_result_elicitation: once("user_name", QUESTIONS.name, hasName),
  test_input_required_result_sampling: once("capital_question", QUESTIONS.model),
  test_input_required_result_list_roots: once("client_roots", QUESTIONS.roots),
  test_input_required_result_request_state: rounds({ confirm: QUESTIONS.ok }),
  test_input_required_result_multiple_inputs: rounds({
    ...{ user_name: QUESTIONS.name, greeting: QUESTIONS.model, client_roots: QUESTIONS.roots },
  }),
  test_input_required_result_multi_round: rounds({ step1: QUESTIONS.name }, { step2: QUESTIONS.ok }),
  test_input_required_result_tampered_state: rounds({ confirm: QUESTIONS.ok }),
  test_input_required_result_capabilities: ({ context: { mcpReq } }) => {
    const capabilities = (mcpReq.envelope as Record<string, object> | undefined)?.[
      "io.modelcontextprotocol/clientCapabilities"
    ];
    const asked = {
      ...(capabilities && "elicitation" in capabilities ? { name: QUESTIONS.name } : {}),
      ...(capabilities && "sampling" in capabilities ? { model: QUESTIONS.model } : {}),
    };
    if (mcpReq.inputResponses !== undefined || Object.keys(asked).length === 0) return textOnly("done");
    return inputRequired({ inputRequests: asked });
  },
  test_streaming_elicitation: once("user_name", QUESTIONS.name),
  test_logging_tool: () => textOnly("Logging evaluated"),
};

const SCHEMAS: Record<string, object> = {
  test_sampling: { type: "object", properties: { prompt: { type: "string" } } },
  test_elicitation: { type: "object", properties: { message: { type: "string" } } },
  json_schema_2020_12_tool: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: {
        $anchor: "addressDef",
        type: "object",
        properties: { street: { type: "string" }, city: { type: "string" } },
      },
    },
    properties: {
      name: { type: "string" },
      address: { $ref: "#/$defs/address" },
      contactMethod: { type: "string", enum: ["phone", "email"] },
      phone: { type: "string" },
      email: { type: "string" },
    },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    then: { required: ["phone"] },
    else: { required: ["email"] },
    additionalProperties: false,
  },
};

const RESOURCES: Record<string, object> = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: PNG },
  "test://watched-resource": { mimeType: "text/plain", text: "Watched resource content" },
};

interface Prompt {
  args: string[];
  messages: (args: Record<string, string>) => object[];
}
const PROMPTS: Record<string, Prompt> = {
  test_simple_prompt: { args: [], messages: () => [said("This is a simple prompt for testing.")] },
  test_prompt_with_arguments: {
    args: ["arg1", "arg2"],
    messages: ({ arg1, arg2 }) => [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  },
  test_prompt_with_embedded_resource: {
    args: ["resourceUri"],
    messages: ({ resourceUri = "" }) => [
      resource(resourceUri, "text/plain", "Embedded resource content for testing."),
      said("Please process the embedded resource above."),
    ],
  },
  test_prompt_with_image: { args: [], messages: () => [IMAGE, said("Please analyze the image above.")] },
};
const ASKING_PROMPT = "test_input_required_result_prompt";

function build(era: Era): Server {
  const isLegacy = era === "legacy";
  const tools = { ...TOOLS, ...(isLegacy ? OF_SESSIONS : OF_REQUESTS) };
  const server = new Server(
    { name: "conforming", version: "1.0.0" },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true, ...(isLegacy ? { subscribe: true } : {}) },
        prompts: { listChanged: true },
        completions: {},
        extensions: { "io.modelcontextprotocol/skills": {} },
        ...(isLegacy ? { logging: {} } : {}),
      },
    },
  );
  server.setRequestHandler("tools/list", () => ({
    tools: Object.keys(tools).map((name) => ({
      ...{ name, description: `Does what the suite wants of ${name}`, annotations: { readOnlyHint: true } },
      inputSchema: (SCHEMAS[name] ?? { type: "object" }) as { type: "object" },
    })),
  }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const tool = tools[params.name];
    if (tool === undefined) throw new ProtocolError(INVALID_PARAMS, "no such tool");
    return (await tool({ args: params.arguments ?? {}, context, era })) as never;
  });
  server.setRequestHandler("resources/list", () => ({
    resources: Object.keys(RESOURCES).map((uri) => ({
      uri,
      name: uri.slice(7),
      description: "for the suite",
    })),
  }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template" }],
  }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => {
    const [, id] = /^test:\/\/template\/(.+)\/data$/.exec(uri) ?? [];
    const made = id === undefined ? undefined : { mimeType: "application/json", text: `{"id":"${id}"}` };
    const file = SKILL_FILES[uri];
    const ofSkill = file === undefined ? undefined : { mimeType: "text/markdown", text: file };
    const found = RESOURCES[uri] ?? ofSkill ?? made;
    if (found === undefined) throw new ProtocolError(INVALID_PARAMS, "no such resource", { uri });
    return { contents: [{ uri, ...found }] } as never;
  });
  server.setRequestHandler("prompts/list", () => ({
    prompts: [...Object.keys(PROMPTS), ...(isLegacy ? [] : [ASKING_PROMPT])].map((name) => ({
      ...{ name, description: "for the suite" },
      arguments: PROMPTS[name]?.args.map((arg) => ({ name: arg, required: true })) ?? [],
    })),
  }));
  server.setRequestHandler("prompts/get", ({ params: { name, arguments: args = {} } }, { mcpReq }) => {
    const prompt = PROMPTS[name];
    const answered = mcpReq.inputResponses?.user_context;
    if (name === ASKING_PROMPT && answered === undefined)
      return inputRequired({ inputRequests: { user_context: QUESTIONS.context } });
    const contents = prompt?.messages(args) ?? [said(JSON.stringify(answered))];
    return { messages: contents.map((content) => ({ role: "user", content })) } as never;
  });
  const fresh = { ttlMs: 0, cacheScope: "private" };
  server.setRequestHandler("skills/list", { params: z.unknown() }, () => ({ ...fresh, skills: SKILLS }));
  server.setRequestHandler("skills/get", { params: z.looseObject({ uri: z.string() }) }, ({ uri }) => {
    const skill = SKILLS.find((each) => each.uri === uri);
    if (skill === undefined) throw new ProtocolError(INVALID_PARAMS, "no such skill");
    return { ...fresh, skill };
  });
  server.setRequestHandler("completion/complete", () => ({ completion: { values: ["paris"] } }));
  if (isLegacy) {
    server.setRequestHandler("resources/subscribe", () => ({}));
    server.setRequestHandler("resources/unsubscribe", () => ({}));
    server.setRequestHandler("logging/setLevel", () => ({}));
  }
  return server;
}

/** What a session has sent, so that a client that was cut off has it again. */
function rememberEvents(): EventStore {
  const events: { stream: string; message: Parameters<EventStore["storeEvent"]>[1] }[] = [];
  return {
    storeEvent: async (stream, message) => String(events.push({ stream, message })),
    getStreamIdForEventId: async (id) => events[Number(id) - 1]?.stream,
    replayEventsAfter: async (id, { send }) => {
      const { stream = "" } = events[Number(id) - 1] ?? {};
      for (const [index, event] of events.entries())
        if (index >= Number(id) && event.stream === stream) await send(String(index + 1), event.message);
      return stream;
    },
  };
}

/** Answers requests of one era. */
export function serveConforming(era: Era): RequestListener {
  const modern = createMcpHandler(() => build("modern"), { legacy: "reject" });
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const legacy = async (request: Request) => {
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? undefined : sessions.get(id);
    if (id !== null && known === undefined) return new Response(null, { status: 404 });
    if (known !== undefined) return known.handleRequest(request);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: rememberEvents(),
      retryInterval: 500,
      onsessioninitialized: (name) => void sessions.set(name, transport),
      onsessionclosed: (name) => void sessions.delete(name),
    });
    await build("legacy").connect(transport);
    return transport.handleRequest(request);
  };
  return async (incoming, outgoing) => {
    const { host = "", origin } = incoming.headers;
    const isLocal = (name: string) => /^(?:127\.0\.0\.1|localhost)(?::\d+)?$/.test(name);
    if (!isLocal(host) || (origin !== undefined && !isLocal(origin.replace(/^https?:\/\//, ""))))
      return void outgoing.writeHead(403).end();
    const body = await text(incoming);
    const url = `http://${host}${incoming.url}`;
    const headers = incoming.headers as Record<string, string>;
    const request = new Request(url, {
      ...{ method: incoming.method ?? "GET", headers },
      ...(body === "" ? {} : { body }),
    });
    const answer = await (era === "legacy" ? legacy(request) : modern.fetch(request));
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    const reader = answer.body?.getReader();
    outgoing.on("close", () => void reader?.cancel().catch(() => {}));
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read())
      outgoing.write(read.value);
    outgoing.end();
  };
}
