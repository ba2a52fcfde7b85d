import { describe, expect, it } from "vitest";
import { ToolDirectory } from "../../catalog/tool-directory.ts";
import { unknownServer, unknownTool } from "../../server/hints.ts";
import { catalogOf } from "./served.ts";

const directory = new ToolDirectory(
  catalogOf({ github: [{ name: "list_issues" }, { name: "delete_repo" }] }),
  ({ namespacedName }) => !namespacedName.includes("delete"),
);
const known = {
  directory,
  unlisted: new Map([["slow_start", "its tools are being listed; try again in a moment"]]),
};

describe("a hint about a tool that cannot be called", () => {
  it.each([
    [
      "mcp__github__list_issue",
      /^there is no tool 'mcp__github__list_issue'; did you mean mcp__github__list_issues\?$/,
    ],
    ["mcp__github__delete_repo", /^'mcp__github__delete_repo' is blocked by the configuration of ptc$/],
    ["mcp__slow_start__go", /^there is no tool 'mcp__slow_start__go' yet: its tools are being listed/],
    ["zebra", /^there is no tool 'zebra'; find one with search_tools$/],
  ])("says of %s what is the matter", (name, hint) => {
    expect(unknownTool(name, known)).toMatch(hint);
  });

  it.each(["slow_start", "slow-start", "Slow.Start"])("knows the server %s by any of its names", (name) => {
    expect(unknownServer(name, known)).toBe(
      `server '${name}': its tools are being listed; try again in a moment`,
    );
  });
});
