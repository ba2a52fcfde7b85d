import { describe, expect, it } from "vitest";
import { ToolCatalog, unknownServer, unknownTool } from "../../catalog/tool-catalog.ts";
import { serversOf } from "./tool-of.ts";

const known = new ToolCatalog(serversOf({ github: [{ name: "list_issues" }, { name: "delete_repo" }] }), {
  unlisted: new Map([["slow_start", "its tools are being listed; try again in a moment"]]),
}).visibleTo(({ name }) => !name.includes("delete"));

describe("what is said of a tool that is not in a catalog", () => {
  it.each([
    [
      "mcp__github__list_issue",
      /^there is no tool 'mcp__github__list_issue'; did you mean mcp__github__list_issues\?$/,
    ],
    ["mcp__github__delete_repo", /^'mcp__github__delete_repo' is blocked by the configuration of ptc$/],
    ["mcp__slow_start__go", /^there is no tool 'mcp__slow_start__go' yet: its tools are being listed/],
    ["slow-start.go", /^there is no tool 'slow-start.go' yet: its tools are being listed/],
    ["zebra", /^there is no tool 'zebra'; find one with search_tools$/],
  ])("says of %s what is the matter", (name, hint) => {
    expect(unknownTool(name, known)).toMatch(hint);
  });

  it.each(["slow_start", "slow-start", "Slow.Start"])("knows the server %s by any of its names", (name) => {
    expect(unknownServer(name, known)).toBe(
      `there is no server '${name}' yet: its tools are being listed; try again in a moment`,
    );
  });
});
