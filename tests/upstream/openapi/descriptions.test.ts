/** What a description becomes: tools with schemas that stand alone. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseDescription } from "../../../upstream/openapi/description.ts";
import { openApi } from "../../../upstream/openapi/open-api.ts";
import { type OperationFilter, readOperations } from "../../../upstream/openapi/operations.ts";
import { newFolder } from "../../temporary-folder.ts";
import { listen } from "../mcp/upstream-http-servers.ts";
import { type Answer, described, serveApi } from "./serve-api.ts";

interface Tool {
  name: string;
  description: string;
  inputSchema: { properties: Record<string, unknown>; required: string[]; $defs?: Record<string, unknown> };
  outputSchema?: unknown;
  annotations: object;
}

function toolsOf(description: object | string, filter?: OperationFilter): Tool[] {
  const text = typeof description === "string" ? description : JSON.stringify(description);
  const { operations } = readOperations(parseDescription(text, "of a test"), filter);
  return operations.map(({ definition }) => definition as unknown as Tool);
}

const toolOf = (...args: Parameters<typeof toolsOf>) => toolsOf(...args)[0] as Tool;

describe("a tool", () => {
  test("keeps fewer types where those of its API are more than a type checker takes, and all where they are not", () => {
    const members = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`m${n}`, { type: "string" }]));
    const types = (operation: number, count: number) =>
      Array.from({ length: count }, (_, n): [string, object] => [
        `T${operation}_${n}`,
        { properties: { ...members, next: { $ref: `#/components/schemas/T${operation}_${n + 1}` } } },
      ]);
    const listOf = (operations: number) => {
      const numbers = Array.from({ length: operations }, (_, n) => n);
      const answer = (n: number) => ({ schema: { $ref: `#/components/schemas/T${n}_0` } });
      const get = (n: number) => ({
        responses: { 200: { description: "", content: { "application/json": answer(n) } } },
      });
      const description = {
        openapi: "3.1.0",
        paths: Object.fromEntries(numbers.map((n) => [`/${n}`, { get: get(n) }])),
        components: { schemas: Object.fromEntries(numbers.flatMap((n) => types(n, 20))) },
      };
      return readOperations(parseDescription(JSON.stringify(description), "of a test"));
    };
    const few = listOf(10);
    expect(few.problems).toEqual([]);
    expect(JSON.stringify(few.operations[0]?.definition).match(/"m0"/g)).toHaveLength(20);
    const many = listOf(40);
    expect(many.operations).toHaveLength(40);
    expect(many.problems).toEqual([
      { message: "40 operations lead to more types than ptc keeps of each; the farthest accept anything" },
    ]);
    const kept = JSON.stringify(many.operations[0]?.definition).match(/"m0"/g)?.length ?? 0;
    expect(kept).toBeGreaterThan(2);
    expect(kept).toBeLessThan(15);
  });

  test("says what its operation does, and what its method means", () => {
    const texts = { summary: "Ends it", description: "For good.", deprecated: true };
    expect(toolOf(described("/x", "delete", texts))).toMatchObject({
      name: "op",
      title: "Ends it",
      description: "Ends it\n\nFor good.\n\nDeprecated.\n\nDELETE /x",
      annotations: { destructiveHint: true, idempotentHint: true, readOnlyHint: false },
    });
    expect(toolOf(described("/x", "get", {})).annotations).toEqual({
      readOnlyHint: true,
      openWorldHint: true,
    });
    expect(toolOf(described("/x", "post", {})).annotations).toEqual({
      readOnlyHint: false,
      openWorldHint: true,
    });
  });

  test("has a name of its own, whatever ids operations have", () => {
    const paths = {
      "/a/{id}": { get: {}, put: { operationId: "same" }, post: { operationId: "same" } },
      "/b": { get: { operationId: "a b/c!" }, put: { operationId: "" } },
    };
    expect(toolsOf({ openapi: "3.0.0", paths }).map(({ name }) => name)).toEqual([
      ...["get_a_id", "same", "post_a_id"],
      ...["a_b_c", "put_b"],
    ]);
  });

  test("takes the parameters of its path and its own, which count first, and what a path names alone", () => {
    const parameter = (name: string, place: string, description: string) => ({
      name,
      in: place,
      description,
      schema: { type: "string" },
    });
    const item = {
      parameters: [parameter("a", "query", "of the path"), parameter("b", "query", "of the path")],
      get: { parameters: [parameter("a", "query", "own")] },
    };
    const tool = toolOf({ openapi: "3.1.0", paths: { "/x/{id}": item } });
    expect(tool.inputSchema).toEqual({
      type: "object",
      additionalProperties: false,
      required: ["id"],
      properties: {
        a: { type: "string", description: "own" },
        b: { type: "string", description: "of the path" },
        id: { type: "string" },
      },
    });
  });

  test("takes a body in any of its forms, and the name of the form where there are several", () => {
    const form = (schema: object) => ({ schema });
    const text = { type: "object", properties: { text: { type: "string" } } };
    const content = {
      "application/json": form(text),
      "application/x-www-form-urlencoded": form(text),
      "text/plain": form({ type: "string" }),
    };
    const bodyOf = (names: (keyof typeof content)[], required?: boolean) => {
      const chosen = Object.fromEntries(names.map((name) => [name, content[name]]));
      const requestBody = { content: chosen, description: "What to say", ...(required && { required }) };
      return toolOf(described("/x", "post", { requestBody })).inputSchema;
    };
    expect(bodyOf(["application/json"], true)).toMatchObject({
      properties: { body: { ...text, description: "What to say" } },
      required: ["body"],
    });
    expect(bodyOf(["application/json"]).required).toEqual([]);
    expect(Object.keys(bodyOf(["application/json"]).properties)).toEqual(["body"]);
    const several = bodyOf(["application/json", "application/x-www-form-urlencoded", "text/plain"]);
    expect(several.properties).toMatchObject({
      body: { anyOf: [text, { type: "string" }] },
      content_type: {
        enum: ["application/json", "application/x-www-form-urlencoded", "text/plain"],
        description: "the form of the body; application/json by default",
      },
    });
  });

  test("returns what any of its successful answers is", () => {
    const json = (schema: object) => ({ content: { "application/json": { schema } } });
    const responses = {
      200: json({ type: "string" }),
      201: json({ type: "string" }),
      204: {},
      404: json({ type: "number" }),
    };
    expect(toolOf(described("/x", "get", { responses })).outputSchema).toEqual({
      anyOf: [{ type: "string" }, { type: "null" }],
    });
    const bytes = { 200: { content: { "application/pdf": {} } } };
    expect(toolOf(described("/x", "get", { responses: bytes })).outputSchema).toBeUndefined();
  });
});

describe("a schema", () => {
  const components = {
    schemas: {
      Node: {
        type: "object",
        required: ["id", "secret"],
        properties: {
          id: { type: "string", readOnly: true },
          secret: { type: "string", writeOnly: true },
          next: { $ref: "#/components/schemas/Node" },
          parent: { allOf: [{ $ref: "#/components/schemas/Node" }], nullable: true },
        },
      },
    },
  };
  const content = { "application/json": { schema: { $ref: "#/components/schemas/Node" } } };
  const operation = { requestBody: { content }, responses: { 200: { content } } };

  test("stands alone, with cycles, and has what is sent without what can only be read", () => {
    const tool = toolOf(described("/x", "post", operation, { components, openapi: "3.0.3" }));
    expect(tool.inputSchema.properties.body).toEqual({ $ref: "#/$defs/Node" });
    expect(tool.inputSchema.$defs?.Node).toMatchObject({
      required: ["secret"],
      properties: { secret: { type: "string" }, next: { $ref: "#/$defs/Node" } },
    });
    expect(JSON.stringify(tool.inputSchema)).not.toMatch(/nullable|readOnly|components|"id"/);
    expect(tool.outputSchema).toMatchObject({
      $defs: { Node: { required: ["id"], properties: { id: { type: "string" } } } },
    });
    expect(JSON.stringify(tool.outputSchema)).not.toMatch(/"secret"/);
  });

  test.each([
    ["nullable in OpenAPI 3.0", { type: "string", nullable: true }, { type: ["string", "null"] }],
    [
      "an exclusive bound of OpenAPI 3.0",
      { type: "number", minimum: 1, exclusiveMinimum: true },
      { type: "number", exclusiveMinimum: 1 },
    ],
    ["a reference to nowhere", { $ref: "#/components/schemas/Gone" }, {}],
    ["a reference to another document", { $ref: "https://evil.example/x.json#/Y" }, {}],
  ])("with %s is JSON Schema", (_, schema, written) => {
    const parameters = [{ name: "a", in: "query", schema }];
    const tool = toolOf(described("/x", "get", { parameters }, { openapi: "3.0.3" }));
    expect(tool.inputSchema.properties.a).toEqual(written);
  });

  test("that nests deeper than 200 levels accepts anything there", () => {
    const nested = (levels: number): object =>
      levels === 0 ? { type: "string" } : { type: "array", items: nested(levels - 1) };
    const levelsOf = (levels: number) => {
      const parameters = [{ name: "a", in: "query", schema: nested(levels) }];
      const text = JSON.stringify(toolOf(described("/x", "get", { parameters })).inputSchema.properties.a);
      return [text.split('"array"').length - 1, text.includes('"string"'), text.includes("{}")];
    };
    expect(levelsOf(200)).toEqual([200, true, false]);
    expect(levelsOf(201)).toEqual([201, false, true]);
  });

  test("keeps what JSON Schema says of values, and nothing else", () => {
    const kept = {
      ...{ type: "object", title: "t", description: "d", deprecated: true, default: {}, const: 1, enum: [1] },
      ...{ format: "f", pattern: "p", required: ["a"], minimum: 1, maximum: 2, exclusiveMinimum: 0 },
      ...{ exclusiveMaximum: 3, multipleOf: 1, minLength: 1, maxLength: 2, minItems: 1, maxItems: 2 },
      ...{ uniqueItems: true, minContains: 1, maxContains: 2, minProperties: 1, maxProperties: 2 },
      ...{ dependentRequired: { a: ["b"] }, contentEncoding: "base64", contentMediaType: "text/csv" },
      ...{ items: {}, additionalProperties: false, unevaluatedProperties: false, unevaluatedItems: false },
      ...Object.fromEntries(
        ["not", "contains", "propertyNames", "if", "then", "else"].map((name) => [name, {}]),
      ),
      ...{ allOf: [{}], anyOf: [{}], oneOf: [{}], prefixItems: [{}] },
      ...{ properties: { a: {} }, patternProperties: { b: {} }, dependentSchemas: { c: {} } },
    };
    const more = { xml: {}, example: 1, externalDocs: {}, "x-own": 1, discriminator: {}, $id: "https://x" };
    const parameters = [{ name: "a", in: "query", schema: { ...kept, ...more } }];
    const tool = toolOf(described("/x", "get", { parameters }));
    expect(tool.inputSchema.properties.a).toEqual(kept);
  });

  test("that leads to itself, or to ten thousand others, ends", () => {
    const schemas: Record<string, unknown> = { Loop: { $ref: "#/components/schemas/Loop" } };
    for (let n = 0; n < 10_000; n++)
      schemas[`S${n}`] = { properties: { next: { $ref: `#/components/schemas/S${n + 1}` } } };
    const parameters = ["Loop", "S0"].map((name) => ({
      name,
      in: "query",
      schema: { $ref: `#/components/schemas/${name}` },
    }));
    const tool = toolOf(described("/x", "get", { parameters }, { components: { schemas } }));
    expect(JSON.stringify(tool.inputSchema).length).toBeLessThan(200_000);
    expect(tool.inputSchema.$defs?.S1).toEqual({ properties: { next: { $ref: "#/$defs/S2" } } });
  });
});

test("Swagger 2.0 and YAML are read as OpenAPI 3.1 is", () => {
  const yaml = `
swagger: "2.0"
info: { title: Pets, version: "3" }
paths:
  /pets:
    post:
      operationId: add
      consumes: [application/json]
      parameters:
        - { name: pet, in: body, required: true, schema: { $ref: "#/definitions/Pet" } }
        - { name: tags, in: query, type: array, items: { type: string }, collectionFormat: pipes }
      responses: { "200": { description: ok, schema: { $ref: "#/definitions/Pet" } } }
definitions:
  Pet: { type: object, properties: { name: { type: string } }, required: [name] }
`;
  const tool = toolOf(yaml);
  expect(tool).toMatchObject({ name: "add", outputSchema: { $ref: "#/$defs/Pet" } });
  expect(tool.inputSchema).toMatchObject({
    required: ["body"],
    properties: { body: { $ref: "#/$defs/Pet" }, tags: { type: "array", items: { type: "string" } } },
    $defs: { Pet: { required: ["name"] } },
  });
});

test("A byte order mark before a description is no part of it", () => {
  const description = JSON.stringify(described("/x", "get", {}));
  expect(toolsOf(`\ufeff${description}`)).toEqual(toolsOf(description));
});

test.each<[OperationFilter, string[]]>([
  [{ include: [{ tag: "a" }] }, ["one", "two"]],
  [{ include: [{ path: "/t*" }] }, ["two", "three"]],
  [{ include: [{ operation: "t*e" }] }, ["three"]],
  [{ include: [{ method: "post" }] }, ["three"]],
  [{ include: [{ tag: "a", path: "/two" }] }, ["two"]],
  [{ exclude: [{ operation: "one" }] }, ["two", "three"]],
  [{ include: [{ tag: "*" }], exclude: [{ path: "*" }] }, []],
])("%j chooses %j", (filter, names) => {
  const paths = {
    "/one": { get: { operationId: "one", tags: ["a"] } },
    "/two": { get: { operationId: "two", tags: ["b", "a"] } },
    "/three": { post: { operationId: "three" } },
  };
  expect(toolsOf({ openapi: "3.1.0", paths }, filter).map(({ name }) => name)).toEqual(names);
});

test.each([
  ["", /is no mapping; it must begin with `openapi:` or `swagger:`/],
  ["{}", /says no version/],
  ['{"openapi":"2.9"}', /is of version "2.9"; ptc reads OpenAPI 3 and Swagger 2.0/],
  ['{"openapi":', /is not valid JSON/],
  ["a: [", /is neither JSON nor YAML/],
  [
    '{"openapi":"3.1.0","a":1,"a":2}',
    /^the OpenAPI description of a test has the key "a" twice in one object$/,
  ],
  [
    `openapi: 3.1.0\na: &a [x,x]\n${"bcdefghijk"
      .split("")
      .map((c, i) => `${c}: &${c} [${Array(20).fill(`*${"abcdefghij"[i]}`).join(",")}]`)
      .join("\n")}`,
    /aliases/,
  ],
])("%j is refused in one line", (text, message) => {
  expect(() => parseDescription(text.slice(0, 5_000), "of a test")).toThrow(message);
});

const SPELLINGS: [path: string, filter: OperationFilter, isThere: boolean][] = [
  ["/public/../admin/users", { include: [{ path: "/public/*" }] }, false],
  ["/public/%2e%2e/admin/users", { include: [{ path: "/public/*" }] }, false],
  ["/public/..%2fadmin/users", { include: [{ path: "/public/*" }] }, false],
  ["/public/x%2F..%2F..%2Fadmin", { include: [{ path: "/public/*" }] }, false],
  ["/public/x%252F..%252F..%252Fadmin", { include: [{ path: "/public/*" }] }, false],
  ["/public/..;/admin", { include: [{ path: "/public/*" }] }, false],
  ["/public\\..\\admin", { include: [{ path: "/public/*" }] }, false],
  ["/public;v=1/x", { include: [{ path: "/public/*" }] }, false],
  ["/public/./x", { include: [{ path: "/public/*" }] }, true],
  ["/public/x?y=1", { include: [{ path: "/public/x?y=1" }] }, true],
  ["/public/{a/../b}", { include: [{ path: "/public/*" }] }, true],
  ["/%61dmin/x", { exclude: [{ path: "/admin/*" }] }, false],
  ["//admin/x", { exclude: [{ path: "/admin/*" }] }, false],
  ["/./admin/x", { exclude: [{ path: "/admin/*" }] }, false],
  ["/a/../admin/x", { exclude: [{ path: "/admin/*" }] }, false],
  ["/\\admin/x", { exclude: [{ path: "/admin/*" }] }, false],
  ["/admin;a=1/x", { exclude: [{ path: "/admin/*" }] }, false],
  ["/admin%2fx", { exclude: [{ path: "/admin/*" }] }, false],
  ["/admin%5cx", { exclude: [{ path: "/admin/*" }] }, false],
  ["/%2561dmin/x", { exclude: [{ path: "/admin/*" }] }, false],
  ["/ADMIN/x", { exclude: [{ path: "/admin/*" }] }, false],
  ["/a%c3%a9/x", { exclude: [{ path: "/a%C3%A9/*" }] }, false],
  ["/administrators/x", { exclude: [{ path: "/admin/*" }] }, true],
];

test.each(SPELLINGS)(
  "the path %s with %j is read as servers read it: a tool is there %s",
  (path, filter, isThere) => {
    const paths = { [path]: { get: { operationId: "op" } } };
    expect(toolsOf({ openapi: "3.1.0", paths }, filter)).toHaveLength(isThere ? 1 : 0);
  },
);

test.each(["/../x", "/a/../../x", "/..%2fx", "/a\tb", "/{x}/../y"])(
  "the path %j, which leads out or may be read so, is left out with its name",
  (path) => {
    const text = JSON.stringify({ openapi: "3.1.0", paths: { [path]: { get: {} }, "/ok": { get: {} } } });
    const { operations, problems } = readOperations(parseDescription(text, "of a test"));
    expect(operations).toHaveLength(1);
    expect(problems).toEqual([
      { message: expect.stringMatching(/^the path ".*" (leads|has) .*, and is left out$/) },
    ]);
  },
);

describe("YAML", () => {
  const COMMON = `
x-common: &common
  parameters: [{ name: page, in: query, schema: { type: integer } }]
  responses: { "200": { content: { application/json: { schema: { type: string } } } } }
x-more: &more
  responses: { "200": { content: { application/json: { schema: { type: number } } } } }
  tags: [a]
`;
  test.each([
    ["<<: *common", ["page"], { type: "string" }],
    ["<<: [*common, *more]", ["page"], { type: "string" }],
    ["<<: [*more, *common]", ["page"], { type: "number" }],
    ["<<: *more\n      <<: *common", ["page"], { type: "number" }],
    ["<<: *common\n      responses: {}", ["page"], undefined],
    ["responses: {}\n      <<: *common", ["page"], undefined],
    ["<<: { <<: *common, responses: {} }", ["page"], undefined],
  ])("with the merge keys %j is read as if it were written out", (merged, parameters, output) => {
    const tool = toolOf(`openapi: 3.1.0${COMMON}paths:\n  /x:\n    get:\n      ${merged}\n`);
    expect(Object.keys(tool.inputSchema.properties)).toEqual(parameters);
    expect(tool.outputSchema).toEqual(output);
  });

  test("with merge keys that stand for millions of members is refused in one line", () => {
    const many = Array.from({ length: 3_000 }, (_, n) => `  k${n}: 1`).join("\n");
    const text = `openapi: 3.1.0\nx: &a\n${many}\ny:\n${"  - {<<: *a}\n".repeat(400)}`;
    expect(() => parseDescription(text, "of a test")).toThrow(
      "has merge keys (`<<`) that stand for too much",
    );
    expect(() => parseDescription("openapi: 3.1.0\nx: {<<: 5}", "of a test")).toThrow(
      "has a merge key (`<<`) with something other than mappings",
    );
  });

  test.each([
    "openapi: 3.1",
    "openapi: 3.0",
    "openapi: 3.10",
    "openapi: 3.0.3",
    "swagger: 2.0",
    "swagger: 2",
    'openapi: "3.1"',
  ])("may begin with %s", (version) => {
    expect(toolsOf(`${version}\npaths: { /x: { get: { responses: {} } } }`)).toHaveLength(1);
  });
});

describe("an answer", () => {
  const outputOf = (responses: object) => toolOf(described("/x", "get", { responses })).outputSchema;
  const number = { schema: { type: "number" } };
  test.each<[responses: object, output: unknown]>([
    [{ 200: { content: { "*/*": number } } }, { type: "number" }],
    [{ 200: { content: { "application/*": number } } }, { type: "number" }],
    [{ "2XX": { content: { "application/json": number } } }, { type: "number" }],
    [{ "2xx": { content: { "application/*+json": number } } }, { type: "number" }],
    [{ default: { content: { "*/*": number } } }, { type: "number" }],
    [{ 404: {}, default: { content: { "application/json": number } } }, { type: "number" }],
    [{ 200: { content: { "*/*": { schema: { type: "string", format: "binary" } } } } }, undefined],
    [{ 200: { content: { "*/*": {} } } }, undefined],
    [{ 200: { content: { "text/*": {} } } }, { type: "string" }],
  ])("in %j has its type", (responses, output) => {
    expect(outputOf(responses)).toEqual(output);
  });
});

