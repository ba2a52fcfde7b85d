import { createRequire } from "node:module";
import { describe, expect, it, vi } from "vitest";
import { callMethod, withMethods } from "../../../upstream/mcp/server-methods.ts";
import type { UpstreamConnection } from "../../../upstream/upstream.ts";
import { generateModule } from "../../codegen/list-tools.ts";
import { eventually } from "../../eventually.ts";
import { connect, fixture, jsonOf, toolCall, upstreamErrorOf } from "../upstream-fixtures.ts";

const EVERYTHING = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);

/** Calls what a server lists under a name, as the pool does: with its definition. */
async function callListed(connection: UpstreamConnection, name: string, args: unknown = {}) {
  const tools = (await connection.list()).tools as { name: string }[];
  const definition = tools.find((tool) => tool.name === name);
  return connection.callTool(toolCall(name, args, { definition }));
}

describe("resources and prompts of a real server", () => {
  it("are listed beside its tools, and called like them", async () => {
    const connection = await connect(fixture("", { args: [EVERYTHING] }));
    expect(await callListed(connection, "resources/list")).toMatchObject({
      structuredContent: {
        resources: expect.arrayContaining([
          expect.objectContaining({ uri: "demo://resource/static/document/features.md" }),
        ]),
        resourceTemplates: expect.arrayContaining([
          expect.objectContaining({ uriTemplate: "demo://resource/dynamic/blob/{resourceId}" }),
        ]),
      },
    });
    const uri = "demo://resource/dynamic/blob/1";
    expect(await callListed(connection, "resources/read", { uri })).toEqual({
      content: [],
      structuredContent: { contents: [{ uri, mimeType: "text/plain", blob: expect.any(String) }] },
    });
    const args = { name: "args-prompt", arguments: { city: "Rome" } };
    expect(await callListed(connection, "prompts/get", args)).toMatchObject({
      structuredContent: { messages: [{ role: "user", content: { text: "What's weather in Rome?" } }] },
    });
    expect(await callListed(connection, "prompts/list")).toMatchObject({
      structuredContent: {
        prompts: expect.arrayContaining([expect.objectContaining({ name: "args-prompt" })]),
      },
    });
    const unknown = callListed(connection, "resources/read", { uri: "demo://nothing" });
    expect(await upstreamErrorOf(unknown)).toMatchObject({ code: "remote_error" });
  });
});

it("what resources and prompts take and surely give is as MCP has it", async () => {
  const connection = await connect(fixture("", { args: [EVERYTHING] }));
  const listed = (await connection.list()).tools as {
    name: string;
    inputSchema: { required?: string[] };
    outputSchema?: { required: string[]; properties: object };
  }[];
  const shapes = listed
    .filter(({ name }) => name.includes("/"))
    .map(({ name, inputSchema, outputSchema }) => [name, inputSchema.required ?? [], outputSchema?.required]);
  expect(Object.fromEntries(shapes.map(([name, ...shape]) => [name, shape]))).toEqual({
    "resources/list": [[], ["resources", "resourceTemplates"]],
    "resources/read": [["uri"], ["contents"]],
    "prompts/get": [["name"], ["messages"]],
    "prompts/list": [[], ["prompts"]],
  });
});

it("what resources and prompts take and give is what programs are told", async () => {
  const definitions = withMethods([], new Set(["resources", "prompts"] as const));
  expect(definitions).toMatchObject(
    [
      ["resources/list", "List resources"],
      ["resources/read", "Read a resource"],
      ["prompts/get", "Get a prompt"],
      ["prompts/list", "List prompts"],
    ].map(([name, title]) => ({ name, method: name, title, annotations: { readOnlyHint: true } })),
  );
  const { text } = await generateModule(definitions, "hub", "hub");
  const told = text.slice(text.indexOf("export interface"), text.indexOf("export const resources ="));
  expect(told.trim()).toBe(TOLD.trim());
});

