import { createRequire } from "node:module";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { useUser } from "../upstream/authorization/logged-in.ts";
import { ScriptedBrowser } from "../upstream/authorization/servers/browser.ts";
import { serveProtected } from "../upstream/authorization/servers/protected-server.ts";
import { serveRouter } from "../upstream/authorization/servers/router-server.ts";
import { usePtc } from "./ptc-process.ts";

const EVERYTHING = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);
const CONFIGURATION = {
  servers: [{ name: "everything", command: process.execPath, args: [EVERYTHING] }],
  tools: { block: ["mcp__everything__prompts/list"] },
};
/** Uses what a real server has beside tools that answer text, and hands it on. */
const PROGRAM = `import * as everything from "./servers/everything/index.js";
const blocks = await everything.getTinyImage({});
emit(blocks);
const bytes = bytesOf(blocks.find((block: ContentBlock) => block.type === "image"));
emit(bytes, { mimeType: "image/png", name: "tiny.png" });
const asked = await everything.triggerElicitationRequest.result({});
const { resources } = await everything.resources.list();
const read = await everything.resources.read("demo://resource/dynamic/blob/1");
const prompt = await everything.prompts.get("args-prompt", { city: "Rome" });
globalThis.result = {
  start: [...bytes.slice(0, 4)],
  asked: asked.error?.message,
  listed: resources.some(({ uri }) => uri.endsWith("/features.md")),
  resource: new TextDecoder().decode(bytesOf(read.contents[0]!)),
  prompt: prompt.messages[0]?.content.text,
  blocked: await everything.prompts.list().catch((error) => error.message),
};`;

describeSandboxed("what a real server sends beyond text", () => {
  const project = usePtc();

  test("reaches the program as bytes, the client as blocks, the archive, and a replay that emits the same", async () => {
    const folder = project({ "ptc.yaml": CONFIGURATION });
    await folder.generate();
    const { envelope, stdout, stderr } = await folder.run(PROGRAM, ["--emit-to", "out"]);
    expect(envelope.result).toMatchObject({
      ok: true,
      data: {
        start: [0x89, 0x50, 0x4e, 0x47],
        asked: expect.stringContaining("server 'everything' asks for an input in the middle of the call"),
        listed: true,
        resource: expect.stringContaining("Resource 1"),
        prompt: "What's weather in Rome?",
        blocked: "'mcp__everything__prompts/list' is not available in execute_program",
      },
    });
    expect(stdout.trim().split("\n")).toHaveLength(1);
    expect(stderr).toContain("ptc: emitted: tiny.png, image/png, 4.0 kB, to ");
    expect(folder.read("out/tiny.png").length).toBeGreaterThan(1_000);
    const shown = await folder.ptc(["runs", "show", envelope.run_id, "--json"]);
    const { emitted } = JSON.parse(shown.stdout) as { emitted: { type: string }[] };
    expect(emitted.map(({ type }) => type)).toEqual(["text", "image", "text", "resource"]);
    const page = await folder.ptc(["runs", "show", envelope.run_id, "--html", "-"]);
    expect(page).toMatchObject({ code: 0 });
    const replayed = await folder.ptc(["replay", envelope.run_id]);
    expect(replayed).toMatchObject({ code: 0, stderr: expect.stringContaining("ptc: same: 6 calls") });
    // Served, the same program hands the blocks to the client beside its text.
    const { client } = await folder.serve();
    const reply = await client.callTool({ name: "execute_program", arguments: { code: PROGRAM } });
    expect((reply.content as { type: string }[]).map(({ type }) => type)).toEqual([
      "text",
      ...emitted.map(({ type }) => type),
    ]);
    await client.close();
  });

  test("is nothing before a login, for which a client is given the page, or the command where it shows none", async () => {
    const router = await serveRouter();
    const server = await serveProtected({ authorizationServers: [router.issuer], verifier: router });
    const user = useUser(server.url);
    await user.logIn();
    const folder = project({ "ptc.yaml": { servers: [{ name: "guarded", url: server.url }] } });
    expect(await folder.ptc(["generate"], { env: user.env })).toMatchObject({ code: 0 });
    const code = 'result = (await mcp__guarded__echo({ text: "hi" }));';
    // Who serves has not logged in yet.
    const env = { XDG_STATE_HOME: folder.directory, PTC_KEYRING: "off" };
    const execute = async (client?: Client) => {
      const served = await folder.serve({ env, ...(client === undefined ? {} : { client }) });
      const { content } = await served.client.callTool({ name: "execute_program", arguments: { code } });
      await served.client.close();
      return JSON.stringify(content);
    };
    expect(await execute()).toContain("server 'guarded' needs a login: run `ptc auth login guarded`");
    const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: { url: {} } } });
    const asked: unknown[] = [];
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      asked.push(params.mode);
      if (params.mode === "url") void new ScriptedBrowser().open(params.url);
      return { action: "accept" };
    });
    const answer = await execute(client);
    expect(answer).toContain("[Script executed successfully]");
    expect(answer).toContain("hi");
    expect(asked).toEqual(["url"]);
  });
});
