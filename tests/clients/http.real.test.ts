import { createHmac } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { usePostgres, WITHOUT_POSTGRES } from "../archive/postgres/server.ts";
import { receive } from "../notify/receiver.ts";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { answerOf, modern, post } from "../server/http/served-http.ts";
import { connectSessions, connectStateless, serveHttp } from "./http-clients.ts";
import { PROGRAM, REPLY, TOOLS, useServedProject } from "./served-project.ts";

const served = useServedProject();

const ERAS = [
  { era: "2025-11-25", connect: connectSessions },
  { era: "2026-07-28", connect: connectStateless },
];

const DELETE = `import { deleteDocument } from "./servers/my_documents/index.js";
console.log((await deleteDocument({ documentId: "a" })) !== undefined);`;

describeSandboxed("ptc serve --http", () => {
  describe.each(ERAS)("a client of $era over HTTP", ({ era, connect }) => {
    test("runs a program behind the wall", async () => {
      const { url, process } = await serveHttp(served().folder);
      const client = await connect(url);
      expect(client.protocolVersion).toBe(era);
      expect((await client.listTools()).sort()).toEqual(TOOLS);
      const reply = await client.call("execute_program", { code: PROGRAM });
      expect(reply).toMatchObject({ content: [{ text: REPLY }] });
      process.kill("SIGTERM");
      expect(await process.exited).toMatchObject({ code: 0 });
    });

    test("asks its person whether a call is made, and goes on with the answer", async () => {
      const { url } = await serveHttp(served().folder);
      const asked: string[] = [];
      const client = await connect(url, {
        person: (question) => {
          asked.push(question);
          return { action: "accept", content: { decision: "once" } };
        },
      });
      const reply = await client.call("execute_program", { code: DELETE });
      expect(reply).toMatchObject({ content: [{ text: "[Script executed successfully]\ntrue" }] });
      expect(asked).toEqual([expect.stringContaining("delete_document")]);
    });
  });

  test("a question that nobody answers in the client is told in Slack, and answered there", async () => {
    const { folder } = served();
    const slack = await receive();
    const notify = {
      slack: { url: slack.url, signing_secret: "shh", approvers: { U024BE7LH: "local" } },
      after_seconds: 0,
    };
    const before = JSON.parse(folder.read("ptc.yaml"));
    folder.write("ptc.yaml", { ...before, notify });
    onTestFinished(() => folder.write("ptc.yaml", before));
    const { url } = await serveHttp(folder);
    const client = await connectSessions(url, { person: () => new Promise<never>(() => {}) });
    const reply = client.call("execute_program", { code: DELETE });
    await expect.poll(() => slack.received.length).toBe(1);
    const { blocks } = JSON.parse(slack.received[0]?.body ?? "");
    expect(JSON.stringify(blocks)).toContain("deleteDocument");
    const [{ value }] = blocks.at(-1).elements;
    const payload = {
      ...{ type: "block_actions", user: { id: "U024BE7LH", username: "ada" }, response_url: slack.url },
      actions: [{ action_id: "ptc_approve", value }],
    };
    const body = `payload=${encodeURIComponent(JSON.stringify(payload))}`;
    const at = String(Math.floor(Date.now() / 1_000));
    const signature = `v0=${createHmac("sha256", "shh").update(`v0:${at}:${body}`).digest("hex")}`;
    const headers = { "X-Slack-Request-Timestamp": at, "X-Slack-Signature": signature };
    const press = () => fetch(new URL("/notify/slack", url), { method: "POST", headers, body });
    expect((await press()).status).toBe(200);
    expect(await reply).toMatchObject({
      content: [
        { text: "[Script executed successfully]\ntrue" },
        {
          text: expect.stringMatching(
            /approved by local \(Slack, member U024BE7LH, whose name there is "ada"\)/,
          ),
        },
      ],
    });
    await expect.poll(() => slack.received.length).toBe(2);
    expect(JSON.parse(slack.received[1]?.body ?? "")).toMatchObject({ replace_original: true });
    await press();
    await expect.poll(() => slack.received.length).toBe(3);
    expect(JSON.parse(slack.received[2]?.body ?? "")).toMatchObject({ response_type: "ephemeral" });
  });

  test("ends at SIGTERM when its program has ended, whose client is answered and which is archived", async () => {
    const { folder } = served();
    const { url, process } = await serveHttp(folder);
    const code = `console.log("begun");
      await mcp__my_documents__list_documents();
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      globalThis.result = "whole";`;
    const begun = Promise.withResolvers<void>();
    const client = await connectStateless(url);
    const running = client.call("execute_program", { code }, { onProgress: () => begun.resolve() });
    await begun.promise;
    process.kill("SIGTERM");
    await expect.poll(async () => (await fetch(new URL("/readyz", url))).status).toBe(503);
    expect((await post(url, modern("tools/list"))).status).toBe(503);
    const reply = (await running) as { _meta?: Record<string, { run_id: string }> };
    expect(JSON.stringify(reply)).toContain("whole");
    expect(await process.exited).toMatchObject({ code: 0 });
    const runId = reply._meta?.["ptc/envelope"]?.run_id ?? "";
    const { stdout } = await folder.ptc(["runs", "list", "--json"]);
    expect(stdout).toContain(runId);
    const { stdout: audited } = await folder.ptc(["audit", "--run", runId, "--event", "run", "--json"]);
    expect(audited.trim().split("\n")).toHaveLength(1);
  });

  const postgres = usePostgres();

  describe(`two processes on one storage${WITHOUT_POSTGRES}`, () => {
    test.skipIf(WITHOUT_POSTGRES !== "")(
      "ask at one and go on at the other, which the client does not notice",
      async () => {
        const { folder } = served();
        const configuration = JSON.parse(folder.read("ptc.yaml"));
        const storage = { url: postgres().url(), encryption_key: Buffer.alloc(32, 7).toString("base64") };
        folder.write("ptc.yaml", { ...configuration, storage, http: { auth: { tokens: true } } });
        const made = await folder.ptc([
          "token",
          "create",
          "agent",
          "--scope",
          "ptc:run",
          "--scope",
          "ptc:approve",
        ]);
        const headers = { Authorization: `Bearer ${made.stdout.trim()}` };
        const [first, second] = await Promise.all([serveHttp(folder), serveHttp(folder)]);
        const call = modern("tools/call", { name: "execute_program", arguments: { code: DELETE } });
        const asked = await answerOf(await post(first.url, call, headers));
        expect(asked).toMatchObject({ result: { resultType: "input_required" } });
        first.process.kill("SIGKILL");
        await first.process.exited;
        const { requestState } = asked.result as unknown as { requestState: string };
        const inputResponses = { approval: { action: "accept", content: { decision: "once" } } };
        const answered = { ...call, params: { ...call.params, requestState, inputResponses } };
        expect(await answerOf(await post(second.url, answered, headers))).toMatchObject({
          result: { content: [{ text: "[Script executed successfully]\ntrue" }] },
        });
        const again = await answerOf(await post(second.url, answered, headers));
        expect(again).toMatchObject({ result: { isError: true } });
        const { stdout } = await folder.ptc(["runs", "list", "--json"]);
        expect(JSON.parse(stdout)).toMatchObject([{ principal: "token#agent" }]);
        await folder.ptc(["token", "revoke", "agent"]);
        await expect.poll(async () => (await post(second.url, call, headers)).status).toBe(401);
      },
    );
  });
});
