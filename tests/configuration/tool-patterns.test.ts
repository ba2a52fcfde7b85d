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

const SERVERS = "servers:\n  - { name: my-docs, command: x }\n  - { name: a.b, command: x }\n";

describe("the tools that are listed directly", () => {
  it("are all that cost little, unless something else is said", () => {
    expect(parse(SERVERS)).toMatchObject({ discovery: "auto", direct: [] });
    expect(parse(`${SERVERS}discovery: search`)).toMatchObject({ discovery: "search" });
  });

  it("are named by a server, by a server and a tool, or by a pattern", () => {
    const { direct } = parse(
      `${SERVERS}direct: [my-docs, my_docs.read, a.b, a.b.c.d, mcp__my_docs__write, "*_list"]`,
    );
    expect(direct).toEqual([
      "mcp__my_docs__*",
      "mcp__my_docs__read",
      "mcp__a_b__*",
      "mcp__a_b__c.d",
      "mcp__my_docs__write",
      "*_list",
    ]);
    const local = "tools: { local: [{ name: now, command: [date], inputSchema: {} }] }\ndirect: [local]";
    expect(parse(local).direct).toEqual(["mcp__local__*"]);
  });

  it("are told of where the server has no such tool", () => {
    const configuration = parse(`${SERVERS}direct: [my-docs, a.b.go, my-docs.raed]`);
    const names = ["mcp__my_docs__read", "mcp__a_b__go"];
    expect(unmatchedPatterns(configuration, names).map(({ message }) => message)).toEqual([
      "ptc.yaml:4: direct[2]: 'mcp__my_docs__raed' matches no tool; did you mean 'mcp__my_docs__read'?",
    ]);
  });
});
