import { describe, expect, it } from "vitest";
import { ToolIndex } from "../../catalog/search/tool-index.ts";
import { ToolCatalog } from "../../catalog/tool-catalog.ts";
import { serversOf } from "./tool-of.ts";

const catalog = new ToolCatalog(
  serversOf({
    github: [{ name: "list_issues" }, { name: "delete-repo", description: "Deletes a repository" }],
    "my-files": [{ name: "list_issues" }, { name: "read\u200b", description: "Reads a file" }],
  }),
  { configured: ["github", "my_files", "slow"], unlisted: new Map([["slow", "did not start"]]) },
);

async function found(of: ToolCatalog, query: string, server?: string): Promise<string[]> {
  return (await of.search(query, { server, limit: 10 })).tools.map(({ namespacedName }) => namespacedName);
}

describe("a catalog of tools", () => {
  it.each([
    ["mcp__github__delete-repo", "mcp__github__delete-repo"],
    ["github.deleteRepo", "mcp__github__delete-repo"],
    ["deleteRepo", "mcp__github__delete-repo"],
    ["delete_repo", "mcp__github__delete-repo"],
    ["github.delete_repo", "mcp__github__delete-repo"],
    ["mcp__github__delete_repo", "mcp__github__delete-repo"],
    ["my-files.list_issues", "mcp__my_files__list_issues"],
    ["mcp__my-files__list_issues", "mcp__my_files__list_issues"],
    ["list_issues", undefined],
    ["mcp__my_files__read\\u{200b}", "mcp__my_files__read\u200b"],
    ["no_such", undefined],
  ])("finds by %s the one tool that goes by it", (name, namespacedName) => {
    expect(catalog.find(name)?.namespacedName).toBe(namespacedName);
  });

  it("gets a tool by nothing but its namespaced name", () => {
    expect(catalog.get("mcp__github__delete-repo")?.name).toBe("delete-repo");
    expect(catalog.get("github.deleteRepo")).toBeUndefined();
  });

  it.each(["my-files", "my_files"])("knows the server %s", (name) => {
    expect(catalog.server(name)?.tools).toHaveLength(2);
  });
});

describe("a view of a catalog", () => {
  const view = catalog.visibleTo(({ server }) => server !== "my-files");

  it("answers every query as if there were nothing else", async () => {
    expect(view.names()).toEqual(["mcp__github__delete-repo", "mcp__github__list_issues"]);
    expect(view.get("mcp__my_files__list_issues")).toBeUndefined();
    expect(view.find("list_issues")?.server).toBe("github");
    expect(await found(view, "reads a file")).toEqual([]);
    expect(await found(view, "list issues")).toEqual(["mcp__github__list_issues"]);
  });

  it("knows what is hidden by its exact name only", () => {
    expect(view.isBlocked("mcp__my_files__list_issues")).toBe(true);
    expect(view.isBlocked("mcp__github__list_issues")).toBe(false);
    expect(catalog.isBlocked("mcp__my_files__list_issues")).toBe(false);
  });

  it("keeps the servers, also those of which nothing is known", () => {
    expect(view.servers.map(({ name, tools }) => [name, tools.length])).toEqual([
      ["github", 2],
      ["my-files", 0],
    ]);
    expect(view.configured).toEqual(["github", "my_files", "slow"]);
    expect(view.unlisted.get("slow")).toBe("did not start");
  });

  it("says nothing of what may not be known, also of servers whose tools are unknown later", () => {
    const unlisted = new Map([["slow", "did not start"]]);
    const servers = serversOf({ github: [{ name: "list" }, { name: "drop" }], desk: [{ name: "send" }] });
    const whole = new ToolCatalog(servers, { configured: ["github", "desk", "slow", "other"], unlisted });
    const isKnown = (module: string, tool?: { name: string }) =>
      ["github", "other"].includes(module) && tool?.name !== "drop";
    const narrow = whole.visibleTo(({ name }) => name === "list", { isKnown }).visibleTo(() => true);
    expect(narrow.servers.map(({ name }) => name)).toEqual(["github"]);
    expect(narrow.configured).toEqual(["github", "other"]);
    expect(narrow.isBlocked("mcp__github__drop")).toBe(false);
    expect(narrow.unlisted.size).toBe(0);
    for (const module of ["desk", "other"]) unlisted.set(module, "did not start");
    expect([...narrow.unlisted.keys()]).toEqual(["other"]);
  });

  it("shows a view of a view no more than both", () => {
    const narrow = view.visibleTo(({ name }) => name !== "delete-repo");
    expect(narrow.names()).toEqual(["mcp__github__list_issues"]);
    expect(narrow.isBlocked("mcp__my_files__list_issues")).toBe(true);
    expect(view.names()).toHaveLength(2);
  });
});

describe("the index that successive catalogs share", () => {
  it("finds what the catalog holds that is searched, and nothing of the others", async () => {
    const index = new ToolIndex();
    const one = new ToolCatalog(serversOf({ a: [{ name: "weather" }], b: [{ name: "umbrella" }] }), {
      index,
    });
    const next = new ToolCatalog(
      serversOf({ a: [{ name: "weather", description: "Of a town", definitionDigest: "new" }] }),
      { index },
    );
    expect(await found(one, "umbrella")).toEqual(["mcp__b__umbrella"]);
    expect(await found(next, "umbrella")).toEqual([]);
    expect(await found(next, "town")).toEqual(["mcp__a__weather"]);
    expect(await found(one, "town")).toEqual([]);
    expect(await found(one, "weather", "b")).toEqual([]);
  });
});
