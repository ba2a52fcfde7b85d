import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { TYPESCRIPT_PRINTER } from "../../codegen/typescript/typescript-printer.ts";
import type { ModuleSource } from "../../languages/module-source.ts";
import { explainUnknownTool, OWN_TOOLS, suggestTools } from "../../languages/tool-suggestions.ts";
import { ToolNames } from "../../protocol/tool-names.ts";
import { buildToolDefinitions } from "../../server/mcp/tools/own-tools.ts";
import { tries } from "../tries.ts";
import { checkedModules } from "./typescript/type-check/sample-modules.ts";

let source: ModuleSource;
beforeAll(async () => {
  source = await checkedModules();
});

/** The tools that a program can call. */
async function callable() {
  const modules = await Promise.all(source.modules().map((module) => source.load(module)));
  return modules.flatMap((module) => module?.tools.filter(({ isAvailable }) => isAvailable) ?? []);
}

describe("the name of a tool that there is not", () => {
  it("is answered only with tools that the program can call, by names that mean them, however it is misspelt", async () => {
    const tools = await callable();
    const names = new ToolNames(tools);
    const servers = ["git", "github2", "files", "my-notes", "gitlab", "mcp", "ptc", ""];
    const misspelt = fc
      .tuple(
        fc.constantFrom(...tools),
        fc.constantFrom(...servers),
        fc.nat(),
        fc.constantFrom("", "x", "_", "-", "."),
        fc.constantFrom("mcp__", "mcp_", "", "servers."),
      )
      .map(([tool, server, at, typo, prefix]) => {
        const own = tool.namespacedName.replace(/^mcp__.*?__/, "");
        const place = at % (own.length + 1);
        const written = own.slice(0, place) + typo + own.slice(place + (at % 2));
        return `${prefix}${server === "" ? tool.module : server}__${written}`;
      });
    await fc.assert(
      fc.asyncProperty(fc.oneof(misspelt, fc.string({ maxLength: 60 })), async (name) => {
        for (const { tool, callable: write } of await suggestTools(name, source)) {
          expect(tools).toContain(tool);
          const meant = names.resolve(write);
          expect(meant.length === 1 ? meant[0] : `${tool.module}.${tool.identifier}`).toBe(
            meant.length === 1 ? tool : write,
          );
        }
      }),
      { numRuns: tries(60) },
    );
  });

  it.each([
    ["mcp__git__list_issues", "did you mean 'mcp__github__list_issues'?"],
    ["mcp__gh__whoami", "did you mean 'mcp__github__whoami'?"],
    ["github.list_issues", "did you mean 'mcp__github__list_issues'?"],
    ["list_notes", "did you mean 'mcp__my_notes__list_notes'?"],
    ["mcp__my-notes__list_notes", "did you mean 'mcp__my_notes__list_notes'?"],
    ["mcp_github_list_issues", "did you mean 'mcp__github__list_issues'?"],
    ["mcp__github__lst_issues", "'mcp__github__list_issues'"],
    ["mcp__github__drop_repo", "there is no tool"],
    [
      "mcp__weather__forecast",
      "servers are filesystem, github, my_notes, odd: find a tool with search_tools",
    ],
    ["mcp__down__anything", "yet: server 'down' did not start: no such file"],
  ])("%s is answered with %s", async (name, said) => {
    const unlisted = new Map([["down", "server 'down' did not start: no such file"]]);
    const answer = await explainUnknownTool(name, { ...source, unlisted });
    expect(answer).toContain(said);
    expect(answer).not.toContain("drop_repo'?");
  });

  it("is not answered with tools of a server that is down, although its modules are there", async () => {
    const unlisted = new Map([["github", "server 'github' did not start"]]);
    const suggested = await suggestTools("list_issues", { ...source, unlisted });
    expect(suggested.map(({ tool }) => tool.module)).not.toContain("github");
  });

  it.each([
    "search_tools",
    "searchTools",
    "mcp__ptc__search_tools",
    "mcp__github__execute_program",
    "ptc.inspect_tool",
  ])("that is one of ptc's own is answered with that: %s", async (name) => {
    expect(await explainUnknownTool(name, source)).toMatch(
      /the tools of ptc itself cannot be called by a program: call \w+ as a tool/,
    );
  });

  it("knows all of ptc's own tools", () => {
    expect([...OWN_TOOLS].sort()).toEqual(
      buildToolDefinitions([], [TYPESCRIPT_PRINTER])
        .map(({ name }) => name)
        .sort(),
    );
  });
});
