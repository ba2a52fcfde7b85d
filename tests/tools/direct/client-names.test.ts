import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  clientBlock,
  clientIcons,
  clientMeta,
  clientPrompt,
  clientUri,
  isForViewsAlone,
  serverPrompt,
  serverUri,
} from "../../../tools/client-names.ts";

const DESK = { module: "desk", apps: true };

describe("what clients read of a server", () => {
  it("has URIs and names that lead back to that server alone, whatever the server calls its own", () => {
    const module = fc.stringMatching(/^[a-z0-9]{1,8}(?:_[a-z0-9]{1,4})?$/);
    const own = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.constantFrom("ui://a/b", "mcp://other/x", "ui://other", "file:///a?b#c", "x{?y}"),
    );
    fc.assert(
      fc.property(module, module, own, own, (a, b, one, two) => {
        fc.pre(one !== "ui://" && two !== "ui://");
        expect(serverUri(clientUri(a, one))).toEqual({ module: a, uri: one });
        expect(serverPrompt(clientPrompt(a, one))).toEqual({ module: a, prompt: one });
        if (a !== b) expect(clientUri(a, one)).not.toBe(clientUri(b, two));
      }),
    );
    for (const other of ["file:///a", "mcp://desk", "mcp://desk/", "MCP://desk/a", "mcp:///a", "ui://", ""])
      expect(serverUri(other)).toBeUndefined();
  });

  it("keeps what is said to clients, but for what only ptc or the protocol may say, and views name their server", () => {
    const csp = { connectDomains: ["https://api.example"], frameDomains: [] };
    const meta = {
      ui: { resourceUri: "ui://chart", csp, visibility: ["app"] },
      "openai/outputTemplate": "ui://chart",
      "ptc/envelope": { forged: true },
      "io.modelcontextprotocol/related-task": { taskId: "1" },
      tags: ["a"],
    };
    expect(clientMeta(meta, DESK)).toEqual({
      ui: { resourceUri: "ui://desk/chart", csp, visibility: ["app"] },
      "openai/outputTemplate": "ui://desk/chart",
      tags: ["a"],
    });
    expect(clientMeta(meta, { ...DESK, apps: false })).toEqual({ tags: ["a"] });
    expect(clientMeta({ "ptc/envelope": 1 }, DESK)).toBeUndefined();
    expect([meta, { ui: { visibility: ["model", "app"] } }, {}, "text"].map(isForViewsAlone)).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  it("has only icons that load nothing of this machine, and links that can be read", () => {
    const icons = [
      "https://a.example/i.png",
      "data:image/png;base64,AA",
      "file:///etc/passwd",
      "javascript:0",
    ];
    expect(clientIcons(icons.map((src) => ({ src })))).toEqual(icons.slice(0, 2).map((src) => ({ src })));
    expect(clientIcons([{ src: 1 }, "x"])).toBeUndefined();
    const link = { type: "resource_link", uri: "file:///a", name: "a", description: "one\u202etwo" };
    expect(clientBlock(link, DESK)).toEqual({
      ...{ type: "resource_link", uri: "mcp://desk/file:///a" },
      ...{ name: "a", description: "one\\u{202e}two" },
    });
    const resource = { uri: "ui://chart", text: "<p>", _meta: { "ptc/learned": 1, ui: { csp: {} } } };
    expect(clientBlock({ type: "resource", resource }, DESK)).toEqual({
      type: "resource",
      resource: { uri: "ui://desk/chart", text: "<p>", _meta: { ui: { csp: {} } } },
    });
  });
});
