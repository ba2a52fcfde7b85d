/** Servers of this process with large things in them, asked without a network: what a client costs does not count. */
import { KeyList } from "../../secrets/sealing.ts";
import { McpOverHttp } from "../../server/http/mcp-over-http.ts";
import { type RECORD_ROUTES, Records } from "../../server/http/records.ts";
import { sealedState } from "../../server/http/sealed-state.ts";
import { serversOf } from "../catalog/tool-of.ts";
import { enter, serveConsole } from "../console/served-console.ts";
import { ALL_SCOPES, modern } from "../server/http/served-http.ts";
import { executed, FakeCatalog, serviceOf } from "../server/mcp/served.ts";
import { someTexts, worstJson } from "./worst-inputs.ts";

const MIB = 1024 * 1024;
const TICKET = "0123456789abcdef";
const OWN = { principal: "local", source: "serve" } as const;

/** A console with a long run, and with questions of everybody that have long arguments. */
async function openConsole() {
  const served = await serveConsole();
  const visitor = await enter(served.origin, served.address());
  const body = "a line of a document\n".repeat(40_000);
  const call = { tool: "mcp__mail__send_message", from: 0, took: 1, arguments: { to: "a@b.test", body } };
  const run = await served.archived({
    calls: [call, call],
    code: "f();\n".repeat(10_000),
    startedAt: Date.now(),
  });
  for (let i = 0; i < 7; i++)
    await served.ask({
      ...{ principal: i === 0 ? "local" : `p${i}`, ticket: i === 0 ? TICKET : `${i}`.repeat(16) },
      request: { arguments: { to: "a@b.test", body: body.repeat(4) } },
    });
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const session = { origin: served.origin, token: await visitor.token(), cookie };
  return { ...served, session, run, ticket: TICKET };
}

/** A call with data, as text. */
function executing(data: string): string {
  const call = modern("tools/call", {
    name: "execute_program",
    arguments: { code: "1", data: { a: "DATA" } },
  });
  return JSON.stringify(call).replace('"DATA"', data);
}

type Sent = readonly { what: string; work: () => unknown }[];

let opened: ReturnType<typeof openServers> | undefined;

/** The servers, opened once for all targets of this process. */
export function sharedServers(): ReturnType<typeof openServers> {
  opened ??= openServers();
  return opened;
}

/** Closes the servers, if they were opened. */
export async function closeServers(): Promise<void> {
  await (await opened)?.close();
  opened = undefined;
}

/** A console, and ptc over HTTP: what is read beside MCP, and MCP with its tools. */
async function openServers() {
  const served = await openConsole();
  const records = new Records({
    ...{ gate: async () => true, archive: () => served.archive, pending: async () => served.pending },
    audit: async () => ({ entries: async function* () {} }),
    replay: async () => ({}),
  });
  const caller = { context: OWN, scopes: ALL_SCOPES };
  const at = (path: string, query: string, init?: RequestInit) => async () =>
    records.fetch(new Request(`http://localhost/mcp/${path}?${query}`, init), path, caller);
  const queries = Object.entries(someTexts(3_000));
  const asked = (path: string, name: string) =>
    queries.map(([what, text]) => ({ what, work: at(path, new URLSearchParams([[name, text]]).toString()) }));
  const sent = (path: string) =>
    Object.entries(worstJson(60_000)).map(([what, body]) => ({
      what,
      work: at(path, "", { method: "POST", body }),
    }));
  const runs = `runs/${served.run}`;
  const beside: Record<(typeof RECORD_ROUTES)[number], Sent> = {
    "GET runs": [...asked("runs", "tool"), ...asked("runs", "since"), ...asked("runs", "before")],
    "GET runs/ID": asked(runs, "x"),
    "GET runs/ID/output": asked(`${runs}/output`, "x").slice(0, 3),
    "GET runs/ID/page": asked(`${runs}/page`, "x").slice(0, 3),
    "POST runs/ID/replay": sent(`${runs}/replay`),
    "GET approvals": asked("approvals", "x").slice(0, 3),
    "GET approvals/ID": [
      { what: "a made-up ticket", work: at("approvals/ffffffffffffffff", "") },
      { what: "a long one", work: at(`approvals/${"f".repeat(10_000)}`, "") },
    ],
    "POST approvals/ID": sent("approvals/ffffffffffffffff"),
    "GET audit": [...asked("audit", "event"), ...asked("audit", "principal")],
  };
  const tools = Array.from({ length: 300 }, (_, i) => ({
    name: `tool_${i}`,
    description: `Does what ${i} does with documents. `.repeat(10),
  }));
  const service = serviceOf(async () => executed({ data: 1 }), {
    catalog: new FakeCatalog(serversOf({ docs: tools })),
  });
  const sealer = sealedState(async () => new KeyList([Buffer.alloc(32, 7)]), {
    ...{ now: Date.now, maxAgeMs: () => 60_000 },
  });
  const mcp = new McpOverHttp(service, { sealer, onWarning: () => {} });
  const headers = {
    "content-type": "application/json",
    ...{ accept: "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28" },
  };
  const post = (body: string, more: Record<string, string> = {}) => {
    const request = () =>
      new Request("http://localhost/mcp", { method: "POST", headers: { ...headers, ...more }, body });
    return async () => (await mcp.fetch(request(), caller, new Promise(() => {}))).text();
  };
  const calls = (name: string, args: (text: string) => object, chars: number): Sent =>
    Object.entries(someTexts(chars)).map(([what, text]) => ({
      what,
      work: post(JSON.stringify(modern("tools/call", { name, arguments: args(text) })), {
        ...{ "mcp-method": "tools/call", "mcp-name": name },
      }),
    }));
  const ofTools: Record<string, Sent> = {
    execute_program: calls("execute_program", (code) => ({ code }), MIB),
    search_tools: calls("search_tools", (query) => ({ query }), 10_000),
    inspect_tool: calls("inspect_tool", (tool_name) => ({ tool_name }), 1_000),
    list_callable_tools: calls("list_callable_tools", (server) => ({ server }), 1_000),
    read_output: calls("read_output", (run_id) => ({ run_id, find: run_id }), 1_000),
  };
  const raw = Object.entries(worstJson(2 * MIB)).flatMap(([what, body]) => [
    { what, work: post(body) },
    {
      what: `${what} as the data of a program`,
      work: post(executing(body), { "mcp-method": "tools/call", "mcp-name": "execute_program" }),
    },
  ]);
  const listed = await post(JSON.stringify(modern("tools/list")), { "mcp-method": "tools/list" })();
  const said = listed.split("\n").findLast((line) => line.startsWith("data: {")) ?? `data: ${listed}`;
  const { result } = JSON.parse(said.slice("data: ".length)) as { result: { tools: { name: string }[] } };
  const { console, session, run, ticket } = served;
  return {
    ...{ console, session, run, ticket },
    ...{ asked: { records: beside, tools: ofTools, raw }, tools: result.tools.map(({ name }) => name) },
    close: () => mcp.close(),
  };
}
