"""Prints what the Python runner makes of the types on stdin, and of types of its own."""

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
