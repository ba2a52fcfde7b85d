import type { ProgramGuide } from "../language-printer.ts";

const EXAMPLE = `import asyncio
from servers.github import list_issues, get_issue
issues = await list_issues(owner="o", repo="r")
details = await asyncio.gather(*[get_issue(owner="o", repo="r", number=i["number"]) for i in issues])
print([d["title"] for d in details if d["comments"] > 10])`;

/** What a model is told of programs in Python. Every word of it is in the context of every conversation. */
export const PYTHON_GUIDE: ProgramGuide = {
  signatures: "Python",
  programs: "Python",
  givesBack: "prints or sets as result",
  abilities: "Top-level await works, Python's standard library can be imported",
  calls:
    "`from servers.<server> import some_tool; await some_tool(key=value)`, or `await mcp__<server>__<tool>(key=value)`",
  example: EXAMPLE,
  rules:
    "A program without await gets functions that block. Results are dicts and lists. A failed call raises ToolError. Types are checked first: a message names the wrong argument. Tools without an output schema return Any: print a small sample before relying on its shape.",
  extract: '`await extract(text, {"name": str, "tags": [str]})`',
  brief: "functions have the tools' names and take keyword arguments; print, or set result.",
};
