import { describe, expect, it } from "vitest";
import { parseTraceContext, traceIdOf } from "../../protocol/trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = `00-${TRACE}-00f067aa0ba902b7-01`;

describe("the trace that a request belongs to", () => {
  it("is taken with its state", () => {
    const tracestate = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";
    expect(parseTraceContext({ traceparent: PARENT, tracestate })).toEqual({
      traceparent: PARENT,
      tracestate,
    });
    expect(traceIdOf({ traceparent: PARENT })).toBe(TRACE);
  });

  it.each(["\u0000", "x".repeat(513), 7, ""])("is taken without a state that is none: %j", (tracestate) => {
    expect(parseTraceContext({ traceparent: PARENT, tracestate })).toEqual({ traceparent: PARENT });
  });

  it.each([
    undefined,
    7,
    "",
    PARENT.toUpperCase(),
    ` ${PARENT}`,
    `${PARENT}-more`,
    `ff${PARENT.slice(2)}`,
    PARENT.replace(TRACE, "0".repeat(32)),
    PARENT.replace("00f067aa0ba902b7", "0".repeat(16)),
    PARENT.replace(TRACE, `${TRACE}\n`),
    PARENT.slice(0, -1),
    `01${PARENT.slice(2)}-${"x".repeat(100)}`,
  ])("is none where a request does not name it well: %j", (traceparent) => {
    expect(parseTraceContext({ traceparent })).toBeUndefined();
  });

  it("may be of a later version that says more", () => {
    expect(parseTraceContext({ traceparent: `01${PARENT.slice(2)}-more` })).toBeDefined();
  });
});
