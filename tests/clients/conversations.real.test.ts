import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { expect, onTestFinished, test } from "vitest";
import { usePtc } from "../cli/ptc-process.ts";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { TYPICAL_CONVERSATIONS, type TypicalConversation } from "./conversations.ts";

const REPOSITORY = join(import.meta.dirname, "../..");
const MOST_ALWAYS = 1_150;

const newProject = usePtc();

/** A client of a `ptc serve` over the servers of the examples, in front of which no person sits. */
async function connect(): Promise<Client> {
  const project = newProject();
  const folder = join(project.directory, "examples/recipes");
  const state = join(project.directory, "state");
  mkdirSync(state);
  cpSync(join(REPOSITORY, "examples/recipes"), folder, {
    recursive: true,
    filter: (path) => basename(path) !== ".ptc",
  });
  symlinkSync(join(REPOSITORY, "node_modules"), join(project.directory, "node_modules"));
  const file = join(folder, "ptc.yaml");
  const more = `
tools: { block: ["mcp__files__write_file"] }
sessions: { max: 1 }
discovery: search
execution: { max_output_bytes: 4096, max_parallel_programs: 1, max_queued_programs: 1 }
`;
  writeFileSync(file, readFileSync(file, "utf8") + more);
  const { client } = await project.serve({
    env: { PTC_HOST: "off", PTC_CONFIG: file, RECIPES_STATE: state, RECIPES_REPOSITORY: state },
  });
  onTestFinished(() => client.close());
  return client;
}

/** What a model reads in a conversation: the tokens of each reply, and all of the text. */
async function hold(client: Client, { steps }: TypicalConversation) {
  const texts: string[] = [];
  for (const step of steps) {
    const calls = "tool" in step ? [step] : step;
    const replies = await Promise.all(
      calls.map(({ tool, args }) => client.callTool({ name: tool, arguments: args })),
    );
    for (const { content } of replies as { content: { text?: string }[] }[])
      texts.push(content.map(({ text = "" }) => text).join("\n"));
  }
  return texts.map((text) => ({ tokens: countTokens(text), text }));
}

describeSandboxed("what a model reads", () => {
  test("is as much as each typical conversation may take, and no more", async () => {
    const client = await connect();
    const { tools } = await client.listTools();
    const definitions = tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema,
    }));
    const always = {
      definitions: countTokens(JSON.stringify(definitions)),
      instructions: countTokens(client.getInstructions() ?? ""),
    };
    expect(always.definitions + always.instructions, JSON.stringify(always)).toBeLessThan(MOST_ALWAYS);
    const wrong: string[] = [];
    for (const conversation of TYPICAL_CONVERSATIONS) {
      const { name, most, says } = conversation;
      const read = await hold(client, conversation);
      const total = read.reduce((sum, { tokens }) => sum + tokens, 0);
      const parts = read.map(({ tokens, text }) => `${tokens} tokens: ${text}`).join("\n\n");
      const inventory = `## ${name}: ${total} tokens of at most ${most}\n\n${parts}\n\n`;
      if (process.env.PTC_INVENTORY) process.stdout.write(inventory);
      if (total > most || !says.test(read.map(({ text }) => text).join("\n"))) wrong.push(inventory);
    }
    expect(wrong.join("")).toBe("");
  });
});
