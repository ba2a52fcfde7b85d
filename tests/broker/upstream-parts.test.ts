import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineSplitter, LineSplitterError } from "../../broker/line-splitter.ts";
import { buildParameterHeaders } from "../../broker/parameter-headers.ts";
import { listAllPages } from "../../broker/tool-listing.ts";

describe("lines", () => {
  it("come out whole, however the stream is cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme" })),
        fc.integer({ min: 1, max: 7 }),
        (texts, size) => {
          const lines = texts.map((text) => text.replaceAll("\n", ""));
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
          const splitter = new LineSplitter(10_000);
          const out: unknown[] = [];
          for (let i = 0; i < bytes.length; i += size)
            out.push(...splitter.push(bytes.subarray(i, i + size)));
          expect(out).toEqual(lines);
        },
      ),
    );
  });

  it.each([1, 3, 1_000_000])("that are too long are told by their ends, in chunks of %i", (size) => {
    const splitter = new LineSplitter(1_000, 5_000);
    const bytes = Buffer.from(`short\n<${"x".repeat(3_000)}>\n${"y".repeat(1_000)}\n`);
    const out: unknown[] = [];
    for (let i = 0; i < bytes.length; i += size) out.push(...splitter.push(bytes.subarray(i, i + size)));
    expect(out).toEqual([
      "short",
      { bytes: 3_002, head: `<${"x".repeat(511)}`, tail: `${"x".repeat(511)}>` },
      "y".repeat(1_000),
    ]);
  });

  it("that never end are an error", () => {
    const splitter = new LineSplitter(1_000, 5_000);
    const chunk = Buffer.alloc(1_000, "x");
    for (let i = 0; i < 5; i++) expect(splitter.push(chunk)).toEqual([]);
    expect(() => splitter.push(chunk)).toThrow(LineSplitterError);
  });
});

describe("a listing", () => {
  const page = (tools: unknown[], nextCursor?: unknown) => ({ tools, nextCursor });
  const limits = { pages: 3, tools: 4, bytes: 100 };

  it.each([
    [undefined, "answered tools/list with something that is no list of tools"],
    [{ tools: {} }, "answered tools/list with something that is no list of tools"],
    [page([], 7), "sent a cursor in tools/list that is no text"],
    [page([1, 2, 3, 4, 5]), "lists more than 4 tools"],
    [page(["x".repeat(200)]), "lists tools of more than 100 bytes"],
  ])("cannot have the page %j", async (first, message) => {
    await expect(listAllPages(async () => first, limits)).rejects.toThrow(message);
  });

  it("cannot have pages without end", async () => {
    let pages = 0;
    const next = async () => page([], String(pages++));
    await expect(listAllPages(next, limits)).rejects.toThrow("lists its tools on more than 3 pages");
    expect(pages).toBe(3);
  });

  it.each([undefined, null, ""])("ends with the cursor %j", async (cursor) => {
    expect(await listAllPages(async () => page([1], cursor), limits)).toEqual([1]);
  });
});

describe("headers for arguments", () => {
  const definition = {
    inputSchema: {
      type: "object",
      properties: {
        region: { type: "string", "x-mcp-header": "Region" },
        nested: { type: "object", properties: { id: { type: "integer", "x-mcp-header": "Id" } } },
        ratio: { type: "number", "x-mcp-header": "Ratio" },
        bad: { type: "string", "x-mcp-header": "Bad Name\r\n" },
        plain: { type: "string" },
      },
    },
  };

  it.each([
    [
      { region: "eu-1", nested: { id: 42 }, plain: "p" },
      { "Mcp-Param-Region": "eu-1", "Mcp-Param-Id": "42" },
    ],
    [{ region: "Zürich" }, { "Mcp-Param-Region": "=?base64?WsO8cmljaA==?=" }],
    [{ region: "a\r\nX: y" }, { "Mcp-Param-Region": "=?base64?YQ0KWDogeQ==?=" }],
    [{ region: " a" }, { "Mcp-Param-Region": "=?base64?IGE=?=" }],
    [{ region: "" }, { "Mcp-Param-Region": "=?base64??=" }],
    [{ region: "=?base64?YQ==?=" }, { "Mcp-Param-Region": "=?base64?PT9iYXNlNjQ/WVE9PT89?=" }],
    [{ region: null, ratio: 0.5, bad: "b" }, {}],
    ["not an object", {}],
    [undefined, {}],
  ])("of %j are %j", (args, headers) => {
    expect(buildParameterHeaders(definition, args)).toEqual(headers);
  });

  it("are none without a definition", () => {
    expect(buildParameterHeaders(undefined, { region: "x" })).toEqual({});
  });
});
