import type { ExampleCall, ProgramGuide } from "../language-printer.ts";
import { functionName, packageName, parameterNames } from "./python-names.ts";

/** Names that the example has beside those of the call. */
const NAMES = new Set(["asyncio", "each", "found", "print", "str"]);

function printExample({ module, tool: { name, identifier }, argument }: ExampleCall): string | undefined {
  const called = functionName(name, identifier);
  if (NAMES.has(called) || (argument !== "" && parameterNames([argument]).get(argument) !== argument))
    return undefined;
  const from = `from servers.${packageName(module)} import ${called}`;
  const lines =
    argument === ""
      ? [from, `found = await ${called}()`]
      : [
          "import asyncio",
          from,
          `found = await asyncio.gather(*[${called}(${argument}=each) for each in ["a", "b"]])`,
        ];
  return [...lines, "print(str(found)[:500])"].join("\n");
}

/** What a model is told of programs in Python. Every word of it is in the context of every conversation. */
export const PYTHON_GUIDE: ProgramGuide = {
  signatures: "Python",
  programs: "Python",
  givesBack: "prints or sets as result",
  abilities: "Top-level await works, Python's standard library can be imported",
  calls:
    "`from servers.<server> import some_tool; await some_tool(key=value)`, or `await mcp__<server>__<tool>(key=value)`",
  example: printExample,
  rules:
    "A program without await gets functions that block. Results are dicts and lists. A failed call raises ToolError. Types are checked first. Tools without an output schema return Any: print a small sample before relying on its shape.",
  extract: '`await extract(text, {"name": str, "tags": [str]})`',
  brief: "functions have the tools' names and take keyword arguments; print, or set result.",
};
