import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { usePtc } from "../cli/ptc-process.ts";
import { claudeVariables } from "../clients/installed-client.ts";
import { serveModel } from "../clients/model-api.ts";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { ticketIn } from "./open.ts";

/**
 * The blocks of docs/library.md, exactly as they stand there, in a folder that has the package and the SDKs installed. What a block
 * prints is what its comments behind `console.log` say.
 */

const ROOT = join(import.meta.dirname, "../..");
const PAGE = readFileSync(join(ROOT, "docs/library.md"), "utf8");
usePtc();
const run = promisify(execFile);

/** The blocks of the page, each with the heading that it stands under. */
const PROGRAMS = PAGE.split(/^#+ /m).flatMap((section) =>
  [...section.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => ({
    title: section.slice(0, section.indexOf("\n")),
    code,
  })),
);

const MAX_LINES = 10;
const ADAPTERS = /from "ptc\/(?:ai-sdk|openai-agents|langchain|claude-agent-sdk|mcp)"/;

const SIX = "globalThis.result = 6 * 7";
const REFUND = "globalThis.result = await mcp__functions__refund({})";

/** What every model says when it was told this: a program, its ticket where that waits, and then what it came to. */
const SAY = `
  const say = (told: string): { code: string } | { text: string } => {
    if (told.includes("[Script executed successfully]"))
      return { text: told.includes("paid") ? "It is paid." : told.includes("42") ? "It is 42." : "It is not." };
    return { code: /ticket [0-9a-f]{16}/.exec(told)?.[0] ?? (told.includes("Pay") ? "${REFUND}" : "${SIX}") };
  };`;

/** Models that run a program and then say what it came to, for each SDK whose block imports one. */
const MODELS: Readonly<Record<string, string>> = {
  "ptc/ai-sdk": `${SAY}
    import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
    const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined }, outputTokens: { total: 1, text: 1, reasoning: undefined } };
    let calls = 0;
    const callOf = (code: string) => ({ type: "tool-call" as const, toolCallId: String(++calls), toolName: "execute_program", input: JSON.stringify({ code }) });
    const finish = { usage, finishReason: { unified: "stop" as const, raw: "" } };
    export const model = new MockLanguageModelV4({
      doGenerate: async ({ prompt }) => {
        const said = say(JSON.stringify(prompt));
        return { ...finish, warnings: [], content: ["text" in said ? { type: "text" as const, text: said.text } : callOf(said.code)] };
      },
      doStream: async ({ prompt }) => {
        const said = say(JSON.stringify(prompt));
        const chunks = "text" in said
          ? [{ type: "text-start" as const, id: "1" }, { type: "text-delta" as const, id: "1", delta: said.text }, { type: "text-end" as const, id: "1" }]
          : [callOf(said.code)];
        return { stream: simulateReadableStream({ chunks: [{ type: "stream-start" as const, warnings: [] }, ...chunks, { type: "finish" as const, ...finish }] }) };
      },
    });`,
  "ptc/openai-agents": `${SAY}
    import { type Model, type ModelRequest, type ModelResponse, setTracingDisabled, Usage } from "@openai/agents";
    setTracingDisabled(true);
    let calls = 0;
    export const model: Model = {
      async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
        const said = say(JSON.stringify(input));
        const id = String(++calls);
        const output = "text" in said
          ? { type: "message" as const, id, role: "assistant" as const, status: "completed" as const, content: [{ type: "output_text" as const, text: said.text }] }
          : { type: "function_call" as const, id, callId: id, name: "execute_program", status: "completed" as const, arguments: JSON.stringify({ code: said.code }) };
        return { usage: new Usage(), output: [output] };
      },
      getStreamedResponse() { throw new Error("not streamed"); },
    };`,
  "ptc/langchain": `${SAY}
    import { AIMessage, type BaseMessage } from "@langchain/core/messages";
    import { FakeListChatModel } from "@langchain/core/utils/testing";
    let calls = 0;
    class Scripted extends FakeListChatModel {
      override bindTools() { return this as never; }
      override async _generate(messages: BaseMessage[]) {
        const said = say(JSON.stringify(messages));
        const message = "text" in said ? new AIMessage(said.text) : new AIMessage({ content: "", tool_calls: [{ id: String(++calls), name: "execute_program", args: { code: said.code } }] });
        return { generations: [{ text: "", message }] };
      }
    }
    export const model = new Scripted({ responses: [] });`,
};

