/** What goes over the wire for the arguments of a call. */
import { describe, expect, test } from "vitest";
import { described, openDescribed, serveApi } from "./serve-api.ts";

const COLORS = ["blue", "black", "br own"];
const RGB = { R: 100, G: 200, B: "1/5" };

/** The table of OpenAPI 3.1, "Style Examples", with values that need encoding. */
const STYLES: [place: string, style: string, explode: boolean, value: unknown, sent: string][] = [
  ["path", "simple", false, "a/b", "/x/a%2Fb"],
  ["path", "simple", false, COLORS, "/x/blue,black,br%20own"],
  ["path", "simple", false, RGB, "/x/R,100,G,200,B,1%2F5"],
  ["path", "simple", true, RGB, "/x/R=100,G=200,B=1%2F5"],
  ["path", "label", false, "blue", "/x/.blue"],
  ["path", "label", false, COLORS, "/x/.blue,black,br%20own"],
  ["path", "label", true, COLORS, "/x/.blue.black.br%20own"],
  ["path", "label", true, RGB, "/x/.R=100.G=200.B=1%2F5"],
  ["path", "matrix", false, "blue", "/x/;color=blue"],
  ["path", "matrix", false, COLORS, "/x/;color=blue,black,br%20own"],
  ["path", "matrix", true, COLORS, "/x/;color=blue;color=black;color=br%20own"],
  ["path", "matrix", true, RGB, "/x/;R=100;G=200;B=1%2F5"],
  ["query", "form", true, "a&b=c", "/x?color=a%26b%3Dc"],
  ["query", "form", true, COLORS, "/x?color=blue&color=black&color=br%20own"],
  ["query", "form", false, COLORS, "/x?color=blue,black,br%20own"],
  ["query", "form", true, RGB, "/x?R=100&G=200&B=1%2F5"],
  ["query", "form", false, RGB, "/x?color=R,100,G,200,B,1%2F5"],
  ["query", "form", true, [], "/x"],
  ["query", "spaceDelimited", false, COLORS, "/x?color=blue%20black%20br%20own"],
  ["query", "pipeDelimited", false, COLORS, "/x?color=blue%7Cblack%7Cbr%20own"],
  ["query", "deepObject", true, RGB, "/x?color[R]=100&color[G]=200&color[B]=1%2F5"],
  ["query", "spaceDelimited", false, RGB, "/x?color=R%20100%20G%20200%20B%201%2F5"],
  ["query", "pipeDelimited", false, RGB, "/x?color=R%7C100%7CG%7C200%7CB%7C1%2F5"],
  ["query", "deepObject", true, COLORS, "/x?color[]=blue&color[]=black&color[]=br%20own"],
  ["query", "deepObject", true, { a: { b: [1, 2] } }, "/x?color[a][b][]=1&color[a][b][]=2"],
  ["query", "deepObject", true, { a: [{ b: [1] }, 2] }, "/x?color[a][0][b][]=1&color[a][1]=2"],
];

