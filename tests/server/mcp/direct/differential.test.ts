/**
 * The same script of requests is sent to real servers directly, and through ptc in front of them. What differs has a line in
 * `DIFFERENCES` that says why, or it is a loss.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished, test } from "vitest";
import { isObject } from "../../../../base/json.ts";
import { newFolder } from "../../../temporary-folder.ts";
import { StreamTransport } from "../clients.ts";
import { serveProject } from "./serve-project.ts";

const require = createRequire(import.meta.url);
const entryOf = (name: string) => require.resolve(`@modelcontextprotocol/${name}/dist/index.js`);

/** What ptc changes, and why. Each undoes its own change, so that nothing else is hidden. */
const DIFFERENCES: { what: string; why: string; undo: (value: unknown, module: string) => unknown }[] = [
  {
    what: "names of tools and prompts begin with mcp__<server>__",
    why: "names of two servers never meet",
    undo: (value, module) => renamed(value, (text) => text.replace(`mcp__${module}__`, "")),
  },
  {
    what: "URIs begin with mcp://<server>/",
    why: "URIs of two servers never meet",
    undo: (value, module) => renamed(value, (text) => text.replace(`mcp://${module}/`, "")),
  },
  {
    what: "`_meta` has the envelope of the call under ptc/",
    why: "a client finds the run of a call in the archive and the audit log",
    undo: (value) => without(value, (key) => key.startsWith("ptc/")),
  },
  {
    what: "`execution` of a tool is left out, and a tool that is a task alone can be called",
    why: "ptc follows a server's tasks itself, and answers when they have ended",
    undo: (value) => without(value, (key) => key === "execution"),
  },
];

function renamed(value: unknown, to: (text: string) => string): unknown {
  if (typeof value === "string") return to(value);
  if (Array.isArray(value)) return value.map((each) => renamed(each, to));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, renamed(each, to)]));
}

