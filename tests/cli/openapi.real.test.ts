import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { serveApi } from "../upstream/openapi/serve-api.ts";
import { envelopeOf, usePtc } from "./ptc-process.ts";

const newProject = usePtc();

const ORDERS = {
  openapi: "3.0.3",
  info: { title: "Orders", version: "1" },
  paths: {
    "/orders": {
      get: {
        operationId: "list_orders",
        parameters: [{ name: "status", in: "query", schema: { enum: ["open", "done"] } }],
        responses: {
          200: {
            content: {
              "application/json": {
                schema: { type: "array", items: { $ref: "#/components/schemas/Order" } },
              },
            },
          },
        },
      },
      post: {
        operationId: "create_order",
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Order" } } },
        },
        responses: {
          201: { content: { "application/json": { schema: { $ref: "#/components/schemas/Order" } } } },
        },
      },
    },
    "/orders/{id}": { delete: { operationId: "delete_order", responses: { 204: {} } } },
  },
  components: {
    schemas: {
      Order: {
        type: "object",
        required: ["id", "total"],
        properties: { id: { type: "string", readOnly: true }, total: { type: "number" } },
      },
    },
  },
};

const TYPESCRIPT = `import * as orders from "./servers/orders/index.js";
const made = await orders.createOrder({ body: { total: 2.5 } });
const open = await orders.listOrders({ status: "open" });
const ended = await orders.deleteOrder.result({ id: made.id });
globalThis.result = { total: open.reduce((sum, { total }) => sum + total, 0), ended: ended.ok };`;

const PYTHON = `from servers.orders import create_order, list_orders
made = create_order(body={"total": 2.5})
result = [made["id"], len(list_orders(status="open"))]`;

it("A program calls an HTTP API by its description, asks before it deletes, and is replayed without the API.", async () => {
  const asked: string[] = [];
  const api = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    const answers = {
      GET: [200, '[{"id":"a","total":1},{"id":"b","total":2}]'],
      POST: [201, '{"id":"c/d","total":2.5}'],
      DELETE: [204, ""],
    };
    const [status, body] = answers[request.method as keyof typeof answers] as [number, string];
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  });
  await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void api.close());
  const { port } = api.address() as AddressInfo;
  const project = newProject({
    "orders.json": JSON.stringify(ORDERS),
    "ptc.yaml": {
      languages: ["typescript", "python"],
      servers: [
        {
          name: "orders",
          openapi: "orders.json",
          base_url: `http://127.0.0.1:${port}/v1`,
          headers: { Authorization: "Bearer token-of-the-tests" },
        },
      ],
    },
    "a.ts": TYPESCRIPT,
    "b.py": PYTHON,
    "wrong.ts":
      'import * as orders from "./servers/orders/index.js";\nawait orders.listOrders({ status: "gone" });',
  });
  await project.generate();
  const denied = envelopeOf(await project.ptc(["run", "a.ts"]));
  expect(denied.result).toMatchObject({ ok: true, data: { total: 3, ended: false } });
  expect(asked.filter((each) => each.startsWith("DELETE"))).toEqual([]);
  const ran = envelopeOf(await project.ptc(["run", "--approve", "mcp__orders__delete_order", "a.ts"]));
  expect(ran).toMatchObject({
    approval_state: "APPROVED",
    result: { ok: true, data: { total: 3, ended: true } },
  });
  expect(asked.slice(-3)).toEqual(
    ["POST /v1/orders", "GET /v1/orders?status=open", "DELETE /v1/orders/c%2Fd"].map(
      (each) => `${each} Bearer token-of-the-tests`,
    ),
  );
  expect(envelopeOf(await project.ptc(["run", "b.py"])).result).toMatchObject({ ok: true, data: ["c/d", 2] });
  expect(envelopeOf(await project.ptc(["run", "wrong.ts"])).result).toMatchObject({
    error: { type: "TypeCheckError" },
  });
  const before = asked.length;
  const replayed = await project.ptc(["replay", ran.run_id]);
  expect(replayed.code).toBe(0);
  expect(asked).toHaveLength(before);
  expect(project.read(".ptc/audit.jsonl")).not.toContain("token-of-the-tests");
});

const API_KEY = "key-of-the-tests-4711";

