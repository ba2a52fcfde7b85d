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
const CODE = JSON.stringify(JSON.stringify({ code: "globalThis.result = 6 * 7" }));

/** Models that run a program and then say what it came to, for each SDK whose block imports one. */
const MODELS: Readonly<Record<string, string>> = {
  "ptc/ai-sdk": `
    import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
    const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined }, outputTokens: { total: 1, text: 1, reasoning: undefined } };
    const call = [{ type: "tool-call", toolCallId: "1", toolName: "execute_program", input: ${CODE} }, { type: "finish", usage, finishReason: { unified: "tool-calls", raw: "" } }] as const;
    const say = (delta: string) => [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta }, { type: "text-end", id: "1" }, { type: "finish", usage, finishReason: { unified: "stop", raw: "" } }] as const;
    export const model = new MockLanguageModelV4({
      doStream: async ({ prompt }) => {
        const told = JSON.stringify(prompt);
        const chunks = told.includes("[Script executed successfully]") ? say(told.includes("42") ? "It is 42." : "It is not.") : call;
        return { stream: simulateReadableStream({ chunks: [{ type: "stream-start" as const, warnings: [] }, ...chunks] }) };
      },
    });`,
  "ptc/openai-agents": `
    import { type Model, type ModelRequest, type ModelResponse, setTracingDisabled, Usage } from "@openai/agents";
    setTracingDisabled(true);
    export const model: Model = {
      async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
        const told = JSON.stringify(input);
        const output = told.includes("[Script executed successfully]\\\\n42")
          ? { type: "message" as const, id: "2", role: "assistant" as const, status: "completed" as const, content: [{ type: "output_text" as const, text: "It is 42." }] }
          : { type: "function_call" as const, id: "1", callId: "1", name: "execute_program", status: "completed" as const, arguments: ${CODE} };
        return { usage: new Usage(), output: [output] };
      },
      getStreamedResponse() { throw new Error("not streamed"); },
    };`,
  "ptc/langchain": `
    import { AIMessage, type BaseMessage } from "@langchain/core/messages";
    import { FakeListChatModel } from "@langchain/core/utils/testing";
    class Scripted extends FakeListChatModel {
      override bindTools() { return this as never; }
      override async _generate(messages: BaseMessage[]) {
        const isTold = messages.at(-1)?.text === "[Script executed successfully]\\n42";
        const message = isTold ? new AIMessage("It is 42.") : new AIMessage({ content: "", tool_calls: [{ id: "1", name: "execute_program", args: JSON.parse(${CODE}) }] });
        return { generations: [{ text: "", message }] };
      }
    }
    export const model = new Scripted({ responses: [] });`,
};

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
    writeFileSync(join(place, "block.ts"), code);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the lines that embed ptc into another SDK are few", () => {
  const adapters = PROGRAMS.filter(({ code }) => ADAPTERS.test(code));
  expect(adapters.length).toBe(5);
  for (const { title, code } of adapters)
    expect({ title, lines: code.split("\n").filter((line) => line !== "").length <= MAX_LINES }).toEqual({
      title,
      lines: true,
    });
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
      const turns = [
        { tool: "mcp__ptc__execute_program", input: { code: "globalThis.result = 6 * 7" } },
        { text: "It is 42." },
      ];
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
