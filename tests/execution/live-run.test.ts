import { expect, it } from "vitest";
import { ToolCatalog } from "../../catalog/tool-catalog.ts";
import { openScope } from "../../execution/live-run.ts";
import type { RunHost } from "../../execution/run-host.ts";
import { Redactor } from "../../secrets/redaction.ts";
import type { BegunRunFacts, CalledTool } from "../../telemetry/telemetry.ts";
import { serversOf } from "../catalog/tool-of.ts";
import { parse } from "../configuration/parse-text.ts";
import { LIMITS } from "./program-parts.ts";

/** How a tool of a server with these settings is described to the collector of a run. */
async function described(server: object, called: string): Promise<CalledTool | undefined> {
  const configuration = parse(JSON.stringify({ servers: [{ name: "hub", ...server }] }));
  const tools = new ToolCatalog(
    serversOf({ hub: [{ name: "read" }, { name: "resources/read", method: "resources/read" }], gone: [{}] }),
  );
  let begun: BegunRunFacts | undefined;
  const host = {
    configuration: () => configuration,
    env: {},
    redactor: new Redactor([]),
    recorder: () => undefined,
    telemetry: {
      beginRun(facts: BegunRunFacts) {
        begun = facts;
      },
    },
  } as unknown as RunHost;
  await openScope(
    {
      context: { principal: "local", source: "run" },
      approver: { ask: async () => ({ decision: "denied", by: "nobody" }) },
      signal: new AbortController().signal,
    },
    host,
    {
      runId: "run-1",
      program: { language: "typescript", fileName: "p.ts" },
      tools,
      callable: { tools, servers: {} as never },
      limits: LIMITS,
    },
  );
  return begun?.describeTool(called);
}

const READ = { server: "hub", name: "read" };

it.each<[server: object, called: string, told: CalledTool | undefined]>([
  [
    { url: "https://hub.example/mcp" },
    "mcp__hub__read",
    { ...READ, host: { address: "hub.example", port: 443 } },
  ],
  [
    { url: "https://hub.example:8443/mcp" },
    "mcp__hub__read",
    { ...READ, host: { address: "hub.example", port: 8443 } },
  ],
  [{ url: "http://127.0.0.1/mcp" }, "mcp__hub__read", { ...READ, host: { address: "127.0.0.1", port: 80 } }],
  [{ command: "hub" }, "mcp__hub__read", { ...READ, host: undefined }],
  [{ command: "hub" }, "mcp__gone__a_tool", { server: "gone", name: "a_tool", host: undefined }],
  [{ command: "hub" }, "mcp__hub__none", undefined],
])(
  "a collector is told the address of a server that has one: with %j, of %s",
  async (server, called, told) => {
    expect(await described(server, called)).toEqual(told);
  },
);

it("a collector is told the method of what is no tool", async () => {
  expect(await described({ command: "hub" }, "mcp__hub__resources/read")).toEqual({
    ...{ server: "hub", name: "resources/read", method: "resources/read" },
    host: undefined,
  });
});
