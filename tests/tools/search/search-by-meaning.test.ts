import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { searchTools } from "../../../catalog/search/tool-index.ts";
import { composeRanking } from "../../../tools/search/compose-ranking.ts";
import { indexOf, tool } from "../../catalog/search/catalog-of-tools.ts";
import { eventually } from "../../eventually.ts";
import { embedByWords, ScriptedEndpoint } from "./scripted-endpoint.ts";

const TOOLS = [
  tool("sky", "get_forecast", { description: "What the weather will be" }),
  tool("books", "create_invoice", { description: "Makes an invoice" }),
  tool("post", "send_message", { description: "Sends mail" }),
  tool("album", "list_photos", { description: "Photos of a folder" }),
  tool("misc", "rename_branch", { description: "Renames a branch" }),
  tool("misc", "read_file", { description: "Reads a file" }),
  tool("misc", "delete_label", { description: "Deletes a label" }),
];
const INDEX = indexOf(...TOOLS);

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "ptc-search-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function open(
  settings: { embedding?: object; rerank?: object },
  { directory = newFolder(), waits = true }: { directory?: string; waits?: boolean } = {},
) {
  const warnings: string[] = [];
  const complete = (given: object | undefined) =>
    given && { url: "", model: "m", key: undefined, timeoutMs: 20_000, ...given };
  const search = { embedding: complete(settings.embedding), rerank: complete(settings.rerank) };
  const options = { env: {}, waits, onSecret: () => {}, onWarning: (line: string) => warnings.push(line) };
  const stage = composeRanking({ directory, search }, options);
  const find = async (query: string, server?: string) => {
    const { results, ...rest } = await searchTools(INDEX, query, { limit: 3, server }, stage);
    return { names: results.map((hit) => hit.tool.name), ...rest };
  };
  return { find, warnings, directory, stage };
}

