import { describe, expect, it } from "vitest";
import { parseNeededVisits, parseWantedInput } from "../../../upstream/mcp/input-requests.ts";

const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`r${n}`, { method: "roots/list" }]));

describe("what a server wants before it goes on", () => {
  it("is its requests, with their keys, and its state", () => {
    const inputRequests = {
      a: { method: "elicitation/create", params: { n: 1 } },
      b: { method: "roots/list" },
    };
    expect(parseWantedInput({ inputRequests, requestState: "s" })).toEqual({
      requests: [
        { key: "a", method: "elicitation/create", params: { n: 1 } },
        { key: "b", method: "roots/list", params: undefined },
      ],
      requestState: "s",
    });
    expect(parseWantedInput({ requestState: "s" })).toEqual({ requests: [], requestState: "s" });
    expect(parseWantedInput({ inputRequests: many(16) })?.requests).toHaveLength(16);
  });

  it.each<[Record<string, unknown>]>([
    [{}],
    [{ inputRequests: {} }],
    [{ inputRequests: [] }],
    [{ inputRequests: "a" }],
    [{ inputRequests: { a: "roots/list" } }],
    [{ inputRequests: { a: { method: 1 } } }],
    [{ inputRequests: many(1), requestState: 1 }],
    [{ inputRequests: many(17) }],
  ])("is not %j", (result) => {
    expect(parseWantedInput(result)).toBeUndefined();
  });
});

describe("what a person has to visit before a call", () => {
  const visit = (elicitationId: unknown, mode = "url") => ({ mode, elicitationId, url: "https://x.example" });

  it("is told by the server, each with its id", () => {
    const data = { elicitations: [visit("a"), visit("b")] };
    expect(parseNeededVisits(data)).toEqual([
      { elicitationId: "a", params: visit("a") },
      { elicitationId: "b", params: visit("b") },
    ]);
    expect(parseNeededVisits({ elicitations: Array(16).fill(visit("a")) })).toHaveLength(16);
  });

  it.each<[unknown]>([
    [undefined],
    [{}],
    [{ elicitations: {} }],
    [{ elicitations: [] }],
    [{ elicitations: [visit("a"), visit("b", "form")] }],
    [{ elicitations: [visit(1)] }],
    [{ elicitations: [visit("a"), "b"] }],
    [{ elicitations: Array(17).fill(visit("a")) }],
  ])("is not %j", (data) => {
    expect(parseNeededVisits(data)).toBeUndefined();
  });
});
