import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
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
});