describe("a parameter", () => {
  test.each(STYLES)(
    "in %s with style %s and explode %s sends %j as %s",
    async (place, style, explode, value, sent) => {
      const api = await serveApi();
      const path = place === "path" ? "/x/{color}" : "/x";
      const parameters = [{ name: "color", in: place, style, explode, schema: {} }];
      await openDescribed(described(path, "get", { parameters }), api.url).call("op", { color: value });
      expect(decodeBrackets(api.asked[0]?.url)).toBe(sent);
    },
  );

  test("of a header or a cookie is sent there, and never as a header that decides how a request is read", async () => {
    const api = await serveApi();
    const header = (name: string) => ({ name, in: "header", schema: { type: "string" } });
    const parameters = [
      ...["X-Trace", "Host", "Authorization", "Content-Length", "Transfer-Encoding"].map(header),
      { name: "session", in: "cookie", schema: { type: "string" } },
    ];
    const { connection, call } = openDescribed(described("/x", "get", { parameters }), `${api.url}/v1`, {
      headers: { Authorization: "Bearer mine" },
    });
    const [tool] = (await connection.list()).tools as { inputSchema: { properties: object } }[];
    expect(Object.keys(tool?.inputSchema.properties ?? {})).toEqual(["X-Trace", "session"]);
    await call("op", { "X-Trace": "t", session: "a;b", Authorization: "Bearer theirs", Host: "evil" });
    expect(api.asked[0]).toMatchObject({
      url: "/v1/x",
      headers: {
        "x-trace": "t",
        cookie: "session=a%3Bb",
        authorization: "Bearer mine",
        host: new URL(api.url).host,
      },
    });
    expect(await call("op", { "X-Trace": "a\r\nX-Evil: 1" })).toMatchObject({ isError: true });
    expect(api.asked).toHaveLength(1);
  });

  test("that is JSON is sent as JSON", async () => {
    const api = await serveApi();
    const content = { "application/json": { schema: { type: "object" } } };
    const parameters = [{ name: "filter", in: "query", content }];
    await openDescribed(described("/x", "get", { parameters }), api.url).call("op", { filter: { a: [1] } });
    expect(decodeURIComponent(api.asked[0]?.url ?? "")).toBe('/x?filter={"a":[1]}');
  });

  test.each([["."], [".."], [""]])(
    "of a path cannot be %j, which would lead to another operation",
    async (id) => {
      const api = await serveApi();
      const { call } = openDescribed(described("/x/{id}/y", "get", {}), `${api.url}/base`);
      expect(await call("op", { id })).toMatchObject({ isError: true });
      await call("op", { id: "../../etc" });
      await call("op", { id: "a?b#c" });
      expect(api.asked.map(({ url }) => url)).toEqual(["/base/x/..%2F..%2Fetc/y", "/base/x/a%3Fb%23c/y"]);
    },
  );

  test("of the same name in two places is two arguments", async () => {
    const api = await serveApi();
    const parameters = [
      { name: "id", in: "path", required: true, schema: {} },
      { name: "id", in: "query", schema: {} },
    ];
    await openDescribed(described("/x/{id}", "get", { parameters }), api.url).call("op", {
      id: 1,
      id_in_query: 2,
    });
    expect(api.asked[0]?.url).toBe("/x/1?id=2");
  });
});

describe("null", () => {
  test.each<[place: string, value: unknown, sent: object]>([
    ["query", null, { url: "/x" }],
    ["query", [1, null, 2], { url: "/x?a=1&a=2" }],
    ["query", [null], { url: "/x" }],
    ["query", { b: null, c: 1 }, { url: "/x?c=1" }],
    ["header", null, { url: "/x", headers: { a: undefined } }],
    ["header", [1, null], { headers: { a: "1" } }],
    ["header", [], { headers: { a: undefined } }],
    ["cookie", null, { headers: { cookie: undefined } }],
  ])("in the %s as %j is not there", async (place, value, sent) => {
    const api = await serveApi();
    const parameters = [{ name: "a", in: place, schema: { type: ["string", "null"] } }];
    await openDescribed(described("/x", "get", { parameters }), api.url).call("op", { a: value });
    expect(api.asked).toHaveLength(1);
    for (const [key, each] of Object.entries(sent)) {
      const asked = api.asked[0]?.[key as "url" | "headers"];
      if (typeof each === "string") expect(asked).toBe(each);
      else
        for (const [name, text] of Object.entries(each as object))
          expect((asked as Record<string, unknown>)[name]).toBe(text);
    }
  });

  test("in a deep object, and of a form's field, is not there", async () => {
    const api = await serveApi();
    const parameters = [{ name: "f", in: "query", style: "deepObject", schema: {} }];
    const content = { "application/x-www-form-urlencoded": { schema: { type: "object" } } };
    const operation = { parameters, requestBody: { content } };
    await openDescribed(described("/x", "post", operation), api.url).call("op", {
      f: { a: null, b: [1, null] },
      body: { c: null, d: false },
    });
    expect(decodeBrackets(api.asked[0]?.url)).toBe("/x?f[b][]=1");
    expect(api.asked[0]?.body.toString()).toBe("d=false");
  });

  test("in a path is refused in one line", async () => {
    const api = await serveApi();
    expect(await openDescribed(described("/x/{id}", "get", {}), api.url).call("op", { id: null })).toEqual({
      isError: true,
      content: [{ type: "text", text: "'id' is null, which cannot stand in a path" }],
    });
    expect(api.asked).toEqual([]);
  });
});