/** Without members of these names, and without objects that have no others. */
function without(value: unknown, isLeftOut: (key: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((each) => without(each, isLeftOut));
  if (!isObject(value)) return value;
  const left = Object.entries(value).flatMap(([key, each]) => {
    if (isLeftOut(key)) return [];
    const kept = without(each, isLeftOut);
    const isEmptied = key === "_meta" && isObject(kept) && Object.keys(kept).length === 0;
    return isEmptied ? [] : [[key, kept] as const];
  });
  return Object.fromEntries(left);
}

/** A client, and how it names what the server has. */
interface Side {
  client: Client;
  tool: (name: string) => string;
  uri: (uri: string) => string;
}
type Step = (side: Side) => Promise<unknown>;

const call =
  (name: string, args: object = {}): Step =>
  ({ client, tool }) =>
    client.callTool({ name: tool(name), arguments: args as Record<string, unknown> });
const read =
  (uri: string): Step =>
  (side) =>
    side.client.readResource({ uri: side.uri(uri) });
const prompt =
  (name: string, args?: Record<string, string>): Step =>
  ({ client, tool }) =>
    client.getPrompt({ name: tool(name), ...(args === undefined ? {} : { arguments: args }) });
const listed: Step = async ({ client }) => {
  const { tools } = await client.listTools();
  // ptc's own tools, which stand beside those of servers.
  const own = ["execute_program", "search_tools", "inspect_tool", "list_callable_tools", "read_output"];
  const theirs = tools.filter(({ name }) => !own.includes(name));
  return theirs.sort((a, b) => (a.name < b.name ? -1 : 1));
};

const EVERYTHING: Record<string, Step> = {
  "the list of tools": listed,
  "a call": call("echo", { message: "hello" }),
  "a call with numbers": call("get-sum", { a: 2, b: 0.5 }),
  "an image": call("get-tiny-image"),
  "structured content": call("get-structured-content", { location: "Chicago" }),
  "annotations of content": call("get-annotated-message", { messageType: "error", includeImage: true }),
  "links to resources": call("get-resource-links", { count: 3 }),
  "an embedded resource": call("get-resource-reference", { resourceType: "Text", resourceId: 1 }),
  "an embedded blob": call("get-resource-reference", { resourceType: "Blob", resourceId: 2 }),
  "an answer of the user": call("trigger-elicitation-request"),
  "an answer of the client's model": call("trigger-sampling-request", { prompt: "2+2?", maxTokens: 10 }),
  progress: async ({ client, tool }) => {
    const seen: object[] = [];
    const args = { duration: 0.3, steps: 3 };
    const result = await client.callTool(
      { name: tool("trigger-long-running-operation"), arguments: args },
      undefined,
      { onprogress: ({ progress, total }) => seen.push({ progress, total }) },
    );
    // How many arrive before the result is a matter of time.
    return { result, total: (seen.at(0) as { total?: number } | undefined)?.total };
  },
  "the list of resources": async ({ client }) => (await client.listResources()).resources,
  "the list of templates": async ({ client }) => (await client.listResourceTemplates()).resourceTemplates,
  "a document": read("demo://resource/static/document/features.md"),
  "a missing resource": read("demo://resource/static/document/none.md"),
  "the list of prompts": async ({ client }) =>
    (await client.listPrompts()).prompts.map(({ arguments: args = [], ...each }) => ({ ...each, args })),
  "a prompt": prompt("simple-prompt"),
  "a prompt with arguments": prompt("args-prompt", { city: "Rome", state: "Lazio" }),
  "a prompt with a resource": prompt("resource-prompt", { resourceType: "Text", resourceId: "1" }),
  "completion of a prompt's argument": ({ client, tool }) =>
    client.complete({
      ref: { type: "ref/prompt", name: tool("completable-prompt") },
      argument: { name: "department", value: "E" },
    }),
  "completion with what is known": ({ client, tool }) =>
    client.complete({
      ref: { type: "ref/prompt", name: tool("completable-prompt") },
      argument: { name: "name", value: "" },
      context: { arguments: { department: "Sales" } },
    }),
  "completion of a template": ({ client, uri }) =>
    client.complete({
      ref: { type: "ref/resource", uri: uri("demo://resource/dynamic/text/{resourceId}") },
      argument: { name: "resourceId", value: "1" },
    }),
  "a subscription": async ({ client, uri }) => {
    const about = { uri: uri("demo://resource/static/document/features.md") };
    return [await client.subscribeResource(about), await client.unsubscribeResource(about)];
  },
};

const MEMORY: Record<string, Step> = {
  "the list of tools": listed,
  "a change": call("create_entities", {
    entities: [
      { name: "Ada", entityType: "person", observations: ["writes programs"] },
      { name: "Engine", entityType: "machine", observations: [] },
    ],
  }),
  "a change that depends on it": call("create_relations", {
    relations: [{ from: "Ada", to: "Engine", relationType: "programs" }],
  }),
  "a search": call("search_nodes", { query: "programs" }),
  "all of it": call("read_graph"),
  "a failure": call("add_observations", { observations: [{ entityName: "Nobody", contents: ["x"] }] }),
  "a deletion": call("delete_entities", { entityNames: ["Engine"] }),
  "what is left": call("open_nodes", { names: ["Ada"] }),
};

const files = (folder: string): Record<string, Step> => ({
  "the list of tools": listed,
  "what may be read": call("list_allowed_directories"),
  "a file": call("read_text_file", { path: join(folder, "a.txt") }),
  "its beginning": call("read_text_file", { path: join(folder, "a.txt"), head: 1 }),
  "several files": call("read_multiple_files", { paths: [join(folder, "a.txt"), join(folder, "none.txt")] }),
  "an image": call("read_media_file", { path: join(folder, "dot.png") }),
  "a folder": call("list_directory", { path: folder }),
  "a tree": call("directory_tree", { path: folder }),
  "a search": call("search_files", { path: folder, pattern: "*.txt" }),
  "a change": call("write_file", { path: join(folder, "b.txt"), content: "new\n" }),
  "an edit": call("edit_file", { path: join(folder, "b.txt"), edits: [{ oldText: "new", newText: "old" }] }),
  "a missing file": call("read_text_file", { path: join(folder, "none.txt") }),
  "a file elsewhere": call("read_text_file", { path: "/etc/hostname" }),
});

/** Answers of the client's person and model, the same on both sides. */
function answering(): Client {
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities: { elicitation: { form: {}, url: {} }, sampling: {} } },
  );
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    const { properties = {} } = (params as { requestedSchema?: unknown }).requestedSchema as {
      properties?: Record<string, unknown>;
    };
    return { action: "accept" as const, content: "name" in properties ? { name: "Ada" } : {} };
  });
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    ...{ role: "assistant" as const, model: "m-1", content: { type: "text" as const, text: "4" } },
  }));
  client.setNotificationHandler(LoggingMessageNotificationSchema, () => {});
  return client;
}

