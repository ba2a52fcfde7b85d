import { describe, expect, it } from "vitest";
import type { Authenticator } from "../../../../identity/caller.ts";
import type { RunContext } from "../../../../protocol/run-context.ts";
import { fixtureServer } from "../../../cli/ptc-process.ts";
import { ALL_SCOPES, answerOf, modern, post, serveHttpHere } from "../../http/served-http.ts";
import { CONTEXT } from "../served.ts";
import { connect, DESK, serveProject, toolNamed } from "./serve-project.ts";

const TOOLS = [
  toolNamed("read_note", { annotations: { readOnlyHint: true } }),
  toolNamed("read_list", { annotations: { readOnlyHint: true } }),
  toolNamed("wipe", { annotations: { destructiveHint: true } }),
];
const NOTES = fixtureServer("notes", "offers.mjs", ["notes"]);
const SETTINGS = {
  servers: [DESK, NOTES],
  discovery: "direct",
  toolsets: { reading: ["desk.read_*"], listing: ["desk.read_list", "notes"], all: ["desk", "notes"] },
};
const textsOf = ({ content }: { content: { text?: string }[] }) => content.map(({ text }) => text).join("\n");
const narrow = (...toolsets: string[]) => ({ ...CONTEXT, toolsets });
const ofServers = (tools: readonly { name: string }[]) =>
  tools.map(({ name }) => name).filter((name) => name.startsWith("mcp__"));

describe("a client of a toolset", () => {
  it("has the tools and offers that the toolset names, and no others, whatever asks for them", async () => {
    const served = await serveProject(TOOLS, SETTINGS, async ({ call }) => {
      const reply = await call("mcp__desk__wipe", {});
      return reply.ok ? "wiped" : reply.error.message;
    });
    const { client, tools, call } = await connect(served, undefined, "2025-11-25", narrow("reading"));
    expect(ofServers(tools)).toEqual(["mcp__desk__read_list", "mcp__desk__read_note"]);
    expect(textsOf(await call("mcp__desk__read_note"))).toContain("read_note is done");
    await expect(call("mcp__desk__wipe")).rejects.toThrow("Unknown tool");
    expect(textsOf(await call("search_tools", { query: "wipe" }))).not.toContain("mcp__desk__wipe");
    const listed = textsOf(await call("list_callable_tools"));
    expect(listed).toContain("mcp__desk__read_note");
    expect(listed).not.toMatch(/wipe|notes/);
    expect(textsOf(await call("execute_program", { code: "null;" }))).toContain("is not available");
    expect((await client.listResources()).resources).toEqual([]);
    await expect(client.readResource({ uri: "mcp://notes/mem://note" })).rejects.toThrow("no server offers");
    const refused = served.auditLines().find(({ tool }) => tool === "mcp__desk__wipe");
    expect(refused).toMatchObject({ decision: "unavailable", rule: "toolsets.reading" });
    const wide = await connect(served);
    expect(textsOf(await wide.call("execute_program", { code: "null;" }))).not.toContain("is not available");
  });

  it("reads nothing of tools and servers that the toolset does not name", async () => {
    const served = await serveProject(TOOLS, SETTINGS);
    const off = { name: "vault", command: "/nowhere/vault", env: { KEY: "${NO_SUCH_KEY}" } };
    served.project.write("ptc.yaml", { ...served.configured, servers: [DESK, NOTES, off] });
    const { client, call } = await connect(served, undefined, "2025-11-25", narrow("reading"));
    const own = (await client.listTools()).tools;
    expect(JSON.stringify(own)).toContain("desk");
    expect(client.getInstructions()).toContain("Servers: desk");
    const read = [
      ...[client.getInstructions(), JSON.stringify(own)],
      textsOf(await call("search_tools", { query: "zebra" })),
      textsOf(await call("list_callable_tools", { server: "github" })),
    ];
    expect(read.join("\n")).not.toMatch(/notes|vault/);
    const inspected = async (name: string) =>
      textsOf(await call("inspect_tool", { tool_name: name }))
        .replaceAll(name, "NAME")
        .replace(/did you mean.*/, "find one with search_tools");
    const unknown = await inspected("mcp__desk__zzzz");
    expect(unknown).toContain("there is no tool 'NAME'");
    for (const name of ["mcp__desk__wipe", "mcp__notes__keep", "mcp__vault__open"])
      expect(await inspected(name)).toBe(unknown);
    const wide = await connect(served);
    for (const name of ["notes", "vault"]) expect(wide.client.getInstructions()).toContain(name);
    expect(textsOf(await wide.call("search_tools", { query: "zebra" }))).toContain("'vault' is not searched");
  });

  it("runs programs that cannot tell servers outside of it from servers that there are not", async () => {
    const GUESSES = ["mcp__zzzz__open", "mcp__vault__open", "mcp__notes__keep", "mcp__desk__wipe"];
    let replies: string[] = [];
    const served = await serveProject(TOOLS, SETTINGS, async ({ call }) => {
      replies = [];
      for (const name of GUESSES) {
        const reply = await call(name, {});
        replies.push(reply.ok ? "called" : reply.error.message.replaceAll(name, "NAME"));
      }
      return null;
    });
    const off = { name: "vault", command: "/nowhere/vault", env: { KEY: "${NO_SUCH_KEY}" } };
    served.project.write("ptc.yaml", { ...served.configured, servers: [DESK, NOTES, off] });
    const guessed = async (context?: RunContext) => {
      const { call } = await connect(served, undefined, "2025-11-25", context);
      await call("execute_program", { code: "null;" });
      return replies;
    };
    const [unknown, ...others] = await guessed(narrow("reading"));
    expect(unknown).toBe("'NAME' is not available in execute_program");
    expect(others).toEqual(GUESSES.slice(1).map(() => unknown));
    expect((await guessed())[1]).toContain("NO_SUCH_KEY");
  });

  it("has what is in each of several, and nothing of one that there is no longer", async () => {
    const served = await serveProject(TOOLS, SETTINGS);
    const both = await connect(served, undefined, "2025-11-25", narrow("listing", "reading"));
    expect(ofServers(both.tools)).toEqual(["mcp__desk__read_list"]);
    const none = await connect(served, undefined, "2025-11-25", narrow("constructor"));
    expect(ofServers(none.tools)).toEqual([]);
    served.project.write("ptc.yaml", { ...served.configured, toolsets: {} });
    expect(textsOf(await both.call("mcp__desk__read_list"))).toContain("is not available");
  });

  it("is narrowed also where a run of it goes on that has waited for a person", async () => {
    const settings = { ...SETTINGS, toolsets: { waiting: ["desk.wipe"] } };
    const served = await serveProject(TOOLS, settings, async ({ call }) => {
      await call("mcp__desk__wipe", {});
      const reply = await call("mcp__desk__read_note", {});
      return reply.ok ? "read" : reply.error.message;
    });
    const { call } = await connect(served, undefined, "2025-11-25", narrow("waiting"));
    const waits = textsOf(await call("mcp__desk__wipe"));
    const [, ticket = ""] = /ptc approvals approve (\w+)/.exec(waits) ?? [];
    await served.ptc(["approvals", "approve", ticket], {
      XDG_STATE_HOME: `${served.project.directory}/state`,
    });
    const wide = await connect(served);
    const done = textsOf(await wide.call("execute_program", { code: `ticket ${ticket}` }));
    expect(done).toContain("'mcp__desk__read_note' is not available");
  });
});