test.each<[path: string, args: object, sent: string]>([
  ["/responses?beta=true", {}, "/v1/responses?beta=true"],
  ["/responses?beta=true", { limit: 2 }, "/v1/responses?beta=true&limit=2"],
  ["/list?acl", {}, "/v1/list?acl="],
  ["/find?kind=a%20b&id={id}", { id: "x&y" }, "/v1/find?kind=a%20b&id=x%26y"],
  ["/find?limit={limit}", { limit: 3 }, "/v1/find?limit=3"],
  ["/a#fragment", {}, "/v1/a"],
  ["/a%2Fb/%7Ec", {}, "/v1/a%2Fb/~c"],
])("a path %s with %j is sent as %s", async (path, args, sent) => {
  const api = await serveApi();
  const parameters = [{ name: "limit", in: "query", schema: { type: "integer" } }];
  await openDescribed(described(path, "get", { parameters }), `${api.url}/v1`).call("op", args);
  expect(api.asked.map(({ url }) => url)).toEqual([sent]);
});

test("a parameter that the path's own query has is no argument", async () => {
  const api = await serveApi();
  const parameters = [{ name: "beta", in: "query", required: true, schema: { enum: ["true"] } }];
  const { connection, call } = openDescribed(described("/x?beta=true", "get", { parameters }), api.url);
  expect((await connection.list()).tools).toMatchObject([{ inputSchema: { properties: {}, required: [] } }]);
  await call("op", {});
  expect(api.asked[0]?.url).toBe("/x?beta=true");
});

test.each([
  ["/x/.{a}", { a: "." }, "simple"],
  ["/x/{a}{b}", { a: ".", b: "." }, "simple"],
  ["/x/{a}/y", { a: "." }, "label"],
  ["/x/..{a}/y", { a: "1" }, "matrix"],
])("a path %s in which %j makes a dot segment is refused", async (path, args, style) => {
  const api = await serveApi();
  const parameters = [{ name: "a", in: "path", required: true, style, schema: { type: "string" } }];
  const { call } = openDescribed(described(path, "get", { parameters }), `${api.url}/v1`);
  expect(await call("op", args)).toMatchObject({ isError: true });
  expect(api.asked).toEqual([]);
});

const DECISIVE = [
  ...[
    "X-HTTP-Method-Override",
    "x-http-method",
    "X-Method-Override",
    "X_HTTP_Method_Override",
    "HTTP-Method",
  ],
  ...[
    "X-Original-URL",
    "X-Rewrite-URL",
    "X-Original-Host",
    "x_original_url",
    "X-Host",
    "X-HTTP-Host-Override",
  ],
  ...[
    "Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Prefix",
    "X-Real-IP",
    "True-Client-IP",
  ],
  ...["CF-Connecting-IP", "X-Remote-User", "Remote-User", "X-Authenticated-User", "X-SSL-Client-Cert"],
  ...[
    "Host",
    "Connection",
    "Keep-Alive",
    "Transfer-Encoding",
    "Content-Length",
    "Content_Length",
    "Content-Type",
  ],
  ...[
    "Proxy-Authorization",
    "Proxy-Connection",
    "Expect",
    "Upgrade",
    "TE",
    "Trailer",
    "Via",
    "HTTP2-Settings",
  ],
  ...["Authorization", "Cookie", "Origin", "Sec-Fetch-Site", "Max-Forwards"],
];