const PAGED = {
  openapi: "3.1.0",
  info: { title: "Events", version: "1" },
  security: [{ key: [] }],
  components: { securitySchemes: { key: { type: "apiKey", in: "query", name: "api_key" } } },
  paths: {
    "/events": {
      get: {
        operationId: "list_events",
        parameters: [
          { name: "kind", in: "query", schema: { type: "string" } },
          { name: "page", in: "query", schema: { type: "integer" } },
        ],
        responses: {
          200: {
            headers: { Link: { schema: { type: "string" } } },
            content: { "application/json": { schema: { type: "array", items: { type: "integer" } } } },
          },
        },
      },
    },
    "/search": {
      get: {
        operationId: "search",
        parameters: [{ name: "cursor", in: "query", schema: { type: "string" } }],
        responses: {
          200: {
            content: {
              "application/json": {
                schema: {
                  type: "object",
                  required: ["found"],
                  properties: {
                    found: { type: "array", items: { type: "string" } },
                    next_cursor: { type: ["string", "null"] },
                  },
                },
              },
            },
          },
        },
      },
    },
  },
};

it("A program iterates over the pages of an API in either language, a call each, and is replayed without the API.", async () => {
  const api = await serveApi(({ url }) => {
    const { pathname, searchParams } = new URL(url, "http://x");
    const headers = { "content-type": "application/json" };
    if (searchParams.get("api_key") !== API_KEY) return { status: 401, headers, body: "{}" };
    if (pathname === "/v1/search")
      return {
        headers,
        body: JSON.stringify(
          searchParams.has("cursor")
            ? { found: ["b"], next_cursor: null }
            : { found: ["a"], next_cursor: "n" },
        ),
      };
    const page = Number(searchParams.get("page") ?? 1);
    if (page === 4) return { status: 500, headers, body: `{"message":"no such page for ${API_KEY}"}` };
    // It leads elsewhere, with an argument that the operation does not have.
    const link = `<https://elsewhere.example/events?kind=x&page=${page + 1}&admin=1&api_key=${API_KEY}>; rel="next"`;
    return {
      headers: page === 3 && searchParams.get("kind") === "x" ? headers : { ...headers, link },
      body: `[${page}]`,
    };
  });
  const project = newProject({
    "events.json": JSON.stringify(PAGED),
    "ptc.yaml": {
      languages: ["typescript", "python"],
      servers: [
        {
          name: "events",
          openapi: "events.json",
          base_url: `${api.url}/v1`,
          credentials: { key: { file: "key.txt" } },
        },
      ],
    },
    "key.txt": API_KEY,
    "a.ts": `import * as events from "./servers/events/index.js";
const all: number[] = [];
for await (const page of pages(events.listEvents, { kind: "x" })) all.push(...page);
const found: string[] = [];
for await (const page of pages(events.search)) found.push(...page.found);
globalThis.result = { all, found };`,
    "b.py": `from servers.events import list_events, search
result = [n for page in pages(list_events, kind="x") for n in page] + [each for page in pages(search) for each in page["found"]]`,
    "c.py": `from servers.events import list_events
result = []
try:
    async for page in pages(list_events, kind="y"):
        result += page
        if len(result) == 3:
            kind = list_events(page=4)
            await kind
except ToolError as error:
    result.append(error.message)`,
    "d.ts": `import * as events from "./servers/events/index.js";
for await (const page of pages(events.listEvents, {})) { globalThis.result = page; if (page[0] === 2) break; }`,
  });
  await project.generate();
  expect(project.read("generated/servers/events/index.ts")).toContain("pages(function, arguments)");
  const ran = envelopeOf(await project.ptc(["run", "a.ts"]));
  expect(ran.result).toMatchObject({ ok: true, data: { all: [1, 2, 3], found: ["a", "b"] } });
  const own = `api_key=${API_KEY}`;
  expect(api.asked.map(({ url }) => url.replace(own, "").replace(/[?&]$/, ""))).toEqual([
    ...["/v1/events?kind=x", "/v1/events?kind=x&page=2", "/v1/events?kind=x&page=3"],
    ...["/v1/search", "/v1/search?cursor=n"],
  ]);
  expect(project.read(".ptc/audit.jsonl").match(/mcp__events__list_events/g)?.length).toBeGreaterThanOrEqual(
    3,
  );
  expect(envelopeOf(await project.ptc(["run", "b.py"])).result).toMatchObject({
    ok: true,
    data: [1, 2, 3, "a", "b"],
  });
  expect(envelopeOf(await project.ptc(["run", "c.py"])).result).toMatchObject({
    ok: true,
    data: [1, 2, 3, expect.stringContaining("no such page")],
  });
  expect(envelopeOf(await project.ptc(["run", "d.ts"])).result).toMatchObject({ ok: true, data: [2] });
  const before = api.asked.length;
  expect((await project.ptc(["replay", ran.run_id])).code).toBe(0);
  expect(api.asked).toHaveLength(before);
  // The key is in no record, though the API says it in its headers and its errors.
  const kept = readdirSync(join(project.directory, ".ptc"), { recursive: true, withFileTypes: true });
  for (const each of kept.filter((entry) => entry.isFile()))
    expect(readFileSync(join(each.parentPath, each.name), "latin1"), each.name).not.toContain(API_KEY);
});
