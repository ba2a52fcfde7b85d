import { describe, expect, it } from "vitest";
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

  it("is refused as a whole when that is so of a great many", () => {
    expect(() => parseListingPage(page(3_000, 99))).toThrow("holds a number beyond");
  });
});