/** The functions that the blocks about approvals import. */
const TOOLS = `
  import { tool } from "ptc";
  const refund = tool({ description: "Pays an order back", annotations: { destructiveHint: true }, execute: async () => "paid" });
  export const tools = { refund };`;

let folder = "";
const places = PROGRAMS.map((_, index) => `block-${index}`);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ptc-documented-"));
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  symlinkSync(join(inject("buildFolder"), "ptc"), join(modules, "ptc"));
  const used = [
    "@anthropic-ai",
    "@langchain",
    "@modelcontextprotocol",
    "@openai",
    "@types",
    "ai",
    "langchain",
    "zod",
  ];
  for (const name of used) symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  for (const [index, { code }] of PROGRAMS.entries()) {
    const place = join(folder, `block-${index}`);
    mkdirSync(join(place, "run"), { recursive: true, mode: 0o700 });
    // Node.js reads the model's module as it is written; the block names what it would be compiled to.
    const [, sdk = ""] = /from "(ptc\/[a-z-]+)"/.exec(code) ?? [];
    if (MODELS[sdk] !== undefined) {
      writeFileSync(join(place, "model.ts"), MODELS[sdk]);
      writeFileSync(join(place, "model.js"), 'export * from "./model.ts";\n');
    }
    if (code.includes("./tools.js")) {
      writeFileSync(join(place, "tools.ts"), TOOLS);
      writeFileSync(join(place, "tools.js"), 'export * from "./tools.ts";\n');
    }
    writeFileSync(join(place, "block.ts"), code);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the lines that embed ptc into another SDK are few", () => {
  const adapters = PROGRAMS.filter(({ code }) => ADAPTERS.test(code));
  expect(adapters.length).toBe(9);
  for (const { title, code } of adapters) {
    const lines = code.split("\n").filter((line) => line !== "");
    // What asks a user imports its SDK's parts of that too.
    const counted = title.startsWith("Approval")
      ? lines.filter((line) => !line.startsWith("import "))
      : lines;
    expect({ title, isShort: counted.length <= MAX_LINES }).toEqual({ title, isShort: true });
  }
});

test("the documented programs keep to the types of the package", async () => {
  const options = {
    ...{ strict: true, noEmit: true, module: "nodenext", target: "es2023", lib: ["esnext", "dom"] },
    ...{ types: ["node"], skipLibCheck: true, allowImportingTsExtensions: true },
  };
  const include = ["block-*/*.ts"];
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include }));
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const checked = run(process.execPath, [tsc, "-p", folder]);
  const { stdout } = await checked.catch((error: { stdout: string }) => error);
  expect(stdout).toBe("");
});

describeSandboxed("the program that docs/library.md shows", () => {
  test.for(PROGRAMS.map(({ title, code }, index) => ({ title, code, place: places[index] ?? "" })))(
    "about '$title' prints what the page says, and then ends by itself",
    async ({ code, place }) => {
      const cwd = join(folder, place);
      const isClaude = code.includes("claude-agent-sdk");
      const execute = "mcp__ptc__execute_program";
      const turns = code.includes("ptcPermission")
        ? [
            { tool: execute, input: { code: REFUND } },
            (told: string) => ({ tool: execute, input: { code: `ticket ${ticketIn(told)}` } }),
            { text: "It is paid." },
          ]
        : [{ tool: execute, input: { code: SIX } }, { text: "It is 42." }];
      const model = isClaude ? await serveModel(turns, "Idle.") : undefined;
      const { stdout } = await run(process.execPath, ["--no-warnings", "block.ts"], {
        cwd,
        env: {
          PATH: process.env.PATH,
          ...(model === undefined ? { HOME: cwd } : claudeVariables(cwd, model.origin)),
          XDG_RUNTIME_DIR: join(cwd, "run"),
          XDG_STATE_HOME: join(cwd, "state"),
          PTC_KEYRING: "off",
        },
      });
      const said = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
      expect(said.length).toBeGreaterThan(0);
      expect(stdout.trimEnd().split("\n")).toEqual(said);
    },
  );
});
