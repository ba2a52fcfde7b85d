import { describe, expect, it } from "vitest";
import { unmatchedPatterns } from "../../configuration/tool-patterns.ts";
import { parse } from "./parse-text.ts";

const TOOLS = ["mcp__files__read_file", "mcp__files__delete_file", "mcp__mail__send"];

function unmatched(text: string, unlisted: string[] = []): string[] {
  return unmatchedPatterns(parse(text), TOOLS, unlisted).map(({ message }) => message);
}

describe("entries that match no tool", () => {
  it("are none when each matches some tool", () => {
    expect(unmatched("tools: {block: [mcp__mail__send]}\napprovals: {ask: ['mcp__*__delete_*']}")).toEqual(
      [],
    );
  });

  it("are named with their line, their key and the nearest tool", () => {
    expect(
      unmatched(
        "tools:\n  block:\n    - mcp__files__read_fiel\napprovals:\n  ask: ['mcp__*__drop_*']\n  allow: [mcp__mail__send, mcp__Mail__send_all_of_it_now]",
      ),
    ).toEqual([
      "ptc.yaml:3: tools.block[0]: 'mcp__files__read_fiel' matches no tool; did you mean 'mcp__files__read_file'?",
      "ptc.yaml:5: approvals.ask[0]: 'mcp__*__drop_*' matches no tool; generated/catalog.json has the names of all tools",
      "ptc.yaml:6: approvals.allow[1]: 'mcp__Mail__send_all_of_it_now' matches no tool; did you mean 'mcp__mail__send'?",
    ]);
  });

  it("are not judged when they may be meant for a server whose tools are not known", () => {
    const text = "tools: {allow: [mcp__down__x, 'mcp__*__x', 'mcp__do*', mcp__files__x, 'mcp__down__x*']}";
    expect(unmatched(text, ["down"])).toEqual([
      expect.stringContaining("tools.allow[3]: 'mcp__files__x' matches no tool"),
    ]);
  });
});

describe("the tools that are listed directly", () => {
  it("are warned about where the server has no such tool", () => {
    const configuration = parse(`servers:
  - { name: my-docs, command: x }
  - { name: a.b, command: x }
direct: [my-docs, a.b.go, my-docs.raed]`);
    const names = ["mcp__my_docs__read", "mcp__a_b__go"];
    expect(unmatchedPatterns(configuration, names).map(({ message }) => message)).toEqual([
      "ptc.yaml:4: direct[2]: 'mcp__my_docs__raed' matches no tool; did you mean 'mcp__my_docs__read'?",
    ]);
  });
});