const TOLD = `
export interface PromptsGetInput {
  name: string;
  arguments?: { [k: string]: string };
}

export interface PromptsGetOutput {
  description?: string;
  messages: {
    role: "user" | "assistant";
    content: any;
  }[];
}

/** Gets the messages of a prompt of this server. In a program also \`prompts.get(name, args)\`. */
export const promptsGet = tool<PromptsGetInput, PromptsGetOutput>("mcp__hub__prompts/get");

export interface PromptsListInput { [k: string]: never }

export interface PromptsListOutput {
  prompts: {
    name: string;
    title?: string;
    description?: string;
    arguments?: {
      name: string;
      description?: string;
      required?: boolean;
    }[];
  }[];
}

/** Lists the prompts of this server and their arguments. In a program also \`prompts.list()\`. */
export const promptsList = tool<PromptsListInput, PromptsListOutput>("mcp__hub__prompts/list");

export interface ResourcesListInput { [k: string]: never }

export interface ResourcesListOutput {
  resources: {
    uri: string;
    name: string;
    title?: string;
    description?: string;
    mimeType?: string;
    size?: number;
  }[];
  resourceTemplates: {
    uriTemplate: string;
    name: string;
    title?: string;
    description?: string;
    mimeType?: string;
  }[];
}

/** Lists the resources of this server, and the templates (RFC 6570) of the URIs of those that it does not list. In a program also \`resources.list()\`. */
export const resourcesList = tool<ResourcesListInput, ResourcesListOutput>("mcp__hub__resources/list");

export interface ResourcesReadInput {
  uri: string;
}

export interface ResourcesReadOutput {
  contents: {
    uri: string;
    mimeType?: string;
    text?: string;
    blob?: string;
  }[];
}

/** Reads a resource of this server: each of its contents is \`text\`, or a \`blob\` in base64, which \`bytesOf\` decodes. In a program also \`resources.read(uri)\`. */
export const resourcesRead = tool<ResourcesReadInput, ResourcesReadOutput>("mcp__hub__resources/read");
`;

describe("a list on several pages", () => {
  const next: Record<string, string | undefined> = { "": "2", "2": "3", "3": undefined };

  it.each([
    ["prompts/list", "prompts/list", "prompts"],
    ["resources/list", "resources/list", "resources"],
    ["resources/list", "resources/templates/list", "resourceTemplates"],
  ] as const)("is asked for by %s with the cursor of the page before: %s", async (called, method, member) => {
    const asked: unknown[] = [];
    const result = await callMethod(called, toolCall(called), async (sent, params) => {
      if (sent !== method) return { resources: [], resourceTemplates: [] };
      asked.push(params);
      const { cursor = "" } = params as { cursor?: string };
      return { [member]: [{ name: `after ${cursor}` }], nextCursor: next[cursor] };
    });
    expect(asked).toEqual([{}, { cursor: "2" }, { cursor: "3" }]);
    expect(result).toMatchObject({
      structuredContent: { [member]: [{ name: "after " }, { name: "after 2" }, { name: "after 3" }] },
    });
  });
});

describe.each(["legacy", "modern"])("the methods of a %s server", (era) => {
  const start = (tools = "0") =>
    connect(fixture("resources.mjs", { args: [...fixture("resources.mjs").args, era, tools] }));

  it("are followed to the last page of a list, and not further than that it may end", async () => {
    const connection = await start();
    expect(await callListed(connection, "resources/list")).toEqual({
      content: [],
      structuredContent: {
        resources: [
          { uri: "mem://a", name: "a" },
          { uri: "mem://b", name: "b" },
        ],
        resourceTemplates: [],
      },
    });
    expect(await upstreamErrorOf(callListed(connection, "prompts/list"))).toMatchObject({
      code: "protocol_error",
      message: "server 'x' sent the same cursor twice in prompts/list, which would never end",
    });
  });

  it("answer what the method promises, and nothing else", async () => {
    const connection = await start();
    expect(await callListed(connection, "resources/read", { uri: "mem://a" })).toEqual({
      content: [],
      structuredContent: { contents: [{ uri: "mem://a", blob: "bWVtOi8vYQ==" }] },
    });
    const odd = callListed(connection, "resources/read", { uri: "mem://odd" });
    expect(await upstreamErrorOf(odd)).toMatchObject({
      code: "protocol_error",
      message: "server 'x' answered resources/read with something that is no answer to it",
    });
  });

  it("leave its name to a tool that reads alike, and no tool passes for a method", async () => {
    const connection = await start("2");
    const listed = (await connection.list()).tools as { name: string; method?: string }[];
    expect(listed.map(({ name, method }) => [name, method])).toEqual([
      ["resources_read", undefined],
      ["prompts/get", undefined],
      ["resources/list", "resources/list"],
      ["prompts/list", "prompts/list"],
    ]);
    expect(jsonOf(await callListed(connection, "prompts/get"))).toBe("tool prompts/get");
  });
});

