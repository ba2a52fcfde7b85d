"""Prints what the Python runner says of values that saved programs give back, each on stdin with its schema."""

import json, sys
from ptc_runner.saved_value import check_saved_value
from ptc_runner.tool_error import ToolError

def said(schema, value):
    try:
        check_saved_value("mcp__programs__weekly_report", schema, value)
        return None
    except ToolError as error:
        assert (error.server, error.tool, error.retryable) == ("programs", "weekly_report", False)
        return error.message.partition(" does not allow: ")[2]

print(json.dumps([said(schema, value) for schema, value, _ in json.load(sys.stdin)]))
