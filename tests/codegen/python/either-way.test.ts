import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { awaited, eitherWay } from "../../../codegen/python/program-stubs.ts";

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