describe("64 KiB of types", () => {
  const MOST = 64 * 1024;
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const input = (schema: object) => ({
    requestBody: { content: { "application/json": { schema } } },
  });
  const words = (count: number) => Array.from({ length: count }, (_, n) => `the value of number ${n}`);
  const chain = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, n) => [
      `Name${n}`,
      n % 2 === 0 ? ref(`Name${n + 1}`) : { items: ref(`Name${n + 1}`) },
    ]),
  );
  const LARGE: [string, object, object][] = [
    ["a large enum", { enum: words(300_000) }, {}],
    ["a large enum of a definition", ref("E"), { E: { type: "string", enum: words(300_000) } }],
    ["a chain of references", ref("Name0"), chain],
    [
      "one type with many references",
      { properties: Object.fromEntries(Object.keys(chain).map((name) => [name, ref(name)])) },
      chain,
    ],
    [
      "a wide object",
      { properties: Object.fromEntries(words(10_000).map((word) => [word, { type: "string" }])) },
      {},
    ],
    [
      "a large default, description and pattern",
      { default: words(10_000), description: "d".repeat(1e6), pattern: "a".repeat(1e5) },
      {},
    ],
    [
      "many bytes in few characters",
      { enum: Array.from({ length: 4_000 }, (_, n) => `値の番号は次の通りです${n}`) },
      {},
    ],
    ["alternatives", { oneOf: words(10_000).map((word) => ({ const: word })) }, {}],
  ];
  test.each(LARGE)("are the most that is printed of %s", (_, schema, schemas) => {
    const content = { "application/json": { schema } };
    const operation = { ...input(schema), responses: { 200: { content } } };
    const tool = toolOf(described("/x", "post", operation, { components: { schemas } }));
    for (const each of [tool.inputSchema, tool.outputSchema])
      expect(Buffer.byteLength(JSON.stringify(each))).toBeLessThanOrEqual(MOST);
    expect(tool.inputSchema).toMatchObject({ type: "object", properties: { body: expect.anything() } });
  });

  test("keep of what is cut no more than is true of it", () => {
    const large = { enum: words(20_000) };
    const schemas = { Large: large, Small: { type: "string" } };
    const schema = { oneOf: [ref("Large"), ref("Small")], not: large, description: "kept" };
    const tool = toolOf(described("/x", "post", input(schema), { components: { schemas } }));
    expect(tool.inputSchema.properties.body).toMatchObject({ description: "kept", anyOf: [{}, {}] });
    expect(tool.inputSchema.properties.body).not.toHaveProperty("not");
    expect(tool.inputSchema.properties.body).not.toHaveProperty("oneOf");
  });
});

