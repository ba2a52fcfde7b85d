import { describe, expect, it } from "vitest";
import { searchTools } from "../../../catalog/search/tool-index.ts";
import { withMethods } from "../../../upstream/mcp/server-methods.ts";
import { found, indexOf, tool } from "./catalog-of-tools.ts";

/** The methods of a server that has resources and prompts, as they are listed. */
const methodsOf = (server: string) =>
  (withMethods([], new Set(["resources", "prompts"])) as { name: string }[]).map(({ name, ...more }) =>
    tool(server, name, more),
  );

const search = indexOf(
  tool("files", "read_text_file", { description: "Read the text of a file" }),
  tool("files", "read_file", { description: "Read a file as text" }),
  tool("files", "read_multiple_files", { description: "Read the texts of several files at once" }),
  tool("files", "read_media_file", { description: "Read an image or audio file" }),
  tool("files", "edit_file", { description: "Edit the text of a file line by line" }),
  tool("files", "write_file", { description: "Write a text to a file" }),
  tool("git", "git_commit", { description: "Record what is staged, with a message" }),
  tool("web", "fetch_txt", { description: "Fetch a page as plain text" }),
  ...["git", "web", "memory", "everything", "notes"].flatMap(methodsOf),
);
const methods = (query: string, limit = 10) =>
  found(search, query, { limit }).filter((name) => name.includes("/"));

describe("methods of the protocol, which many servers have", () => {
  it.each(["read a text file and commit", "read a file", "list what there is", "get the name"])(
    "do not crowd out the tools that are meant by '%s'",
    (query) => {
      expect(methods(query)).toEqual([]);
    },
  );

  it.each([
    ["read a resource", "resources/read"],
    ["list the prompts of notes", "prompts/list"],
    ["fetch mcp://a.uri", "resources/read"],
    ["resources/read", "resources/read"],
    ["mcp__notes__prompts/get", "prompts/get"],
  ])("are found by '%s'", (query, method) => {
    expect(methods(query)[0]).toContain(method);
  });

  it("are not handed to a stage that ranks by meaning either", async () => {
    const handed: string[] = [];
    const stage = {
      rank: async (_: string, __: unknown, tools: readonly { name: string }[]) => {
        handed.push(...tools.map(({ name }) => name));
        return {};
      },
    };
    await searchTools(search, "read a text file and commit", { limit: 5 }, stage);
    expect(handed).toContain("git_commit");
    expect(handed.filter((name) => name.includes("/"))).toEqual([]);
  });
});

describe("a query of two needs", () => {
  it.each([3, 5, 10])("finds a tool for each among the best %i, however many fit one of them", (limit) => {
    const names = found(search, "read a text file and commit", { limit });
    expect(names[0]).toBe("mcp__files__read_text_file");
    expect(names).toContain("mcp__git__git_commit");
    expect(names.length).toBeLessThanOrEqual(limit);
  });
  it("gives no place to what fits a verb alone, whose object stands further on", () => {
    const notes = indexOf(
      ...["note", "notes", "note_by_title", "notes_by_tag"].map((what) =>
        tool("notes", `read_${what}`, { description: "Reads or writes notes of the notebook" }),
      ),
      tool("files", "write", { description: "Write" }),
    );
    expect(found(notes, "write, and read notes of the notebook", { limit: 3 })).not.toContain(
      "mcp__files__write",
    );
  });
});
