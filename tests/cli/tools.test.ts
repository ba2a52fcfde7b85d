import { describe, expect, test } from "vitest";
import { listen, type Seen, serveModern, serveStreamable } from "../upstream/mcp/upstream-http-servers.ts";
import { usePtcWithoutWalls } from "./in-process.ts";
import { fixtureServer } from "./ptc-process.ts";

const project = usePtcWithoutWalls();

describe("a program's tools", () => {
  const documents = { servers: [fixtureServer("my-documents", "documents.mjs")] };

  test("are the same as typed modules, by their full name, and by callTool", async () => {
    const folder = project({ "ptc.yaml": documents });
    await folder.generate();
    const { code, envelope } = await folder.run(
      `import * as documents from "./servers/my_documents/index.js";
       const args = { documentId: "a" };
       globalThis.result = {
         answers: [
           await documents.getDocument(args),
           await mcp__my_documents__get_document(args),
           await callTool("mcp__my_documents__get_document", args),
         ],
         parsed: await documents.listDocuments(),
         raw: await documents.getDocument.result(args),
         parallel: await parallel(["x", "y", "z"].map((id) => () => documents.getDocument({ documentId: id })), { limit: 2 }),
       };`,
    );
    const document = (id: string) => ({ title: `Document ${id}`, words: 3 });
    expect(envelope.result).toMatchObject({
      ok: true,
      data: {
        answers: [document("a"), document("a"), document("a")],
        parsed: [{ id: "a" }, { id: "b" }],
        raw: { ok: true, data: document("a"), raw: { structuredContent: document("a") } },
        parallel: [document("x"), document("y"), document("z")],
      },
      metrics: { tool_calls: 8 },
    });
    expect(code).toBe(0);
    expect(folder.state()).toEqual([]);
  });

  test("throw a ToolError that a program can catch, and that ends it when it does not", async () => {
    const folder = project({ "ptc.yaml": documents });
    await folder.generate();
    const caught = await folder.run(
      `import { getDocument, lockDocument } from "./servers/my_documents/index.js";
       const fields = (e: any) => [e instanceof ToolError, e instanceof Error, e.name, e.server, e.tool, e.message, e.retryable];
       const errors = [];
       try { await lockDocument({ documentId: "a" }); } catch (e) { errors.push(fields(e)); }
       try { await getDocument({ documentId: 5 } as any); } catch (e) { errors.push(fields(e)); }
       const outcome = await lockDocument.result({ documentId: "a" });
       globalThis.result = { errors, ok: outcome.ok, isError: outcome.raw.isError };`,
    );
    expect(caught.envelope.result).toMatchObject({
      ok: true,
      data: {
        errors: [
          [
            true,
            true,
            "ToolError",
            "my_documents",
            "lock_document",
            expect.stringMatching(/a is locked by somebody else/),
            false,
          ],
          [
            true,
            true,
            "ToolError",
            "my_documents",
            "get_document",
            expect.stringMatching(/documentId/),
            false,
          ],
        ],
        ok: false,
        isError: true,
      },
    });
    const uncaught = await folder.run('\nawait mcp__my_documents__lock_document({ documentId: "a" });');
    expect(uncaught.code).toBe(1);
    expect(uncaught.envelope.result).toMatchObject({
      error: {
        type: "ToolError",
        message: expect.stringMatching(/locked by somebody else\n {4}at program\.ts:2:/),
      },
    });
  });

  test("come from servers of both generations over stdio", async () => {
    const servers = [fixtureServer("v1", "echo-v1.mjs"), fixtureServer("v2", "echo-v2.mjs")];
    const folder = project({ "ptc.yaml": { servers } });
    await folder.generate();
    const { envelope } = await folder.run(
      `import * as v1 from "./servers/v1/index.js";
       import * as v2 from "./servers/v2/index.js";
       globalThis.result = await Promise.all([v1.echo({ text: "one" }), v2.echo({ text: "two" })]);`,
    );
    expect(envelope.result).toMatchObject({ ok: true, data: ["one", "two"] });
  });

  test("come from servers of both generations over Streamable HTTP, which get their headers", async () => {
    const seen: Seen = { headers: [], started: 0, aborted: 0 };
    const urls = [await listen(serveStreamable(seen).listener), await listen(serveModern(seen))];
    const headers = { Authorization: "Bearer $" + "{PTC_TEST_TOKEN}" };
    const [v1, v2] = urls.map((url) => ({ transport: "http", url: `${url}/mcp`, headers }));
    const servers = [
      { name: "v1", ...v1 },
      { name: "v2", ...v2 },
    ];
    const folder = project({ "ptc.yaml": { servers } });
    const env = { PTC_TEST_TOKEN: "token-of-the-test" };
    expect((await folder.ptc(["generate"], { env })).code).toBe(0);
    const { envelope, stdout, stderr } = await folder.run(
      'globalThis.result = [await mcp__v1__echo({ text: "one" }), await mcp__v2__echo({ text: "two" }), process.env];',
      [],
      { env },
    );
    expect(envelope.result).toMatchObject({ ok: true, data: ["one", "two", {}] });
    expect(seen.headers.length).toBeGreaterThan(0);
    for (const { authorization } of seen.headers) expect(authorization).toBe("Bearer token-of-the-test");
    expect(stdout + stderr).not.toContain("token-of-the-test");
  });
});

