import { describe, expect, it } from "vitest";
import { unmatchedPatterns } from "../../configuration/tool-patterns.ts";
import { parse, problemIn } from "./parse-text.ts";

const SERVERS = "servers:\n  - { name: my-docs, command: x }\n  - { name: a.b, command: x }\n";

describe("the tools that are listed directly", () => {
  it("are all that cost little, unless something else is said", () => {
    expect(parse(SERVERS)).toMatchObject({ discovery: "auto", direct: [] });
    expect(parse(`${SERVERS}discovery: search`)).toMatchObject({ discovery: "search" });
    expect(problemIn(`${SERVERS}discovery: all`)).toBe(
      "ptc.yaml:4: discovery: must be one of auto, search, direct",
    );
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

  it("are refused where no such server is, and where it has no such tool", () => {
    expect(problemIn(`${SERVERS}direct:\n  - my-docs\n  - docs.read`)).toBe(
      "ptc.yaml:6: direct[1]: names no server; write a server's name, <server>.<tool> or mcp__<server>__<tool>; servers: my-docs, a.b",
    );
    const configuration = parse(`${SERVERS}direct: [my-docs, a.b.go, my-docs.raed]`);
    const names = ["mcp__my_docs__read", "mcp__a_b__go"];
    expect(unmatchedPatterns(configuration, names).map(({ message }) => message)).toEqual([
      "ptc.yaml:4: direct[2]: 'mcp__my_docs__raed' matches no tool; did you mean 'mcp__my_docs__read'?",
    ]);
  });
});