describe("a search by words and meaning", () => {
  it("finds what no word of the query leads to", async () => {
    const { url } = await ScriptedEndpoint.open();
    const query = "will I need an umbrella";
    expect(INDEX.search(query, { limit: 3 }).results).toEqual([]);
    const { find, warnings } = open({ embedding: { url } });
    expect((await find(query)).names[0]).toBe("get_forecast");
    expect(warnings).toEqual([]);
  });

  it("goes by the keywords where these say what is meant, and asks nobody for a tool's name", async () => {
    const endpoint = await ScriptedEndpoint.open();
    const { find } = open({ embedding: { url: endpoint.url } });
    expect((await find("rename the branch of the picture")).names[0]).toBe("rename_branch");
    const before = endpoint.asked.length;
    expect((await find("misc read_file")).names[0]).toBe("read_file");
    expect(endpoint.asked).toHaveLength(before);
  });

  it("keeps to a server and to its tools", async () => {
    const { url } = await ScriptedEndpoint.open();
    const { find } = open({ embedding: { url } });
    expect((await find("do I need an umbrella", "misc")).names).not.toContain("get_forecast");
  });

  it("sends names and descriptions of tools, the query, and the key, and each tool once", async () => {
    const endpoint = await ScriptedEndpoint.open();
    const { find } = open({ embedding: { url: endpoint.url, key: "secret-key" } });
    await find("umbrella please");
    await find("umbrella please");
    expect(endpoint.asked.map(({ path, authorization }) => [path, authorization])).toEqual([
      ["/v1/embeddings", "Bearer secret-key"],
      ["/v1/embeddings", "Bearer secret-key"],
    ]);
    const sent = endpoint.asked.flatMap(({ body }) => body.input);
    expect(sent).toHaveLength(TOOLS.length + 1);
    expect(sent).toContain("get forecast: What the weather will be");
  });

  it("keeps vectors by definition: a later process asks for what is new alone, and for all of another model", async () => {
    const endpoint = await ScriptedEndpoint.open();
    const first = open({ embedding: { url: endpoint.url } });
    await first.find("umbrella please");
    const { directory } = first;
    expect(readdirSync(join(directory, ".ptc"))).toEqual(["vectors.bin"]);
    const asksOf = async (model: string) => {
      endpoint.asked.length = 0;
      const { find } = open({ embedding: { url: endpoint.url, model } }, { directory });
      expect((await find("umbrella please")).names[0]).toBe("get_forecast");
      return endpoint.asked.flatMap(({ body }) => body.input).length;
    };
    expect(await asksOf("m")).toBe(1);
    expect(await asksOf("other")).toBe(TOOLS.length + 1);
    const file = join(directory, ".ptc/vectors.bin");
    const bytes = readFileSync(file);
    bytes[bytes.length - 3] = (bytes[bytes.length - 3] as number) ^ 1;
    writeFileSync(file, bytes);
    expect(await asksOf("other")).toBe(TOOLS.length + 1);
    writeFileSync(file, bytes.subarray(0, 90));
    expect(await asksOf("other")).toBe(TOOLS.length + 1);
  });

  it("computes all anew when the same name has come to stand for a model of other dimensions", async () => {
    const endpoint = await ScriptedEndpoint.open();
    const first = open({ embedding: { url: endpoint.url } });
    await first.find("umbrella please");
    endpoint.answers(({ body }) => embedByWords(body.input, 9));
    const { find, warnings } = open({ embedding: { url: endpoint.url } }, { directory: first.directory });
    expect((await find("umbrella please")).problem).toContain("of 9 dimensions, and before with 6");
    await eventually(async () => expect((await find("umbrella please")).names[0]).toBe("get_forecast"));
    expect(warnings).toHaveLength(1);
  });

  const text = (content: string) => (response: ServerResponse) => void response.end(content);
  const vectors = (embedding: unknown) => (asked: { body: { input: string[] } }) => ({
    data: asked.body.input.map((_, index) => ({ index, embedding })),
  });
  it.each([
    ["says 500", () => (response: ServerResponse) => void response.writeHead(500).end("secret-key")],
    [
      "leads elsewhere",
      () => (response: ServerResponse) =>
        void response.writeHead(307, { location: "http://127.0.0.1:1/steal" }).end(),
    ],
    ["says no JSON", () => text("<html>")],
    ["says numbers that are none", vectors([1, "NaN", 3])],
    ["says infinite numbers", () => text('{"data":[{"embedding":[1e999]}]}')],
    ["says zeros", vectors([0, 0, 0])],
    ["says nothing", () => ({ data: [] })],
    ["says null", () => text("null")],
    ["says the same index twice", () => ({ data: TOOLS.map(() => ({ index: 0, embedding: [1] })) })],
    [
      "says vectors of different lengths",
      () => ({ data: TOOLS.map((_, index) => ({ index, embedding: new Array(index + 1).fill(1) })) }),
    ],
    ["is deep", () => text("[".repeat(100_000))],
    [
      "never ends",
      () => (response: ServerResponse) => {
        const more = () => {
          while (response.write("[0.1,".repeat(10_000)));
          if (!response.destroyed) response.once("drain", more);
        };
        more();
      },
    ],
    ["hangs up", () => (response: ServerResponse) => void response.destroy()],
  ] as const)("leaves the answer of the keywords and warns once when the endpoint %s", async (_, answer) => {
    const endpoint = await ScriptedEndpoint.open(answer);
    const { find, warnings, directory } = open({ embedding: { url: endpoint.url, key: "secret-key" } });
    const query = "makes an invoice for me";
    const byWords = INDEX.search(query, { limit: 3 });
    const first = await find(query);
    expect(first.problem).toMatch(/^search\.embedding: /);
    for (const found of [first, await find(query)]) {
      expect(found).toMatchObject({
        names: byWords.results.map((hit) => hit.tool.name),
        total: byWords.total,
      });
    }
    expect(warnings).toHaveLength(1);
    expect(warnings.join() + first.problem).not.toContain("secret-key");
    expect(readdirSync(directory)).toEqual([]);
    expect(endpoint.asked).toHaveLength(1);
  });

  it("does not wait for an endpoint that is slow longer than it may, and not again", async () => {
    const waiting: ServerResponse[] = [];
    const endpoint = await ScriptedEndpoint.open(() => (response) => void waiting.push(response));
    const { find, warnings } = open({ embedding: { url: endpoint.url, timeoutMs: 50 } });
    const found = await find("makes an invoice for me");
    expect(found.names[0]).toBe("create_invoice");
    expect(found.problem).toContain("7 of 7 tools");
    expect(warnings).toEqual([]);
    expect((await find("makes an invoice for me")).names[0]).toBe("create_invoice");
    expect(waiting).toHaveLength(1);
  });

  it("cuts texts that the model cannot read", async () => {
    const long = tool("sky", "storm", { description: `Rain ${"and wind ".repeat(200)}` });
    const endpoint = await ScriptedEndpoint.open(({ body }) =>
      body.input.some((each) => each.length > 500)
        ? (response) => void response.writeHead(413).end()
        : embedByWords(body.input),
    );
    const { stage, directory } = open({ embedding: { url: endpoint.url } });
    const index = indexOf(...TOOLS, long);
    const { results, problem } = await searchTools(index, "an umbrella please", { limit: 2 }, stage);
    expect(problem).toBeUndefined();
    expect(results.map((hit) => hit.tool.name).sort()).toEqual(["get_forecast", "storm"]);
    expect(readdirSync(join(directory, ".ptc"))).toEqual(["vectors.bin"]);
  });

  it("waits in a server for no vector of a tool, and uses them when they are there", async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const endpoint = await ScriptedEndpoint.open(
      ({ body }) =>
        (response) =>
          void gate.then(() => response.end(JSON.stringify(embedByWords(body.input)))),
    );
    const { find, stage } = open({ embedding: { url: endpoint.url } }, { waits: false });
    stage?.prepare?.(TOOLS);
    expect((await find("an umbrella please")).names).toEqual([]);
    go();
    await eventually(async () => expect((await find("an umbrella please")).names[0]).toBe("get_forecast"));
  });
});

