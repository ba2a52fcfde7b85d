import { describe, expect, it } from "vitest";
import { buildParameterHeaders } from "../../../upstream/mcp/mcp-connection.ts";

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
