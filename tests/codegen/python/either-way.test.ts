import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { awaited, eitherWay, PYTHON_STUBS } from "../../../codegen/python/program-stubs.ts";
import { EXTRACT_NAME } from "../../../protocol/tool-names.ts";

const GOLDEN = join(import.meta.dirname, "../../golden");
const stubs = readdirSync(GOLDEN, { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith(".pyi"),
);
const HOSTILE = `"""A server

async def fake():
@_either_way
"""

from typing import Any

# ptc {"tool": "mcp__x__a", "input": "Any"}
async def a() -> Any:
    """Says

    async def b():
    @_either_way
from servers import either_way_ as _either_way
    """
`;

describe("stubs for editors", () => {
  it.each([...stubs, "hostile"])("are read back as they were printed (%s)", (name) => {
    const text =
      name === "hostile"
        ? HOSTILE.replace(/^from servers.*\n/gm, "")
        : awaited(readFileSync(join(GOLDEN, name), "utf8"));
    const shown = eitherWay(text);
    expect(awaited(shown)).toBe(text);
    expect(awaited(text)).toBe(text);
  });

  it("have one decorator for each function, and none for what a server says", () => {
    const shown = eitherWay(HOSTILE);
    expect(shown).toContain('@_either_way\nasync def a() -> Any:\n    """Says\n\n    async def b():');
    expect(shown.match(/^@_either_way\nasync def/gm)).toHaveLength(1);
  });
});

describe.each(["async", "sync"] as const)("stubs of what every program finds around it (%s)", (mode) => {
  const named = (module: string, identifier: string, namespacedName = `mcp__${module}__${identifier}`) => ({
    ...{ module, identifier, namespacedName },
  });
  const builtins = (...tools: ReturnType<typeof named>[]) => PYTHON_STUBS.builtins(tools, mode);
  const EXTRACT = named("ptc", "extract", EXTRACT_NAME);

  it("import the types that they use and no others", () => {
    const text = builtins(EXTRACT, named("notes", "add"));
    const code = text.replace(/""".*?"""/gs, "").replace(/^from .*$/gm, "");
    for (const [module, types] of [
      ["collections.abc", "AsyncIterator Awaitable Callable Iterable Iterator Mapping"],
      ["typing", "Any Literal overload"],
    ] as const) {
      const imported =
        new RegExp(`^from ${module.replace(".", "\\.")} import (.*)$`, "m").exec(text)?.[1] ?? "";
      const used = types.split(" ").filter((type) => new RegExp(`\\b${type}\\b`).test(code));
      expect(imported.split(", ")).toEqual(used);
    }
  });

  it("say how calls are made", () => {
    const text = builtins(EXTRACT);
    const defs = [...text.matchAll(/^(async def|def) (call_tool|parallel|extract)\b/gm)].map(
      ([, def]) => def,
    );
    expect(defs.length).toBeGreaterThan(2);
    expect(new Set(defs)).toEqual(new Set([mode === "async" ? "async def" : "def"]));
    expect(PYTHON_STUBS.inMode("async def a() -> Any:\n    async def b() -> Any:", mode)).toBe(
      mode === "async"
        ? "async def a() -> Any:\n    async def b() -> Any:"
        : "def a() -> Any:\n    def b() -> Any:",
    );
  });

  it("have `extract` only where a model answers it", () => {
    expect(builtins(named("notes", "add"))).not.toMatch(/extract|overload|Literal/);
    expect(builtins(named("notes", "add"), EXTRACT)).toMatch(/def extract\b/);
  });

  it("name each tool that code can name, in one order", () => {
    const lines = builtins(
      named("web", "get", "mcp__web__get-page"),
      named("notes", "add"),
      named("notes", "ref", "mcp__notes__$ref"),
    ).split("\n");
    expect(lines.filter((line) => line.includes("= _servers."))).toEqual([
      "mcp__notes__add = _servers.notes.add",
      "mcp__web__get_page = _servers.web.get",
    ]);
  });
});