test.each(DECISIVE)("a description has no argument for the header %s", async (name) => {
  const api = await serveApi();
  const parameters = [{ name, in: "header", schema: { type: "string" } }];
  const { connection, call } = openDescribed(described("/x", "get", { parameters }), api.url);
  const { tools, problems } = await connection.list();
  expect(tools).toMatchObject([{ inputSchema: { properties: {} } }]);
  const isIgnored = /^(authorization|content-type)$/i.test(name);
  expect(problems).toEqual(
    isIgnored
      ? []
      : [
          {
            tool: "op",
            message: `the parameter "${name}" in the header may decide how a request is read or who asks, and is left out`,
          },
        ],
  );
  await call("op", { [name]: "evil" });
  expect(Object.values(api.asked[0]?.headers ?? {})).not.toContain("evil");
});

test.each([
  "X-Request-Id",
  "Prefer",
  "If-None-Match",
  "Idempotency-Key",
  "X-Api-Version",
  "X-User-Id",
  "Range",
])("a description may have an argument for the header %s", async (name) => {
  const api = await serveApi();
  const parameters = [{ name, in: "header", schema: { type: "string" } }];
  await openDescribed(described("/x", "get", { parameters }), api.url).call("op", { [name]: "a" });
  expect(api.asked[0]?.headers[name.toLowerCase()]).toBe("a");
});

test("a query or a form that makes another request of it is left out, or refused", async () => {
  const api = await serveApi();
  const method = { name: "_method", in: "query", schema: { type: "string" } };
  const { connection, call } = openDescribed(described("/x", "get", { parameters: [method] }), api.url);
  expect((await connection.list()).problems).toHaveLength(1);
  await call("op", { _method: "DELETE" });
  expect(api.asked.map(({ url }) => url)).toEqual(["/x"]);
  const fixed = openDescribed(described("/x?_method=delete", "get", {}), api.url);
  expect((await fixed.connection.list()).tools).toEqual([]);
  const deep = { name: "f", in: "query", style: "form", explode: true, schema: { type: "object" } };
  const open = openDescribed(described("/x", "get", { parameters: [deep] }), api.url);
  expect(await open.call("op", { f: { _method: "DELETE" } })).toMatchObject({ isError: true });
  const content = { "application/x-www-form-urlencoded": { schema: { type: "object" } } };
  const form = openDescribed(described("/x", "post", { requestBody: { content } }), api.url);
  expect(await form.call("op", { body: { _method: "DELETE" } })).toMatchObject({ isError: true });
  expect(api.asked).toHaveLength(1);
});