/** A value without the times of day that a server writes into texts and blobs. */
function timeless(value: unknown): unknown {
  const time = /\d{1,2}:\d{2}:\d{2} [AP]M/g;
  return renamed(value, (text) => {
    const decoded = Buffer.from(text, "base64").toString("latin1");
    return (decoded.search(time) < 0 ? text : decoded).replace(time, "TIME");
  });
}

/** What each step of a script comes to: a result, or the code of an error. */
async function follow(script: Record<string, Step>, side: Side): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [name, step] of Object.entries(script)) {
    try {
      answers[name] = timeless(JSON.parse(JSON.stringify(await step(side))));
    } catch (error) {
      answers[name] = { failed: error instanceof Error };
    }
  }
  return answers;
}

/** Each server, with a script and what it needs, made anew for each side. */
const SERVERS: Record<
  string,
  (own: string) => { args: string[]; env?: Record<string, string>; script: Record<string, Step> }
> = {
  everything: () => ({ args: [entryOf("server-everything"), "stdio"], script: EVERYTHING }),
  memory: () => ({
    args: [entryOf("server-memory")],
    env: { MEMORY_FILE_PATH: join(newFolder(), "memory.jsonl") },
    script: MEMORY,
  }),
  filesystem: (own) => {
    const folder = join(own, "shared");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "a.txt"), "one\ntwo\n");
    writeFileSync(join(folder, "b.txt"), "before\n");
    writeFileSync(join(folder, "dot.png"), Buffer.from("iVBORw0KGgo=", "base64"));
    return { args: [entryOf("server-filesystem"), folder], script: files(folder) };
  },
};
test.each(Object.keys(SERVERS))(
  "a client has of %s through ptc what it has without, but for what the table names",
  async (module) => {
    const make = SERVERS[module] ?? expect.fail();
    const folder = newFolder();
    const alone = make(folder);
    const direct = answering();
    const env = { PATH: process.env.PATH ?? "", ...alone.env };
    await direct.connect(
      new StdioClientTransport({ command: process.execPath, args: alone.args, env, stderr: "ignore" }),
    );
    onTestFinished(() => direct.close());
    const want = await follow(alone.script, { client: direct, tool: (name) => name, uri: (uri) => uri });

    const failing = Object.keys(want).filter((name) => isObject(want[name]) && "failed" in want[name]);
    expect(failing).toEqual(module === "everything" ? ["a missing resource"] : []);

    const behind = make(folder);
    const server = { name: module, command: process.execPath, args: behind.args, sampling: "allow" };
    const served = await serveProject([], {
      servers: [{ ...server, ...(behind.env === undefined ? {} : { env: behind.env }) }],
      ...{ discovery: "direct", learn: "off", approvals: { allow: ["*"] } },
    });
    const client = answering();
    await client.connect(new StreamTransport((await served.serve()) as never) as never);
    const through = await follow(behind.script, {
      client,
      tool: (name) => `mcp__${module}__${name}`,
      uri: (uri) => `mcp://${module}/${uri}`,
    });
    const undone = (value: unknown) => DIFFERENCES.reduce((each, { undo }) => undo(each, module), value);
    for (const name of Object.keys(alone.script))
      expect.soft(undone(through[name]), name).toEqual(without(want[name], (key) => key === "execution"));
  },
  120_000,
);
