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