describe("servers of a path or an operation", () => {
  const ROOT = [{ url: "https://api.example.com/v1" }, { url: "https://eu.example.com/v1" }];

  async function sentTo(servers: unknown, where: "path" | "operation" = "operation", root: unknown = ROOT) {
    const api = await serveApi();
    const operation = { operationId: "op", responses: {}, ...(where === "operation" ? { servers } : {}) };
    const item = { get: operation, ...(where === "path" ? { servers } : {}) };
    const description = { openapi: "3.1.0", servers: root, paths: { "/x": item } };
    const text = JSON.stringify(description).replaceAll("BASE", `${api.url}/v1`);
    const { connection, call } = openDescribed(text, `${api.url}/v1`, {
      headers: { Authorization: "secret" },
    });
    const { tools, problems } = await connection.list();
    if (tools.length > 0) await call("op");
    return { sent: api.asked.map(({ url }) => url), problems: problems ?? [] };
  }

  test.each<[servers: unknown, sent: string]>([
    [[], "/v1/x"],
    [[{ url: "https://api.example.com/v1" }], "/v1/x"],
    [[{ url: "https://api.example.com/v1/" }], "/v1/x"],
    [[{ url: "https://eu.example.com/v1" }], "/v1/x"],
    [[{ url: "https://api.example.com/v1/beta" }], "/v1/beta/x"],
    [[{ url: "https://{h}.example.com/v1", variables: { h: { default: "api" } } }], "/v1/x"],
    [[{ url: "BASE/beta" }], "/v1/beta/x"],
    [[{ url: "https://elsewhere.example" }, { url: "BASE" }], "/v1/x"],
    [[{ url: "/v1/beta" }], "/v1/beta/x"],
  ])("that are the API's, as %j, get its requests", async (servers, sent) => {
    expect(await sentTo(servers)).toEqual({ sent: [sent], problems: [] });
    expect(await sentTo(servers, "path")).toEqual({ sent: [sent], problems: [] });
  });

  const OTHERS: [servers: object[], shown: string][] = [
    [[{ url: "https://uploads.example.com/v1" }], "https://uploads.example.com/v1"],
    [[{ url: "http://api.example.com/v1" }], "http://api.example.com/v1"],
    [[{ url: "https://api.example.com/v2" }], "https://api.example.com/v2"],
    [[{ url: "https://api.example.com/v1/../v2" }], "https://api.example.com/v1/../v2"],
    [[{ url: "/v2" }], "/v2"],
    [[{ url: "//elsewhere.example/v1" }], "//elsewhere.example/v1"],
  ];
  test.each(OTHERS)(
    "that are others, as %j, have the operation left out by its name",
    async (servers, shown) => {
      for (const where of ["operation", "path"] as const) {
        const { sent, problems } = await sentTo(servers, where);
        expect(sent).toEqual([]);
        expect(problems).toEqual([
          {
            tool: "op",
            message: expect.stringContaining(`the description has it at ${shown}, which is not below http`),
          },
        ]);
      }
    },
  );

  test("of an operation come before those of its path", async () => {
    const api = await serveApi();
    const servers = (url: string) => [{ url }];
    const item = {
      servers: servers("https://elsewhere.example"),
      get: { operationId: "op", servers: servers("https://api.example.com/v1"), responses: {} },
    };
    const description = { openapi: "3.1.0", servers: ROOT, paths: { "/x": item } };
    await openDescribed(description, api.url).call("op");
    expect(api.asked.map(({ url }) => url)).toEqual(["/x"]);
  });

  test("of Swagger 2.0 are its schemes: one of its own that the API does not have leaves it out", async () => {
    const api = await serveApi();
    const paths = {
      "/a": { get: { operationId: "a", schemes: ["https"], responses: {} } },
      "/b": { get: { operationId: "b", schemes: ["http"], responses: {} } },
    };
    const description = { swagger: "2.0", host: "h.example", basePath: "/v1", schemes: ["http"], paths };
    const { connection } = openDescribed(description, `${api.url}/v1`);
    const { tools, problems } = await connection.list();
    expect(tools.map((tool) => (tool as { name: string }).name)).toEqual(["b"]);
    expect(problems).toMatchObject([{ tool: "a" }]);
  });
});