describe("toolsets over HTTP", () => {
  /** Lets in whoever names toolsets as a token. */
  const byToolset: Authenticator = {
    authenticate: async (authorization = "") => {
      const toolsets = authorization
        .replace("Bearer ", "")
        .split("+")
        .filter((each) => each !== "any");
      const context = { principal: "token#agent", source: "serve" as const };
      return { context: toolsets.length === 0 ? context : { ...context, toolsets }, scopes: ALL_SCOPES };
    },
    resourceMetadata: {},
    requestedScopes: [],
  };

  async function serveOverHttp() {
    const served = await serveProject(TOOLS, SETTINGS);
    const { service, host } = await served.serve();
    const { url } = await serveHttpHere(service, {
      authenticator: byToolset,
      hasToolset: (name) => Object.hasOwn(host.configuration.toolsets, name),
    });
    const at = (path: string) => new URL(`${url.href}${path}`);
    const listed = async (path: string, token: string) => {
      const headers = { Authorization: `Bearer ${token}` };
      const response = await post(at(path), modern("tools/list"), headers);
      if (!response.ok) return response.status;
      const { result } = (await answerOf(response)) as unknown as { result: { tools: { name: string }[] } };
      return ofServers(result.tools);
    };
    return { at, listed };
  }

  it.each([
    ["", "any", 5],
    ["/reading", "any", ["mcp__desk__read_list", "mcp__desk__read_note"]],
    ["", "reading", ["mcp__desk__read_list", "mcp__desk__read_note"]],
    ["/listing", "reading", ["mcp__desk__read_list"]],
    ["/reading/more", "any", 404],
    ["/constructor", "any", 404],
    ["/nothing", "any", 404],
  ])("are served at /mcp%s to a token of %s", async (path, token, want) => {
    const { listed } = await serveOverHttp();
    const found = await listed(path, token);
    expect(typeof want === "number" && Array.isArray(found) ? found.length : found).toEqual(want);
  });

  it("have sessions of their own, which are unknown at other addresses", async () => {
    const { at } = await serveOverHttp();
    const headers = { Authorization: "Bearer any", "MCP-Protocol-Version": "2025-11-25" };
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "c", version: "1" },
    };
    const begun = await post(
      at("/reading"),
      { jsonrpc: "2.0", id: 0, method: "initialize", params },
      headers,
    );
    await begun.text();
    const session = { ...headers, "Mcp-Session-Id": begun.headers.get("mcp-session-id") ?? "" };
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
    expect((await post(at(""), list, session)).status).toBe(404);
    expect((await post(at("/listing"), list, session)).status).toBe(404);
    expect((await post(at("/reading"), list, session)).status).toBe(200);
  });

  it("say in their metadata how to log in", async () => {
    const { at } = await serveOverHttp();
    const metadata = await fetch(new URL("/.well-known/oauth-protected-resource/mcp/reading", at("")));
    expect(await metadata.json()).toMatchObject({ resource: at("").href });
    expect((await fetch(new URL("/.well-known/oauth-protected-resource/mcp/nothing", at("")))).status).toBe(
      404,
    );
  });
});

describe("ptc serve --toolset", () => {
  it("is refused for a toolset that there is not, and beside --http", async () => {
    const { ptc } = await serveProject(TOOLS, SETTINGS);
    expect(await ptc(["serve", "--toolset", "writing"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("there is no toolset 'writing'; there are reading, listing, all"),
    });
    expect((await ptc(["serve", "--http", "--toolset", "reading"])).stderr).toContain("/mcp/NAME");
    expect((await ptc(["token", "create", "a", "--toolset", "writing"])).stderr).toContain(
      "no toolset 'writing'",
    );
    expect(await ptc(["token", "create", "a", "--toolset", "reading"])).toMatchObject({ code: 0 });
    expect((await ptc(["token", "list"])).stdout).toContain("toolset reading");
  });
});