describe("a program's calls", () => {
  const servers = (...args: Parameters<typeof fixtureServer>) => ({ servers: [fixtureServer(...args)] });

  test("fail one by one when their server dies, and the program goes on", async () => {
    const folder = project({ "ptc.yaml": servers("x", "dies-on-call.mjs") });
    await folder.generate();
    const { envelope } = await folder.run(
      "const error = await mcp__x__go({}).catch((e) => e); globalThis.result = [error.name, error.retryable, error.message];",
    );
    expect(envelope.result).toMatchObject({
      ok: true,
      data: ["ToolError", true, expect.stringMatching(/'mcp__x__go' failed: .*\b7\b/)],
    });
    expect(folder.state()).toEqual([]);
  });

  test("fail when their server does not answer in time", async () => {
    const slow = { ...fixtureServer("x", "slow-tool.mjs"), call_timeout_seconds: 1 };
    const folder = project({ "ptc.yaml": { servers: [slow] } });
    await folder.generate();
    const { envelope } = await folder.run("await mcp__x__go({});");
    expect(envelope.result).toMatchObject({
      error: { type: "ToolError", retryable: true, message: expect.stringMatching(/within 1 s/) },
    });
  });

  test("are in flight at once up to max_parallel_calls, and no more", async () => {
    const config = { ...servers("x", "holds-calls.mjs", ["4"]), execution: { max_parallel_calls: 4 } };
    const folder = project({ "ptc.yaml": config });
    await folder.generate();
    const { envelope } = await folder.run(
      "globalThis.result = await Promise.all(Array.from({ length: 12 }, () => mcp__x__go({})));",
    );
    expect(envelope.result).toMatchObject({ ok: true, data: Array(12).fill(4) });
  });

  test("end at max_tool_calls", async () => {
    const config = { ...servers("x", "echo-v1.mjs"), execution: { max_tool_calls: 3 } };
    const folder = project({ "ptc.yaml": config });
    await folder.generate();
    const { envelope } = await folder.run(
      `globalThis.result = [];
       for (let i = 0; i < 5; i++) globalThis.result.push(await mcp__x__echo({ text: String(i) }).catch((e) => e.message));`,
    );
    const refused = expect.stringMatching(/was not called: .*max_tool_calls/);
    expect(envelope.result).toMatchObject({
      ok: true,
      data: [0, 1, 2, refused, refused],
      metrics: { tool_calls: 3 },
    });
  });

  test("reach only the tools that the configuration allows", async () => {
    const blocked = project({
      "ptc.yaml": { ...servers("x", "echo-v1.mjs"), tools: { block: ["mcp__x__ec*"] } },
    });
    await blocked.generate();
    const code = `globalThis.result = [];
      for (const name of ["mcp__x__echo", "mcp__x__grow", "mcp__x__none"]) {
        const args = name.endsWith("grow") ? {} : { text: "t" };
        globalThis.result.push(await callTool(name, args).then(() => "called", (e) => e.message));
      }`;
    const refusal = (name: string) => `'${name}' is not available in execute_program`;
    expect((await blocked.run(code)).envelope.result).toMatchObject({
      data: [refusal("mcp__x__echo"), "called", refusal("mcp__x__none")],
    });
    blocked.write("ptc.yaml", { ...servers("x", "echo-v1.mjs"), tools: { allow: ["mcp__x__echo"] } });
    expect((await blocked.run(code)).envelope.result).toMatchObject({
      data: ["called", refusal("mcp__x__grow"), refusal("mcp__x__none")],
    });
  });

  test("of destructive tools need an approval", async () => {
    const folder = project({ "ptc.yaml": servers("x", "documents.mjs") });
    await folder.generate();
    const code = 'globalThis.result = await mcp__x__delete_document({ documentId: "a" });';
    const denied = await folder.run(code);
    expect(denied.code).toBe(1);
    expect(denied.envelope).toMatchObject({
      approval_state: "DENIED",
      result: { ok: false, error: { type: "ApprovalDenied", retryable: false } },
    });
    expect(denied.stderr).toContain("--suspend");
    const approved = await folder.run(code, ["--approve", "mcp__x__delete_*"]);
    expect(approved.envelope).toMatchObject({
      approval_state: "APPROVED",
      result: { ok: true, data: "deleted a" },
    });
    const other = await folder.run(code, ["--approve", "mcp__y__*"]);
    expect(other.envelope.approval_state).toBe("DENIED");
  });

  test("of a tool that is not what it was are refused until it is generated again", async () => {
    const tool = { name: "go", description: "Goes.", inputSchema: { type: "object" } };
    const folder = project({ "tools.json": [tool] });
    folder.write("ptc.yaml", servers("x", "tools-from-file.mjs", [`${folder.directory}/tools.json`]));
    await folder.generate();
    const code = "globalThis.result = await mcp__x__go({ n: 1 });";
    expect((await folder.run(code)).envelope.result).toMatchObject({
      ok: true,
      data: { name: "go", args: { n: 1 } },
    });
    folder.write("tools.json", [{ ...tool, description: "Goes, and tells everybody." }]);
    expect((await folder.run(code)).envelope.result).toMatchObject({
      error: { type: "ToolError", message: expect.stringMatching(/was changed .*run `ptc generate`/) },
    });
    folder.write("tools.json", []);
    expect((await folder.run(code)).envelope.result).toMatchObject({
      error: { type: "ToolError", message: expect.stringMatching(/no longer listed .*run `ptc generate`/) },
    });
  });

  test("to a server that cannot be started say why, and the program goes on", async () => {
    const folder = project({ "ptc.yaml": servers("x", "echo-v1.mjs") });
    await folder.generate();
    folder.write("ptc.yaml", { servers: [{ name: "x", command: "no-such-command-here" }] });
    const { envelope } = await folder.run(
      'globalThis.result = await mcp__x__echo({ text: "t" }).catch((e) => e.message);',
    );
    expect(envelope.result).toMatchObject({
      ok: true,
      data: expect.stringMatching(/'x'.*no-such-command-here/),
    });
  });
});
