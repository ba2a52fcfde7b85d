import { hostname, userInfo } from "node:os";
import { describe, expect, it } from "vitest";
import { ERAS } from "../clients.ts";
import { connect, DESK, serveProject, toolNamed } from "./serve-project.ts";

const OUTPUT = {
  type: "object",
  properties: { mail: { type: "string", pattern: "^\\S+@\\S+$" } },
  required: ["mail"],
};
const TOOLS = [
  toolNamed("read", { title: "Read it", annotations: { readOnlyHint: true }, outputSchema: OUTPUT }),
  toolNamed("say"),
  toolNamed("wipe", { annotations: { destructiveHint: true } }),
];
const NAMES = ["mcp__desk__read", "mcp__desk__say", "mcp__desk__wipe"];
const answer = (text: string, more: object = {}) => ({
  answer: { content: [{ type: "text", text }], ...more },
});
const textsOf = ({ content }: { content: { text: string }[] }) => content.map(({ text }) => text).join("\n");

describe("tools beside execute_program", () => {
  it("are listed as their server describes them, and answer as it does", async () => {
    const served = await serveProject(TOOLS);
    const { client, tools, call } = await connect(served);
    const direct = tools.filter(({ name }) => name.startsWith("mcp__"));
    expect(direct.map(({ name }) => name)).toEqual(NAMES);
    expect(direct[0]).toMatchObject({
      title: "Read it",
      description: "Does read",
      inputSchema: TOOLS[0]?.inputSchema,
      outputSchema: OUTPUT,
      annotations: { readOnlyHint: true },
    });
    expect(client.getInstructions()).toContain("call one directly only for one small result");
    const structuredContent = { mail: "a@b.example" };
    expect(await call("mcp__desk__read", answer("it", { structuredContent }))).toMatchObject({
      content: [{ type: "text", text: "it" }],
      structuredContent,
    });
    const image = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };
    const own = { type: "chart", points: [1] };
    const mixed = { answer: { content: [{ type: "text", text: "see", annotations: {} }, image, own] } };
    expect(await call("mcp__desk__say", mixed)).toMatchObject({
      content: [{ type: "text", text: "see" }, image, { type: "text", text: JSON.stringify(own) }],
    });
    const failed = await call("mcp__desk__say", answer("it is locked", { isError: true }));
    expect(failed).toMatchObject({ content: [{ text: "it is locked" }], isError: true });
    const wrong = await call("mcp__desk__say", { answer: 1 });
    expect(textsOf(wrong)).toBe("'mcp__desk__say' was not called: arguments.answer must be object, not 1");
    expect(wrong.isError).toBe(true);
  });

  it("leave the same traces as a call of a program, and can be told from it", async () => {
    const served = await serveProject(TOOLS);
    const { call } = await connect(served);
    const { _meta } = await call("mcp__desk__say", answer("hello"));
    const { run_id: runId } = _meta["ptc/envelope"];
    await expect.poll(async () => (await served.ptc(["runs", "list", "--json"])).stdout).toContain(runId);
    const [run] = JSON.parse((await served.ptc(["runs", "list", "--json"])).stdout);
    const user = userInfo().username;
    expect(run).toMatchObject({ source: "direct", calls: 1, status: "ok", client: "test" });
    expect(served.auditLines()).toMatchObject([
      { event: "call", run_id: runId, tool: "mcp__desk__say", decision: "allowed", user, client: "test" },
      {
        event: "run",
        run_id: runId,
        outcome: "ok",
        user,
        host: hostname(),
        client: "test",
        client_version: "1",
      },
    ]);
  });

  it("hold no secrets, and say so where a result without them is not what was promised", async () => {
    const secret = "hunter2@vault.example";
    const served = await serveProject(TOOLS, {
      servers: [{ ...DESK, env: { PASSWORD: secret } }],
      pii: { redact: ["ip", "email"] },
    });
    const { call } = await connect(served);
    const said = await call("mcp__desk__say", answer(`it is ${secret} at 203.0.113.7`));
    expect(textsOf(said)).toBe("it is [REDACTED] at [REDACTED:ip]");
    const structuredContent = { mail: secret };
    const read = await call("mcp__desk__read", answer(secret, { structuredContent }));
    expect(JSON.stringify(read)).not.toContain(secret);
    expect(read.isError).toBe(true);
    expect(textsOf(read)).toMatch(
      /^\[REDACTED\]\nThe call was made\. .* answered against its own outputSchema: structuredContent\.mail /,
    );
    const masked = await call(
      "mcp__desk__read",
      answer("it", { structuredContent: { mail: "a@b.example" } }),
    );
    expect(JSON.stringify(masked)).not.toContain("a@b.example");
    expect(masked.isError).toBe(true);
    expect(textsOf(masked)).toMatch(/^it\nThe call was made\. Its result is not what .* allows: value\.mail/);
  });

  it("show the ends of a large result, and where the rest is", async () => {
    const served = await serveProject(TOOLS, { execution: { max_output_bytes: 4_096, typecheck: "off" } });
    const { call } = await connect(served);
    const large = await call("mcp__desk__say", answer(`begin ${"x".repeat(20_000)} end`));
    expect(Buffer.byteLength(JSON.stringify(large.content))).toBeLessThan(6_000);
    expect(textsOf(large)).toMatch(/^"begin x+\n\[\d+ of 20012 characters left out: read_output /);
    expect(textsOf(large)).toContain("execute_program");
    expect(large.isError).toBeUndefined();
    const [, run, offset] = /read_output \{"run":"([^"]+)","offset":(\d+)\}/.exec(textsOf(large)) ?? [];
    const rest = await call("read_output", { run, offset: Number(offset) });
    expect(textsOf(rest)).toMatch(/^x+\n\[characters \d+ to (\d+) of 20012; next offset \1\]$/);
    const last = await call("read_output", { run, offset: 19_000 });
    expect(textsOf(last)).toMatch(/^x+ end"\n\[characters 19000 to 20012 of 20012; the end\]$/);
    // A client would refuse a result without the structured content that it was promised.
    const structuredContent = { mail: `${"y".repeat(20_000)}@b.example` };
    const read = await call("mcp__desk__read", answer("it", { structuredContent }));
    expect(read).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('{"mail":"yyy') }, {}],
    });
    expect(textsOf(read)).toContain("The call was made.");
    expect(textsOf(await call("mcp__desk__say", answer("z".repeat(5_000_000))))).toMatch(
      /^The call was made\. OutputLimit: the result is 5000002 bytes .*\nA program \(execute_program\) can call it/,
    );
  });

  it.each(ERAS)("need the approvals that programs need, of a person at a client of %s", async (era) => {
    const settings = { approvals: { ask: ["mcp__desk__read"] } };
    const served = await serveProject(TOOLS, settings);
    const questions: string[] = [];
    const person = (message: string) => {
      questions.push(message);
      return { action: "accept", content: { decision: questions.length === 1 ? "deny" : "once" } };
    };
    const { call } = await connect(served, person, era);
    const refused = await call("mcp__desk__wipe");
    expect(refused.isError).toBe(true);
    expect(textsOf(refused)).toBe(
      "ApprovalDenied: 'mcp__desk__wipe' needs an approval and was declined by the client",
    );
    expect(textsOf(await call("mcp__desk__wipe"))).toBe("wipe is done");
    const structuredContent = { mail: "a@b.example" };
    expect(await call("mcp__desk__read", answer("it", { structuredContent }))).toMatchObject({
      structuredContent,
    });
    expect(questions[0]).toContain("mcp__desk__wipe");
    expect(questions[2]).toContain("mcp__desk__read");
  });

  it("wait for a person who is not at the client, and go on as a program", async () => {
    const served = await serveProject(TOOLS, {}, async ({ call }) => {
      const reply = await call("mcp__desk__wipe", {});
      return reply.ok ? reply.data : reply.error.message;
    });
    const { call } = await connect(served);
    const waits = textsOf(await call("mcp__desk__wipe"));
    const [, ticket = ""] = /ptc approvals approve (\w+)/.exec(waits) ?? [];
    expect(waits).toMatch(/^\[Call waits for an approval\]\nmcp__desk__wipe is not called before/);
    const early = await served.ptc(["approvals", "approve", ticket], {
      XDG_STATE_HOME: `${served.project.directory}/state`,
    });
    expect(early).toMatchObject({ code: 0 });
    const done = await call("execute_program", { code: `ticket ${ticket}` });
    expect(textsOf(done)).toContain("wipe is done");
    expect(served.auditLines().filter(({ event }) => event === "call")).toHaveLength(1);
  });

  it("put what a server asks to the person, tell of its progress, and can be cancelled", async () => {
    const env = { PASSWORD: "hunter2@vault.example" };
    const served = await serveProject([toolNamed("ask"), toolNamed("wait")], { servers: [{ ...DESK, env }] });
    const asked: string[] = [];
    const { client, call } = await connect(served, (message) => {
      asked.push(message);
      return { action: "accept", content: { name: "Ada" } };
    });
    expect(textsOf(await call("mcp__desk__ask"))).toContain('"name":"Ada"');
    expect(asked[0]).toContain("Who?");
    const abort = new AbortController();
    const reports: object[] = [];
    const waiting = client.callTool({ name: "mcp__desk__wait", arguments: {} }, undefined, {
      signal: abort.signal,
      onprogress: (report) => reports.push(report),
    });
    waiting.catch(() => {});
    await expect.poll(() => reports).toEqual([{ progress: 0.5, total: 2, message: "with [REDACTED]" }]);
    abort.abort();
    await expect(waiting).rejects.toThrow();
    const ends = () =>
      served.auditLines().filter(({ event, outcome }) => event === "run" && outcome === "Cancelled");
    await expect.poll(ends).toHaveLength(1);
  });

  it("stay as they were listed, and are decided by what is in force", async () => {
    const served = await serveProject(TOOLS);
    const { client, call } = await connect(served);
    const listedTo = async (each: typeof client) =>
      (await each.listTools()).tools.map(({ name }) => name).filter((name) => name.startsWith("mcp__"));
    served.project.write("ptc.yaml", { ...served.configured, tools: { block: ["mcp__desk__say"] } });
    const blocked = await call("mcp__desk__say", answer("it"));
    expect(blocked.isError).toBe(true);
    expect(textsOf(blocked)).toBe("'mcp__desk__say' is not available");
    expect(await listedTo(client)).toEqual(NAMES);
    // The next conversations have what is in force when they begin.
    expect(await listedTo((await connect(served)).client)).toEqual(["mcp__desk__read", "mcp__desk__wipe"]);
    served.project.write("ptc.yaml", { ...served.configured, discovery: "search" });
    const next = await connect(served);
    expect(await listedTo(next.client)).toEqual([]);
    expect(next.client.getInstructions()).not.toContain("directly only");
    await expect(next.call("mcp__desk__say")).rejects.toThrow("Unknown tool: mcp__desk__say");
  });

  it("are listed while their server is down, and say so when they are called", async () => {
    const served = await serveProject(TOOLS);
    served.project.write("tools.json", "not JSON");
    const { tools, call } = await connect(served);
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(NAMES));
    const failed = await call("mcp__desk__say", answer("it"));
    expect(failed.isError).toBe(true);
    expect(textsOf(failed)).toMatch(/^'mcp__desk__say' failed: server 'desk' /);
  });

  it("are called by the definition that the server has by now, after one refusal", async () => {
    const served = await serveProject(TOOLS);
    const changed = [
      toolNamed("say", { description: "Says it twice" }),
      toolNamed("read", { outputSchema: { type: "object" } }),
    ];
    served.list(changed);
    const { call } = await connect(served);
    const drifted = await call("mcp__desk__say", answer("it"));
    expect(textsOf(drifted)).toMatch(
      /^'mcp__desk__say' was changed by its server .*\nIts definition has just been read again/s,
    );
    await expect.poll(async () => textsOf(await call("mcp__desk__say", answer("it")))).toBe("it");
    const read = await call("mcp__desk__read", answer("odd", { structuredContent: { other: 1 } }));
    expect(read.isError).toBe(true);
    expect(textsOf(read)).toContain("not what the tool's output schema allows: value.mail is missing");
    expect(textsOf(await call("mcp__desk__wipe"))).toMatch(/is not available|is no longer listed/);
  });
});
