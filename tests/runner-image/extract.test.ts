import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeExtract, schemaOf } from "../../runner-image/node/functions/extract.ts";
import { hasPython, WITHOUT_PYTHON } from "../cli/terminal/run-on-terminal.ts";

/** Types, each with its schema, or with the beginning of the error where it is none. */
const TYPES = JSON.parse(readFileSync(join(import.meta.dirname, "extract-types.json"), "utf8")) as [
  unknown,
  object | string,
][];

const PYTHON = `
import json, sys
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, TypedDict
from ptc_runner.extract import make_extract, schema_of

def said(type_):
    try:
        return schema_of(type_)
    except TypeError as error:
        return str(error)

@dataclass
class Line:
    name: str
    price: float = 0

class Order(TypedDict):
    lines: list[Line]
    state: Literal["open", "closed"] | None
    note: NotRequired[Annotated[str, "what the customer says"]]

@dataclass
class Node:
    children: "list[Node]"

asked = []
def call(tool, arguments):
    asked.append([tool, arguments["value"]])
    return {"lines": [{"name": "x"}], "state": None}

order = make_extract(call)("a text", Order)
print(json.dumps({
    "table": [said(type_) for type_, _ in json.load(sys.stdin)],
    "order": schema_of(Order),
    "plain": [schema_of(each) for each in (str, float, dict[str, int], tuple[int, ...], {"a": list[bool]}, Any)],
    "endless": said(Node),
    "built": [repr(order["lines"]), order["state"]],
    "asked": asked,
}))
`;

describe("a type that a program extracts", () => {
  it.each(TYPES)("%j has its schema, or is refused", (type, expected) => {
    if (typeof expected === "string") expect(() => schemaOf(type)).toThrow(expected);
    else expect(schemaOf(type)).toEqual(expected);
  });

  it("is sent with the value to the one tool of ptc", async () => {
    const calls: unknown[] = [];
    const extract = makeExtract(async (name, args) => calls.push([name, args]));
    await extract({ a: 1 }, ["string"]);
    expect(calls).toEqual([
      ["mcp__ptc__extract", { value: { a: 1 }, schema: { type: "array", items: { type: "string" } } }],
    ]);
    await expect(extract(undefined, "string")).rejects.toThrow("extract: there is no value");
    const endless: unknown[] = [];
    endless.push(endless);
    await expect(extract("x", endless)).rejects.toThrow("nests deeper than 32 levels");
  });

  it.skipIf(!hasPython)(`is the same in Python, which has its own types too${WITHOUT_PYTHON}`, () => {
    const { stdout, stderr } = spawnSync("python3", ["-c", PYTHON], {
      input: JSON.stringify(TYPES),
      encoding: "utf8",
      env: { ...process.env, PYTHONPATH: join(import.meta.dirname, "../../runner-image/python") },
    });
    expect(stderr).toBe("");
    const told = JSON.parse(stdout);
    expect(told.table).toEqual(
      TYPES.map(([, expected]) =>
        typeof expected === "string" ? expect.stringContaining(expected) : expected,
      ),
    );
    expect(told.order).toEqual({
      type: "object",
      properties: {
        lines: {
          type: "array",
          items: {
            type: "object",
            properties: { name: { type: "string" }, price: { type: "number" } },
            required: ["name"],
            additionalProperties: false,
          },
        },
        state: { anyOf: [{ enum: ["open", "closed"] }, { type: "null" }] },
        note: { type: "string", description: "what the customer says" },
      },
      required: ["lines", "state"],
      additionalProperties: false,
    });
    expect(told.plain).toEqual([
      { type: "string" },
      { type: "number" },
      { type: "object", additionalProperties: { type: "integer" } },
      { type: "array", items: { type: "integer" } },
      {
        type: "object",
        properties: { a: { type: "array", items: { type: "boolean" } } },
        required: ["a"],
        additionalProperties: false,
      },
      {},
    ]);
    expect(told.endless).toContain("nests deeper than 32 levels, or holds itself");
    expect(told.built).toEqual(["[Line(name='x', price=0)]", null]);
    expect(told.asked).toEqual([["mcp__ptc__extract", "a text"]]);
  });
});