test("More than ten thousand operations are as many tools, and the rest is named", () => {
  const paths = Object.fromEntries(Array.from({ length: 10_005 }, (_, n) => [`/p${n}`, { get: {} }]));
  const text = JSON.stringify({ openapi: "3.1.0", paths });
  const { operations, problems } = readOperations(parseDescription(text, "of a test"));
  expect(operations).toHaveLength(10_000);
  expect(problems).toEqual([{ message: "it has more than 10000 operations; the others are left out" }]);
});

describe("a description that is somewhere", () => {
  const DESCRIPTION = described("/x", "get", {}, { servers: [{ url: "/v1" }] });

  async function open(
    openapi: string,
    more: { url?: string; timeoutMs?: number; signal?: AbortSignal } = {},
  ) {
    const { url = "", timeoutMs = 20_000, signal = new AbortController().signal } = more;
    const options = { headers: { "x-key": "k" }, authorization: undefined, version: "0", timeoutMs, signal };
    const connection = await openApi({ openapi, url, operations: {} }, options);
    const called = () =>
      connection
        .callTool({ tool: "op", arguments: {}, signal: new AbortController().signal, timeoutMs })
        .finally(() => connection.close());
    return { called };
  }

  test("says where its API is, relative to itself, and gets the keys of that only where it is a part of it", async () => {
    const api = await serveApi(({ url }) =>
      url === "/api.json" ? { body: JSON.stringify(DESCRIPTION) } : {},
    );
    const { called } = await open(`${api.url}/api.json`);
    await called();
    await (await open(`${api.url}/api.json`, { url: `${api.url}/v2` })).called();
    const keys = api.asked.map(({ url, headers }) => [url, headers["x-key"]]);
    expect(keys).toEqual([
      ["/api.json", undefined],
      ["/v1/x", "k"],
      ["/api.json", "k"],
      ["/v2/x", "k"],
    ]);
  });

  test("may be on this machine, by its name, with its API", async () => {
    const api = await serveApi(({ url }) =>
      url === "/api.json" ? { body: JSON.stringify(DESCRIPTION) } : {},
    );
    const { called } = await open(`${api.url.replace("127.0.0.1", "localhost")}/api.json`);
    expect(await called()).toMatchObject({ structuredContent: {} });
  });

  test.each<[what: string, answer: Answer, code: string, message: RegExp]>([
    ["is not there", { status: 404 }, "handshake_failed", /^http:\S+\/api\.json answered HTTP 404$/],
    ["comes without a body", { status: 304 }, "handshake_failed", /answered HTTP 304$/],
    [
      "is elsewhere",
      { status: 302, headers: { location: "https://x.example/api" } },
      "handshake_failed",
      /answered HTTP 302, which leads to https:\/\/x\.example\/api; write that URL$/,
    ],
    ["is none", { body: "[]" }, "protocol_error", /is no mapping/],
  ])("and %s is refused in one line", async (_, answer, code, message) => {
    const { url } = await serveApi(() => answer);
    await expect(open(`${url}/api.json`)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  test("and does not come is waited for only so long, and only while somebody wants it", async () => {
    const url = await listen(() => {});
    await expect(open(`${url}/api.json`, { timeoutMs: 100 })).rejects.toMatchObject({
      code: "connect_timeout",
      message: `${url}/api.json gave no answer within 0.1 s`,
    });
    await expect(open(`${url}/api.json`, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "cancelled",
    });
  });

  test("and cannot be read says why", async () => {
    await expect(open("http://127.0.0.1:1/api.json")).rejects.toMatchObject({
      code: "start_failed",
      message: expect.stringMatching(/^http:\/\/127\.0\.0\.1:1\/api\.json cannot be reached: /),
    });
    const folder = newFolder();
    await expect(open(join(folder, "none.json"))).rejects.toThrow(/none\.json: there is no such file$/);
    await expect(open(folder)).rejects.toThrow(/: it cannot be read \(EISDIR\)$/);
  });

  test.each<[servers: unknown, message: RegExp]>([
    [undefined, /names no host; say with base_url where the API is/],
    [[], /names no host/],
    [[{ url: "/v1" }], /names no host/],
    [[{ url: "ftp://x.example" }], /names no host/],
    [[{ url: "http://{host}" }], /names no host/],
    [[{ url: "http://localhost:1" }], /leads to localhost:1, which is no public host; say with base_url/],
    [[{ url: "http://api.localhost" }], /leads to api\.localhost, which is no public host/],
    [[{ url: "http://10.0.0.1" }], /leads to 10\.0\.0\.1, which is no public host/],
    [[{ url: "http://[::1]" }], /leads to \[::1\], which is no public host/],
    [
      [{ url: "http://{host}/v1", variables: { host: { default: "127.0.0.1" } } }],
      /leads to 127\.0\.0\.1, which is no public host/,
    ],
  ])("in a file, and has the servers %j, does not say where its API is", async (servers, message) => {
    const file = join(newFolder(), "api.json");
    writeFileSync(file, JSON.stringify({ ...DESCRIPTION, servers }));
    await expect(open(file)).rejects.toMatchObject({
      code: "protocol_error",
      message: expect.stringMatching(message),
    });
  });
});