test("a path that leads out of the API stays below it, or is refused", async () => {
  for (const path of ["/../admin", "/a/../../admin", "//evil.example/x", "/\\evil.example/x"]) {
    const api = await serveApi();
    await openDescribed(described(path, "get", {}), `${api.url}/v1/`).call("op");
    for (const { url } of api.asked) expect(url).toMatch(/^\/v1\//);
  }
});

describe("a body", () => {
  const send = async (content: object, args: object) => {
    const api = await serveApi();
    const operation = { requestBody: { required: true, content } };
    await openDescribed(described("/x", "post", operation), api.url).call("op", args);
    const { headers, body } = api.asked[0] ?? { headers: {}, body: Buffer.alloc(0) };
    return { type: headers["content-type"], body: body.toString("latin1") };
  };

  test("is sent as JSON where it may be, and otherwise in the form that there is", async () => {
    const body = { name: "a b", tags: ["x", "y"], at: { z: 1 } };
    const form = { schema: { type: "object" } };
    expect(
      await send({ "application/x-www-form-urlencoded": form, "application/json": form }, { body }),
    ).toEqual({
      type: "application/json",
      body: JSON.stringify(body),
    });
    expect(await send({ "application/x-www-form-urlencoded": form }, { body })).toEqual({
      type: "application/x-www-form-urlencoded",
      body: `name=a+b&tags=x&tags=y&at=${encodeURIComponent('{"z":1}')}`,
    });
    const chosen = { body, content_type: "application/x-www-form-urlencoded" };
    const two = { "application/json": form, "application/x-www-form-urlencoded": form };
    expect((await send(two, chosen)).type).toBe("application/x-www-form-urlencoded");
    expect(await send({ "text/plain": { schema: { type: "string" } } }, { body: "x" })).toMatchObject({
      body: "x",
    });
  });

  test("of a form, or of several parts, has the members of deep objects in brackets where its encoding says so", async () => {
    const deep = { style: "deepObject", explode: true };
    const body = {
      customer: "c 1",
      expand: ["lines"],
      lines: [
        { sku: "a", tags: ["x", "y"] },
        { sku: "b&", more: { z: null } },
      ],
    };
    const media = { schema: { type: "object" }, encoding: { expand: deep, lines: deep } };
    const fields = [
      ["customer", "c 1"],
      ["expand[]", "lines"],
      ["lines[0][sku]", "a"],
      ["lines[0][tags][]", "x"],
      ["lines[0][tags][]", "y"],
      ["lines[1][sku]", "b&"],
      ["lines[1][more][z]", ""],
    ];
    const sent = await send({ "application/x-www-form-urlencoded": media }, { body });
    expect([...new URLSearchParams(sent.body)]).toEqual(fields);
    const parts = await send({ "multipart/form-data": media }, { body });
    const read = new Response(parts.body, { headers: { "content-type": parts.type ?? "" } });
    expect([...(await read.formData())]).toEqual(fields);
  });

  test.each([
    [{}, ["x", "y"], "a=x&a=y"],
    [{ explode: false }, ["x", "y"], "a=x,y"],
    [{ explode: "no" }, ["x", "y"], "a=x&a=y"],
    [{ style: "pipeDelimited" }, ["x", "y"], "a=x%7Cy"],
    [{ style: "pipeDelimited", explode: true }, ["x", "y"], "a=x&a=y"],
    [{ style: "spaceDelimited" }, ["x", "y"], "a=x+y"],
    [{ style: "form" }, { b: 1, c: 2 }, "b=1&c=2"],
    [{ style: "form", explode: false }, { b: 1, c: 2 }, "a=b,1,c,2"],
    [{}, { b: 1 }, "a=%7B%22b%22%3A1%7D"],
    [{}, [{ b: 1 }], "a=%5B%7B%22b%22%3A1%7D%5D"],
    [{ contentType: "application/json" }, ["x"], "a=%5B%22x%22%5D"],
    [{ contentType: "text/plain" }, ["x"], "a=x"],
    [{ allowReserved: true }, "x/y", "a=x/y"],
    [{}, "x/y", "a=x%2Fy"],
  ])("of a form has a field as its encoding %j says: %j as %s", async (encoding, field, sent) => {
    const content = {
      "application/x-www-form-urlencoded": { schema: { type: "object" }, encoding: { a: encoding } },
    };
    expect((await send(content, { body: { a: field } })).body).toBe(sent);
  });

  test("of several parts carries files with their names and types", async () => {
    const schema = {
      type: "object",
      properties: {
        note: { type: "string" },
        file: { type: "string", format: "binary" },
        meta: { type: "object" },
      },
    };
    const file = {
      base64: Buffer.from([0, 255, 10]).toString("base64"),
      filename: "a.bin",
      content_type: "image/png",
    };
    const sent = await send(
      { "multipart/form-data": { schema } },
      { body: { note: "n", file, meta: { a: 1 } } },
    );
    expect(sent.type).toMatch(/^multipart\/form-data; boundary=/);
    expect(sent.body).toContain('name="note"\r\n\r\nn\r\n');
    expect(sent.body).toContain(
      'name="file"; filename="a.bin"\r\nContent-Type: image/png\r\n\r\n\u0000\u00ff\n\r\n',
    );
    expect(sent.body).toContain('Content-Type: application/json\r\n\r\n{"a":1}\r\n');
  });

  test("of several parts has of each file and object the type that it has, its encoding names, or none tells", async () => {
    const base64 = Buffer.from("x").toString("base64");
    const encoding = {
      logo: { contentType: "image/png, image/jpeg" },
      about: { contentType: "application/ld+json" },
      note: { contentType: "text/markdown" },
    };
    const body = {
      plain: { base64 },
      typed: { base64, content_type: "text/csv; charset=utf-8", filename: "t.csv" },
      odd: { base64, content_type: "a/b\r\nX-Evil: 1", filename: 5 },
      logo: { base64 },
      about: { a: 1 },
      many: [{ base64 }, { b: 2 }, "c", null, 4],
      note: "n",
    };
    const sent = await send({ "multipart/form-data": { schema: { type: "object" }, encoding } }, { body });
    const parts = sent.body.split(/--+formdata-[^\r]*\r\n/).slice(1, -1);
    const file = (name: string, filename: string, type: string, text = "x") =>
      `Content-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: ${type}\r\n\r\n${text}\r\n`;
    const field = (name: string, text: string) =>
      `Content-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
    expect(parts).toEqual([
      file("plain", "plain", "application/octet-stream"),
      file("typed", "t.csv", "text/csv; charset=utf-8"),
      file("odd", "odd", "application/octet-stream"),
      file("logo", "logo", "image/png"),
      file("about", "about", "application/ld+json", '{"a":1}'),
      file("many", "many", "application/octet-stream"),
      file("many", "many", "application/json", '{"b":2}'),
      ...[field("many", "c"), field("many", ""), field("many", "4"), field("note", "n")],
    ]);
  });

  test("that a GET would have is no argument, and its description says so", async () => {
    const api = await serveApi();
    const requestBody = { required: true, content: { "application/json": { schema: { type: "object" } } } };
    const description = described("/x", "get", { requestBody });
    const { connection, call } = openDescribed(description, api.url);
    const { tools, problems } = await connection.list();
    expect(tools).toMatchObject([{ inputSchema: { properties: {} } }]);
    expect(problems).toEqual([
      { tool: "op", message: "has a body, which no GET request carries; the body is left out" },
    ]);
    expect(await call("op")).not.toMatchObject({ isError: true });
  });

  const bytes = { base64: Buffer.from([1, 2, 255]).toString("base64") };
  test.each([
    [bytes, "application/octet-stream", "\u0001\u0002\u00ff"],
    [{ ...bytes, content_type: "image/png" }, "image/png", "\u0001\u0002\u00ff"],
    ["a\u00e9", "application/octet-stream", "a\u00c3\u00a9"],
  ])("of bytes is sent as they are: %j", async (body, type, sent) => {
    expect(await send({ "application/octet-stream": {} }, { body })).toEqual({ type, body: sent });
  });

  const OBJECT = "'body' must be an object, whose members are the fields of a form";
  test.each([
    ["application/octet-stream", { bytes: 1 }, "'body' must be a text, or { base64 }"],
    ["application/octet-stream", 5, "'body' must be a text, or { base64 }"],
    ["application/x-www-form-urlencoded", "a=b", OBJECT],
    ["multipart/form-data", ["a"], OBJECT],
  ])("of %s cannot be %j, and the answer says what it must be", async (type, body, message) => {
    const api = await serveApi();
    const operation = { requestBody: { required: true, content: { [type]: {} } } };
    const { call } = openDescribed(described("/x", "post", operation), api.url);
    expect(await call("op", { body })).toEqual({ isError: true, content: [{ type: "text", text: message }] });
    expect(api.asked).toEqual([]);
  });
});

/** Browsers and Node.js leave brackets of a query as they are, or not. */
function decodeBrackets(url = ""): string {
  return url.replaceAll("%5B", "[").replaceAll("%5D", "]");
}
