import { expect, it } from "vitest";
import { DataFlow, findForbiddenFlow } from "../../../broker/policy/data-flow.ts";

const flow = new DataFlow(
  new Map([
    ["crm", { labels: ["personal"], tools: { count: { labels: [] }, plain: { accepts: [] } } }],
    ["web", { accepts: [], tools: { form: { accepts: ["personal"] } } }],
    ["free", { tools: {} }],
  ]),
);
const of = (server: string, name: string) => ({ server, name });
const read = (server: string, name: string, seq = 1) => ({
  ...of(server, name),
  seq,
  tool: `mcp__${server}__${name}`,
});

it.each([
  ["nothing was read", of("web", "get"), [], undefined],
  ["what was read carries nothing", of("web", "get"), [read("free", "x")], undefined],
  ["a tool's own labels go before its server's", of("web", "get"), [read("crm", "count")], undefined],
  ["a server accepts everything by default", of("free", "x"), [read("crm", "get")], undefined],
  ["a tool accepts what its server does not", of("web", "form"), [read("crm", "get")], undefined],
  [
    "a server accepts nothing",
    of("web", "get"),
    [read("free", "x"), read("crm", "get", 2)],
    "'personal' data",
  ],
  [
    "a tool does not accept what its own server has",
    of("crm", "plain"),
    [read("crm", "get")],
    "'personal' data",
  ],
  ["nobody knows what was read", of("web", "form"), [read("gone", "x")], "data whose labels are not known"],
  [
    "a tool has the name of a member of every object",
    of("web", "constructor"),
    [read("crm", "get")],
    "'personal' data",
  ],
])("decides where %s", (_, tool, reads, why) => {
  const found = findForbiddenFlow(flow, tool, reads);
  if (why === undefined) expect(found).toBeUndefined();
  else {
    const { tool: name, seq } = reads.at(-1) as (typeof reads)[number];
    expect(found?.reason).toContain(`does not accept ${why}`);
    expect(found?.reason).toContain(`since it read ${name} (call ${seq});`);
  }
});
