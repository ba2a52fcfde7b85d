import { describe, expect, it } from "vitest";
import { ForeignJsonError } from "../../../base/json.ts";
import { listAllPages, parseListingPage, problemsOf } from "../../../upstream/mcp/tool-listing.ts";

describe("a listing", () => {
  const page = (tools: unknown[], nextCursor?: unknown) => ({ tools, nextCursor });
  const listed = { method: "tools/list", member: "tools", noun: "tools" };
  const limits = { pages: 3, items: 4, bytes: 100 };

  it.each([
    [undefined, "answered tools/list with something that is no list of tools"],
    [{ tools: {} }, "answered tools/list with something that is no list of tools"],
    [page([], 7), "sent a cursor in tools/list that is no text"],
    [page([1, 2, 3, 4, 5]), "lists more than 4 tools"],
    [page(["x".repeat(200)]), "lists tools of more than 100 bytes"],
  ])("cannot have the page %j", async (first, message) => {
    await expect(listAllPages(async () => first, listed, limits)).rejects.toThrow(message);
  });

  it("may be as long as its limits are", async () => {
    const items = ["x".repeat(94), 1, 2, 3];
    expect(await listAllPages(async () => page(items), listed, { ...limits, bytes: 99 })).toEqual(items);
  });

  it("is asked for page by page, and never for one of them twice", async () => {
    const cursors: unknown[] = [];
    const cursorAfter: Record<string, string> = { "": "a", a: "b", b: "a" };
    const next = async (cursor = "") => {
      cursors.push(cursor);
      return page([cursors.length], cursorAfter[cursor]);
    };
    await expect(listAllPages(next, listed, { ...limits, pages: 9 })).rejects.toThrow(
      "sent the same cursor twice in tools/list, which would never end",
    );
    expect(cursors).toEqual(["", "a", "b"]);
  });

  it("cannot have pages without end", async () => {
    let pages = 0;
    const next = async () => page([], String(pages++));
    await expect(listAllPages(next, listed, limits)).rejects.toThrow("lists its tools on more than 3 pages");
    expect(pages).toBe(3);
  });

  it.each([undefined, null, ""])("ends with the cursor %j", async (cursor) => {
    expect(await listAllPages(async () => page([1], cursor), listed, limits)).toEqual([1]);
  });
});

describe("a page of a listing", () => {
  const page = (tools: number, fields: number) => {
    const members = Array.from({ length: fields }, (_, i) => `"f${i}":1e999`).join(",");
    return `{"tools":[${Array.from({ length: tools }, (_, i) => `{"name":"t${i}",${members}}`).join(",")}]}`;
  };

  it("may hold tools of which something cannot be read", () => {
    expect(problemsOf(parseListingPage(page(100, 5)))).toHaveLength(500);
  });

  it("keeps of a tool what can be read, and a digest of each schema that cannot", () => {
    const read = (rest: string) => {
      const result = parseListingPage(`{"tools":[{"name":"t",${rest}}]}`);
      const [tool] = (result as unknown as { tools: Record<string, { $comment?: string }>[] }).tools;
      return { tool, problems: problemsOf(result) };
    };
    const comment = (rest: string) => read(rest).tool?.inputSchema?.$comment;
    const twice = '"inputSchema":{"a":1},"inputSchema":{"b":1}';
    expect(read(`${twice},"title":1e999,"annotations":{"a":1e999},"description":"kept"`)).toEqual({
      tool: {
        name: "t",
        description: "kept",
        inputSchema: { $comment: expect.stringMatching(/^left out by ptc: is there twice, sha256:/) },
        annotations: { destructiveHint: true },
      },
      problems: [
        { tool: "t", message: "its inputSchema is there twice, and is left out" },
        { tool: "t", message: expect.stringMatching(/^its title holds a number .*, and is left out$/) },
        { tool: "t", message: expect.stringMatching(/^its annotations holds a number .*, and is left out$/) },
      ],
    });
    expect(comment(`${twice},"title":"other"`)).toBe(comment(twice));
    for (const other of ['"inputSchema":{"a":1},"inputSchema":{"b":2}', '"inputSchema":{"a":1e999}'])
      expect(comment(other)).not.toBe(comment(twice));
    expect(comment('"inputSchema":{"a":2e999}')).not.toBe(comment('"inputSchema":{"a":1e999}'));
  });

  it("leaves out a tool whose name cannot be read, and says so", () => {
    const result = parseListingPage(
      '{"nextCursor":"c","tools":[{"name":1e999},{"name":"t"},{"name":"a","name":"b"}]}',
    );
    expect(result).toMatchObject({ tools: [{ name: "t" }], nextCursor: "c" });
    expect(problemsOf(result).map(({ message }) => message)).toEqual([
      expect.stringMatching(/^a tool without a readable name is left out: it holds a number/),
      expect.stringMatching(/^a tool without a readable name is left out: it /),
    ]);
  });

  it("has no problems where all of it can be read, and an output schema that cannot is left out", () => {
    expect(problemsOf(parseListingPage('{"tools":[{"name":"t"}]}'))).toEqual([]);
    for (const value of [undefined, null, "a page", 5]) expect(problemsOf(value)).toEqual([]);
    expect(parseListingPage('{"tools":[{"name":"t","outputSchema":{"a":1e999}}]}')).toMatchObject({
      tools: [{ outputSchema: { $comment: expect.stringMatching(/^left out by ptc: /) } }],
    });
  });

  it.each([
    ["what is no page", "[1e999]"],
    ["one without tools", '{"tool":[1e999]}'],
    ["one with its tools twice", '{"tools":[1e999],"tools":[]}'],
    ["one whose tools are no list", '{"tools":{"a":1e999}}'],
    ["one with two cursors", '{"tools":[{"name":"t","f":1e999}],"nextCursor":"a","nextCursor":"b"}'],
    ["one whose cursor cannot be read", '{"tools":[{"name":"t"}],"nextCursor":1e999}'],
  ])("is refused as a whole where it is %s", (_, text) => {
    expect(() => parseListingPage(text)).toThrow(ForeignJsonError);
  });

  it("is refused as a whole when that is so of a great many", () => {
    expect(() => parseListingPage(page(3_000, 99))).toThrow("holds a number beyond");
  });
});
