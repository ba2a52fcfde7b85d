import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { indexOf, tool } from "./catalog-of-tools.ts";

const search = indexOf(
  tool("git", "git_commit", { description: "Create a commit with a message", inputSchema: message() }),
  tool("git", "git_log", { description: "Show the history of commits, newest first, in order" }),
  tool("files", "read_file", { description: "Read the text of a file" }),
  tool("files", "list_directory", { description: "List what a directory contains" }),
  tool("files", "move_file", { description: "Move or rename a file" }),
  tool("memory", "search_nodes", { description: "Search the nodes of the graph" }),
  tool("mail", "dispatch", { title: "Send an e-mail", description: "To one or several addresses" }),
  tool("tenki", "tenki", { description: "天気予報を取得する" }),
);

function message() {
  return { type: "object", properties: { message: { type: "string", description: "What has changed" } } };
}

const fitsPoorly = (query: string) => search.search(query, { limit: 10 }).fitsPoorly ?? false;

describe("a search", () => {
  it.each([
    "post a slack message",
    "order a large pizza",
    "list sentry errors",
    "create a stripe invoice",
    "show me something about kubernetes",
  ])("says that nothing fits '%s' well", (query) => {
    expect(fitsPoorly(query)).toBe(true);
  });

  it.each([
    "commit with a message",
    "show the log",
    "raed a file",
    "git_commit",
    "gitcommit",
    "listDirectory",
    "send email",
    "email",
    "dispatch",
    "rename",
    "天気",
    "what is there",
    "I have been working on this project for days, and now a colleague has to see in which order my commits were made",
    "find the file, then tell my friend Bob in Toronto about it",
  ])("trusts what it finds for '%s'", (query) => {
    expect(fitsPoorly(query)).toBe(false);
  });

  it("keeps what is nearest, best first", () => {
    expect(search.search("post a slack message", { limit: 10 }).results[0]?.tool.name).toBe("git_commit");
  });

  it("looks at what one server has when it is kept to one", () => {
    expect(search.search("commit", { limit: 10, server: "git" }).fitsPoorly).toBeUndefined();
    expect(search.search("slack commit order", { limit: 10, server: "files" }).results).toEqual([]);
  });
});

describe("a search among the tools of six real servers, none of which has mail, users or shops", () => {
  const catalog = readFileSync(
    join(import.meta.dirname, "../../../examples/recipes/generated/catalog.json"),
    "utf8",
  );
  const { servers }: { servers: { module: string; tools: { name: string }[] }[] } = JSON.parse(catalog);
  const real = indexOf(
    ...servers.flatMap(({ module, tools }) => tools.map(({ name, ...more }) => tool(module, name, more))),
  );

  it.each([
    "send an email",
    "delete a user",
    "create an invoice",
    "book a flight",
    "list tables",
    "resize an image",
  ])(
    "says that nothing fits '%s', of which parameters speak in passing, or only what is done is said",
    (query) => {
      expect(real.search(query, { limit: 10 }).fitsPoorly).toBe(true);
    },
  );

  it.each([
    "commit changes",
    "read a file",
    "query the database",
    "fetch a web page",
    "read a text file and commit",
  ])("trusts what it finds for '%s'", (query) => {
    expect(real.search(query, { limit: 10 }).fitsPoorly).toBeUndefined();
  });
});