describe("a model that chooses", () => {
  const chat = (content: unknown) => () => ({ choices: [{ message: { role: "assistant", content } }] });

  it("puts first what it has chosen of the best, which it sees by number", async () => {
    const endpoint = await ScriptedEndpoint.open(chat("<think>[1]?</think>Sure: [3, 2]"));
    const { find } = open({ rerank: { url: endpoint.url, key: "k" } });
    const query = "deletes, renames or reads a file, branch or label";
    const before = INDEX.search(query, { limit: 3 }).results.map((hit) => hit.tool.name);
    expect((await find(query)).names).toEqual([before[2], before[1], before[0]]);
    const [asked] = endpoint.asked;
    expect(asked).toMatchObject({ path: "/v1/chat/completions", authorization: "Bearer k" });
    expect(asked?.body.messages[1]?.content).toMatch(/^Need: deletes, .*\n\nTools:\n1\. mcp__misc__/);
  });

  it("says that nothing fits when it chooses none", async () => {
    const { url } = await ScriptedEndpoint.open(chat("[]"));
    const { find } = open({ rerank: { url } });
    expect(await find("reads a file of mine")).toMatchObject({ names: ["read_file"], fitsPoorly: true });
  });

  it.each([
    ["talks", chat("I would take the first.")],
    ["chooses what is not there", chat("[99]")],
    ["says something else", () => ({ choices: "no" })],
    ["says 500", () => (response: ServerResponse) => void response.writeHead(500).end()],
  ] as const)("leaves the answer of before and warns once when it %s", async (_, answer) => {
    const { url } = await ScriptedEndpoint.open(answer);
    const { find, warnings } = open({ rerank: { url } });
    for (let round = 0; round < 2; round++) {
      const found = await find("reads a file of mine");
      expect(found).toMatchObject({ names: ["read_file"] });
      expect(found.problem).toMatch(/^search\.rerank: answers with /);
    }
    expect(warnings).toHaveLength(1);
  });

  it("chooses from what meaning has ranked", async () => {
    const endpoint = await ScriptedEndpoint.open(({ path, body }) =>
      path.endsWith("/embeddings") ? embedByWords(body.input) : chat("[1]")(),
    );
    const { url } = endpoint;
    const { find } = open({ embedding: { url }, rerank: { url } });
    expect((await find("an umbrella please")).names[0]).toBe("get_forecast");
    const last = endpoint.asked.at(-1);
    expect(last?.body.messages[1]?.content).toContain("1. mcp__sky__get_forecast: What the weather will be");
  });
});