it("a list holds no longer than any of its pages, in the newer era", async () => {
  const args = [...fixture("resources.mjs").args, "modern", "2"];
  const connection = await connect(fixture("resources.mjs", { args }));
  expect(await connection.list()).toMatchObject({ ttlMs: 70_000 });
});

it("a prompt may ask the person something, as a call may", async () => {
  const connection = await connect(
    fixture("resources.mjs", { args: [...fixture("resources.mjs").args, "modern"] }),
  );
  const tools = (await connection.list()).tools as { name: string }[];
  const definition = tools.find(({ name }) => name === "prompts/get");
  const ask = async () =>
    ({ kind: "answered", result: { action: "accept", content: { tone: "dry" } } }) as const;
  const got = await connection.callTool(toolCall("prompts/get", { name: "p" }, { ask, definition }));
  expect(JSON.stringify(got)).toContain("dry");
});

describe.each(["legacy", "modern"])("a %s server that declares resources and prompts", (era) => {
  const start = (...lists: readonly (object | string)[]) => {
    const args = lists.map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
    const target = fixture("may-list-nothing.mjs");
    return connect({ ...target, args: [...target.args, era, ...args] });
  };
  const methodsOf = async (connection: UpstreamConnection) =>
    ((await connection.list()).tools as { name: string }[]).slice(1).map(({ name }) => name);
  const NOTHING = { "resources/list": [], "resources/templates/list": [], "prompts/list": [] };
  const RESOURCES = ["resources/list", "resources/read"];
  const PROMPTS = ["prompts/get", "prompts/list"];
  const RESOURCE = { uri: "mem://a", name: "a" };
  const TEMPLATE = { uriTemplate: "mem://{id}", name: "t" };

  it.each([
    ["nothing on any of its lists", NOTHING, []],
    ["no such lists at all", {}, []],
    ["a resource", { ...NOTHING, "resources/list": [RESOURCE] }, RESOURCES],
    ["a template of resources", { ...NOTHING, "resources/templates/list": [TEMPLATE] }, RESOURCES],
    ["a prompt", { ...NOTHING, "prompts/list": [{ name: "p" }] }, PROMPTS],
    ["lists that fail", { "resources/list": "fails", "prompts/list": "fails" }, [...RESOURCES, ...PROMPTS]],
  ])("and has %s offers the methods of what it has", async (_, lists, methods) => {
    const connection = await start(lists);
    expect(await methodsOf(connection)).toEqual(methods);
    expect(await methodsOf(connection)).toEqual(methods);
  });

  it.each([
    ["prompts", { ...NOTHING, "prompts/list": [{ name: "p" }] }, PROMPTS],
    ["resources", { ...NOTHING, "resources/templates/list": [TEMPLATE] }, RESOURCES],
  ])("and announces its first %s has them listed from then on", async (list, later, methods) => {
    const connection = await start(NOTHING, later, list);
    const changed = vi.fn();
    connection.onToolsChanged(changed);
    expect(await methodsOf(connection)).toEqual([]);
    await eventually(async () => {
      await connection.callTool(toolCall("go"));
      expect(changed).toHaveBeenCalled();
    });
    expect(await methodsOf(connection)).toEqual(methods);
  });

  it("and has some is not listed again for every further one", async () => {
    const lists = { ...NOTHING, "resources/list": [RESOURCE] };
    const connection = await start(lists, lists, "resources");
    const changed = vi.fn();
    connection.onToolsChanged(changed);
    await methodsOf(connection);
    for (let calls = 0; calls < 3; calls++) await connection.callTool(toolCall("go"));
    expect(changed).not.toHaveBeenCalled();
  });
});
