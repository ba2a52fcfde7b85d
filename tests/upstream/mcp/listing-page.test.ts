import { describe, expect, it } from "vitest";
import { parseListingPage, problemsOf } from "../../../upstream/mcp/tool-listing.ts";

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
