import { describe, expect, it } from "vitest";
import { fixtureServer } from "../../../cli/ptc-process.ts";
import { connect, serveProject } from "./serve-project.ts";

const server = (name: string, more: object = {}) => ({
  ...fixtureServer(name, "offers.mjs", [name]),
  ...more,
});

/** A ptc in front of two servers that offer the same. */
async function serveBoth(settings: object = {}, desk: object = {}) {
  const servers = [server("desk", desk), server("shelf")];
  return serveProject([], { servers, discovery: "direct", ...settings });
}

describe("what servers offer beside tools", () => {
  it("is listed and read through ptc, and two servers that offer the same never meet", async () => {
    const served = await serveBoth();
    const { client } = await connect(served);
    expect(client.getServerCapabilities()).toMatchObject({ resources: {}, prompts: {}, completions: {} });
    const { resources } = await client.listResources();
    expect(resources).toEqual([
      {
        ...{ uri: "mcp://desk/mem://note", name: "note", size: 4 },
        annotations: { audience: ["user"] },
      },
      { uri: "ui://desk/view", name: "view", mimeType: "text/html;profile=mcp-app" },
      expect.objectContaining({ uri: "mcp://shelf/mem://note" }),
      expect.objectContaining({ uri: "ui://shelf/view" }),
    ]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      "mcp://desk/mem://{id}",
      "mcp://shelf/mem://{id}",
    ]);
    expect(await client.readResource({ uri: "mcp://shelf/mem://7" })).toMatchObject({
      contents: [{ uri: "mcp://shelf/mem://7", text: "shelf of mem://7, undefined" }],
    });
    const { prompts } = await client.listPrompts();
    expect(prompts).toEqual([
      { name: "mcp__desk__greet", arguments: [{ name: "who", required: true }] },
      { name: "mcp__shelf__greet", arguments: [{ name: "who", required: true }] },
    ]);
    expect(await client.getPrompt({ name: "mcp__shelf__greet", arguments: { who: "Ada" } })).toEqual({
      description: "Greets",
      messages: [
        { role: "user", content: { type: "text", text: "greet Ada from shelf" } },
        {
          role: "user",
          content: { type: "resource_link", uri: "mcp://shelf/mem://note", name: "note" },
        },
      ],
    });
    const argument = { name: "who", value: "A" };
    const context = { arguments: { a: "1" } };
    const ofPrompt = { type: "ref/prompt" as const, name: "mcp__desk__greet" };
    const ofTemplate = { type: "ref/resource" as const, uri: "mcp://desk/mem://{id}" };
    expect((await client.complete({ ref: ofPrompt, argument, context })).completion.values).toEqual([
      "greet A",
      JSON.stringify(context),
    ]);
    expect((await client.complete({ ref: ofTemplate, argument })).completion.values).toEqual([
      "mem://{id} A",
      "{}",
    ]);
    for (const uri of ["mem://note", "mcp://other/mem://note", "mcp://desk"])
      await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32_602, data: { uri } });
    for (const name of ["greet", "mcp__other__greet"])
      await expect(client.getPrompt({ name })).rejects.toMatchObject({ code: -32_602 });
  });

  it("is under policy and in the audit log, without secrets", async () => {
    const env = { PASSWORD: "hunter2@vault.example" };
    const served = await serveBoth({ tools: { block: ["mcp__shelf__resources/*"] } }, { env });
    const { client } = await connect(served);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(["mcp://desk/mem://note", "ui://desk/view"]);
    await expect(client.readResource({ uri: "mcp://shelf/mem://note" })).rejects.toThrow("no server offers");
    const read = await client.readResource({ uri: "mcp://desk/mem://note" });
    expect(read.contents).toEqual([{ uri: "mcp://desk/mem://note", text: "desk of mem://note, [REDACTED]" }]);
    const calls = served.auditLines().filter(({ event }) => event === "call");
    expect(calls.map(({ tool, decision }) => [tool, decision])).toEqual([
      ["mcp__desk__resources/list", "allowed"],
      ["mcp__desk__resources/read", "allowed"],
    ]);
  });

  it.each(["2025-11-25", "2026-07-28"] as const)(
    "is asked about where a rule says so, of a client of %s, and never for a list",
    async (era) => {
      const served = await serveBoth({ approvals: { ask: ["mcp__desk__resources/*"] } });
      const questions: string[] = [];
      const person = (message: string) => {
        questions.push(message);
        return { action: "accept", content: { decision: questions.length === 1 ? "once" : "deny" } };
      };
      const { client } = await connect(served, person, era);
      const { resources, _meta } = await client.listResources();
      expect(resources.map(({ uri }) => uri)).toEqual(["mcp://shelf/mem://note", "ui://shelf/view"]);
      expect(_meta?.["ptc/missing"]).toEqual([expect.stringMatching(/^desk: /)]);
      expect(questions).toEqual([]);
      const uri = "mcp://desk/mem://note";
      expect((await client.readResource({ uri })).contents).toHaveLength(1);
      await expect(client.readResource({ uri })).rejects.toThrow("declined");
      expect(questions[0]).toContain("mcp__desk__resources/read");
    },
  );

  it("is asked about also where a request has no arguments", async () => {
    const served = await serveBoth({ approvals: { ask: ["mcp__desk__prompts/get"] } });
    const person = () => ({ action: "accept", content: { decision: "once" } });
    const { client } = await connect(served, person, "2026-07-28");
    const { messages } = await client.getPrompt({ name: "mcp__desk__greet" });
    expect(messages[0]).toMatchObject({ content: { text: "greet undefined from desk" } });
  });

  it("has views of apps, unless these are off, and results lead to what can be read", async () => {
    const served = await serveBoth({}, { apps: "off" });
    const { client, tools, call } = await connect(served);
    const ofServers = tools.filter(({ name }) => name.startsWith("mcp__"));
    expect(ofServers.map(({ name, _meta, icons }) => [name, _meta, icons])).toEqual([
      ["mcp__desk__chart", undefined, [{ src: "https://desk.example/i.png" }]],
      [
        "mcp__shelf__chart",
        { ui: { resourceUri: "ui://shelf/view" } },
        [{ src: "https://desk.example/i.png" }],
      ],
      ["mcp__shelf__redraw", { ui: { visibility: ["app"] } }, undefined],
    ]);
    const link = (module: string) => ({
      ...{ type: "resource_link", uri: `mcp://${module}/mem://note`, name: "note" },
    });
    const shelf = await call("mcp__shelf__chart");
    expect(shelf.content).toEqual([
      { type: "text", text: "shelf" },
      link("shelf"),
      {
        type: "resource",
        resource: { uri: "ui://shelf/view", mimeType: "text/html", text: "<!doctype html><p>shelf" },
      },
    ]);
    expect(shelf._meta).toMatchObject({ "desk/more": 1, "ptc/envelope": { run_id: expect.any(String) } });
    const desk = await call("mcp__desk__chart");
    expect(desk.content.slice(1)).toEqual([
      link("desk"),
      { type: "text", text: expect.stringContaining("`apps` is off") },
    ]);
    const { contents } = await client.readResource({ uri: "ui://shelf/view" });
    expect(contents).toEqual([
      {
        ...{ uri: "ui://shelf/view", mimeType: "text/html;profile=mcp-app", text: "<!doctype html><p>shelf" },
        _meta: { ui: { csp: { connectDomains: ["https://api.example"] } } },
      },
    ]);
    await expect(client.readResource({ uri: "ui://desk/view" })).rejects.toThrow("no server offers");
    await expect(client.readResource({ uri: "mcp://desk/ui://view" })).rejects.toThrow("no server offers");
  });

  it("tells of changes, of what is subscribed to and of logs, each of which says whose it is", async () => {
    const served = await serveBoth();
    const { client, call } = await connect(served);
    const heard: [string, unknown][] = [];
    client.fallbackNotificationHandler = async ({ method, params }) => void heard.push([method, params]);
    const uri = "mcp://desk/mem://note";
    await client.subscribeResource({ uri });
    await expect(client.subscribeResource({ uri: "mem://note" })).rejects.toThrow("no server offers");
    const notice = (method: string, params: object = {}) => ({ method: `notifications/${method}`, params });
    const say = [
      notice("resources/list_changed"),
      notice("resources/list_changed"),
      notice("prompts/list_changed"),
      notice("resources/updated", { uri: "mem://note" }),
      notice("resources/updated", { uri: "mem://other" }),
      notice("message", { level: "info", logger: "shelf", data: "hello" }),
      notice("message", { level: "shouted", data: "it" }),
    ];
    await call("mcp__desk__chart", { say });
    await call("mcp__shelf__chart", { say: say.slice(3, 4) });
    await expect.poll(() => heard.length).toBe(4);
    // A server's lists are asked for again a moment after it has said that they have changed, so that the order is open.
    const known = [
      ["notifications/resources/list_changed", undefined],
      ["notifications/prompts/list_changed", undefined],
      ["notifications/resources/updated", { uri }],
      ["notifications/message", { level: "info", logger: "desk/shelf", data: "hello" }],
    ];
    expect(heard).toEqual(expect.arrayContaining(known));
    await client.unsubscribeResource({ uri });
    await call("mcp__desk__chart", { say: say.slice(3, 5) });
    await call("mcp__desk__chart", { say: say.slice(2, 3) });
    await expect.poll(() => heard.length).toBe(5);
    expect(heard[4]?.[0]).toBe("notifications/prompts/list_changed");
  });

  it("is nothing where only programs, or single tools, reach servers", async () => {
    const served = await serveBoth({ discovery: "auto" });
    const { client, call } = await connect(served);
    expect(client.getServerCapabilities()?.resources).toBeUndefined();
    const { content } = await call("mcp__desk__chart");
    expect(content[1]).toMatchObject({ uri: "mem://note" });
  });
});
