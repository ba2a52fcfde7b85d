import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";
import { envelopeOf } from "../cli/ptc-process.ts";
import { claudeVariables, describeClient, findClaudeCode, runClient } from "./installed-client.ts";
import { type ModelApi, serveModel, toolResultOf } from "./model-api.ts";
import {
  DIRECT,
  DIRECT_ANSWER,
  PROGRAM,
  REPLY,
  TOOLS,
  useServedProject,
  WRONG_PROGRAM,
} from "./served-project.ts";

const served = useServedProject();
const NAMES = TOOLS.map((name) => `mcp__ptc__${name}`);
const EXECUTE = "mcp__ptc__execute_program";

describeClient("Claude Code", findClaudeCode, (claude) => {
  const variables = ({ origin }: ModelApi) => claudeVariables(served().home, origin);

  /** Runs Claude Code in a folder that is not the project's. */
  function run(model: ModelApi, args: readonly string[], env: Record<string, string> = {}) {
    return runClient(claude, args, { cwd: served().home, env: { ...variables(model), ...env } });
  }

  let isAdded = false;

  /** Adds ptc, unless an earlier test did. */
  async function add(model: ModelApi): Promise<void> {
    if (isAdded) return;
    const { serve } = served();
    await run(model, ["mcp", "remove", "ptc"]);
    const env = Object.entries(serve.env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    const added = await run(model, ["mcp", "add", "ptc", ...env, "--", serve.command, ...serve.args]);
    expect(added).toMatchObject({ code: 0 });
    isAdded = true;
  }

  async function prompt(model: ModelApi, env?: Record<string, string>) {
    const args = ["-p", "Go on.", "--output-format", "json", "--allowedTools", NAMES.join(",")];
    const { code, stdout, stderr } = await run(model, args, env);
    if (code !== 0) throw new Error(`Claude Code ended with ${code}: ${stdout}${stderr}`);
    expect(model.strays).toEqual([]);
    return JSON.parse(stdout);
  }

  test("shows ptc as connected once it has been added", async () => {
    const model = await serveModel([]);
    await add(model);
    const { code, stdout } = await run(model, ["mcp", "list"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^ptc: .*Connected$/m) });
    expect(model.strays).toEqual([]);
  });

  test("connects after the very line that `ptc serve --help` prints", async () => {
    const { folder, home, serve } = served();
    const help = await folder.ptc(["serve", "--help"]);
    const [line = ""] = /\bclaude mcp add .*/.exec(help.stdout) ?? [];
    const programs = join(home, "bin");
    mkdirSync(programs);
    symlinkSync(claude[0], join(programs, "claude"));
    const model = await serveModel([]);
    await run(model, ["mcp", "remove", "ptc"]);
    isAdded = false;
    const env = { ...variables(model), ...serve.env, PATH: `${programs}:${process.env.PATH}` };
    const added = await runClient(["/bin/sh"], ["-c", line], { cwd: home, env });
    expect(added).toMatchObject({ code: 0 });
    const { stdout } = await run(model, ["mcp", "list"], serve.env);
    expect(stdout).toMatch(/^ptc: .* serve .*Connected$/m);
  });

  test.for(["legacy", "auto"])(
    "runs a program for its model when it negotiates the protocol as '%s'",
    async (negotiation) => {
      const model = await serveModel([
        { tool: EXECUTE, input: { code: PROGRAM } },
        { text: "Both are there." },
      ]);
      await add(model);
      const { result, permission_denials } = await prompt(model, { MCP_PROTOCOL_NEGOTIATION: negotiation });
      expect({ result, permission_denials }).toEqual({ result: "Both are there.", permission_denials: [] });
      const [, second] = model.requests;
      expect(second && toolResultOf(second)).toEqual({ text: REPLY, isError: false });
    },
  );

  test("that nobody watches, as with -p, has a call wait for its person, instead of taking it for refused", async () => {
    const code = 'await mcp__my_documents__delete_document({ documentId: "a" });';
    const model = await serveModel([{ tool: EXECUTE, input: { code } }, { text: "It waits." }]);
    await add(model);
    expect(await prompt(model)).toMatchObject({ result: "It waits." });
    const [, second] = model.requests;
    const reply = second && toolResultOf(second);
    expect(reply?.text).toMatch(/^\[Script waits for an approval\]\n.*`ptc approvals approve [0-9a-f]+`/);
    expect(reply?.isError).toBe(false);
  });

  test("puts the tools, as ptc describes them, and the instructions before its model", async () => {
    const model = await serveModel([{ text: "I see." }]);
    await add(model);
    await prompt(model, { ENABLE_TOOL_SEARCH: "false" });
    const [request] = model.requests;
    const tools = request?.tools.filter(({ name }) => name.startsWith("mcp__"));
    expect(tools?.map(({ name }) => name).sort()).toEqual(NAMES);
    for (const { description } of tools ?? []) expect(description).not.toMatch(/truncated|…$/);
    const seen = JSON.stringify(request?.messages);
    expect(seen).toContain("## ptc");
    expect(seen).toMatch(/Servers: my_documents/);
    expect(seen).not.toContain("[truncated]");
  });

  test("calls a tool that it has directly, whose call is replayed like a program", async () => {
    const model = await serveModel([
      { tool: `mcp__ptc__${DIRECT}`, input: { documentId: "a" } },
      { text: "There it is." },
    ]);
    await add(model);
    expect(await prompt(model, { ENABLE_TOOL_SEARCH: "false" })).toMatchObject({ result: "There it is." });
    const [, second] = model.requests;
    const { text, isError } = toolResultOf(second ?? { stream: true, tools: [], messages: [] });
    expect({ answer: JSON.parse(text), isError }).toEqual({ answer: DIRECT_ANSWER, isError: false });
    const { folder } = served();
    const runs = JSON.parse((await folder.ptc(["runs", "list", "--json"])).stdout);
    const { input_digest: digest } = runs.find(({ source }: { source: string }) => source === "direct");
    const replayed = await folder.ptc(["replay", digest]);
    expect(replayed.code).toBe(0);
    expect(envelopeOf(replayed).result).toMatchObject({ ok: true, data: DIRECT_ANSWER });
  });

  test("has put little before its model when that writes its first program", async () => {
    const query = { query: "get a document", detail: "signature", limit: 5 };
    const model = await serveModel([
      { tool: "mcp__ptc__search_tools", input: query },
      { tool: EXECUTE, input: { code: PROGRAM } },
      { text: "Both are there." },
    ]);
    await add(model);
    expect(await prompt(model)).toMatchObject({ result: "Both are there." });
    const [asked, found, ran] = model.requests;
    if (asked === undefined || found === undefined || ran === undefined) throw new Error("too few requests");
    const definitions = asked.tools.filter(({ name }) => name.startsWith("mcp__ptc__"));
    const [instructions = ""] = /## ptc\\n.*?(?=\\n## |<\/|")/s.exec(JSON.stringify(asked.messages)) ?? [];
    const signatures = toolResultOf(found).text;
    expect(instructions).toContain("search_tools with detail");
    expect(signatures).toMatch(/my_documents\.getDocument\(\{documentId: ?string\}\)/);
    const tokens = [JSON.stringify(definitions), instructions, signatures].map((text) => countTokens(text));
    expect(tokens.reduce((sum, each) => sum + each)).toBeLessThan(1_100);
    expect(toolResultOf(ran)).toEqual({ text: REPLY, isError: false });
  });

  test("puts running and finding before its model even where it puts tools off", async () => {
    const model = await serveModel([{ text: "I see." }]);
    await add(model);
    await prompt(model);
    const tools = model.requests[0]?.tools.filter(({ name }) => name.startsWith("mcp__"));
    expect(tools?.map(({ name }) => name).sort()).toEqual([
      "mcp__ptc__execute_program",
      "mcp__ptc__search_tools",
    ]);
  });

  test("shows its model all that ptc shows of a long result, which it would put into a file else", async () => {
    const code = 'console.log("word ".repeat(12_000));';
    const model = await serveModel([{ tool: EXECUTE, input: { code } }, { text: "Read." }]);
    await add(model);
    expect(await prompt(model)).toMatchObject({ result: "Read." });
    const [, ran] = model.requests;
    expect(ran && toolResultOf(ran).text.length).toBeGreaterThan(60_000);
  });

  test("hands its model a failure, with which it can correct the program", async () => {
    const model = await serveModel([
      { tool: EXECUTE, input: { code: WRONG_PROGRAM } },
      { tool: "mcp__ptc__inspect_tool", input: { tool_name: "mcp__my_documents__get_document" } },
      { tool: EXECUTE, input: { code: PROGRAM } },
      { text: "Corrected." },
    ]);
    await add(model);
    expect(await prompt(model)).toMatchObject({ result: "Corrected." });
    const [failed, inspected, corrected] = model.requests.slice(1).map(toolResultOf);
    expect(failed).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^\[Script execution failed\]\nTypeCheckError: .*2:.*documentId/s),
    });
    expect(inspected).toMatchObject({
      isError: false,
      text: expect.stringMatching(/"inputSchema":.*"documentId":\{"type":"string"/),
    });
    expect(corrected).toEqual({ text: REPLY, isError: false });
  });
});
