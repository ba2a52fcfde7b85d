/** What an answer says of the next page, as the arguments of the call that gives it. */
import { describe, expect, test } from "vitest";
import { type Answer, described, openDescribed, serveApi } from "./serve-api.ts";

const parameter = (name: string, type = "string", rest: object = {}) => ({
  ...{ name, in: "query", schema: { type, ...rest } },
});

/** The arguments of the call after one, by the operation's parameters, the schema of its answer, and the answer. */
async function nextOf(
  { path = "/x", method = "get", parameters = [] as object[], schema = undefined as unknown, ...rest },
  args: object,
  answer: Answer,
) {
  const api = await serveApi(() => answer);
  const content = schema === undefined ? {} : { content: { "application/json": { schema } } };
  const responses = { 200: { ...content, ...(rest as { response?: object }).response } };
  const operation = { parameters, responses, ...(rest as { operation?: object }).operation };
  const { connection, call } = openDescribed(described(path, method, operation), `${api.url}/v1`);
  const { tools } = await connection.list();
  const answered = (await call("op", args)) as { _meta?: Record<string, unknown>; isError?: boolean };
  expect(answered.isError).toBeUndefined();
  return {
    next: answered._meta?.["ptc/next"],
    isTold: String((tools[0] as { description: string }).description).includes("`pages("),
  };
}

const json = (value: unknown): Answer => ({
  headers: { "content-type": "application/json" },
  body: JSON.stringify(value),
});
const linked = (link: string): Answer => ({
  headers: { "content-type": "application/json", link },
  body: "[]",
});

describe("a header Link", () => {
  const parameters = [parameter("page", "integer"), parameter("per_page", "integer"), parameter("q")];

  test.each<[string, object, string, object | undefined]>([
    [
      "names the next page",
      { q: "a b" },
      '<https://x.example/v1/x?q=a%20b&page=2>; rel="next"',
      { q: "a b", page: 2 },
    ],
    [
      "is one of several",
      {},
      '</v1/x?page=1>; rel=prev, </v1/x?page=3>; title="a,b;<"; rel="last next"',
      { page: 3 },
    ],
    ["names no next page", { page: 3 }, '</v1/x?page=2>; rel="prev"', undefined],
    ["names the same page", { page: 2 }, '</v1/x?page=2>; rel="next"', undefined],
    ["is another relation", {}, '</style?page=9>; rel="preload"', undefined],
    [
      "has what is no argument",
      {},
      "<https://x.example/v1/x?page=2&api_key=k&__proto__=1>; rel=next",
      { page: 2 },
    ],
    ["is no URL", {}, "<http://[>; rel=next", undefined],
  ])("that %s, after %j", async (_, args, link, next) => {
    expect((await nextOf({ parameters }, args, linked(link))).next).toEqual(next);
  });

  test("that tells of pages, and of no next one, says more than a member of the answer", async () => {
    const schema = { type: "object", properties: { next_cursor: { type: "string" } } };
    const body = JSON.stringify({ next_cursor: "c" });
    const nextWith = async (link: string) => {
      const answer = { ...linked(link), body };
      return (await nextOf({ parameters: [parameter("cursor")], schema }, {}, answer)).next;
    };
    for (const relation of ["prev", "previous", "first", "last", "up prev", "LAST"])
      expect([relation, await nextWith(`</v1/x?page=2>; rel="${relation}"`)]).toEqual([relation, undefined]);
    for (const relation of ["preload", "up", "lasting", "not-first"])
      expect(await nextWith(`</v1/x?page=2>; rel="${relation}"`)).toEqual({ cursor: "c" });
    expect(await nextWith("</v1/x?page=1>; rel=first, </style>; rel=preload")).toBeUndefined();
  });

  test("keeps the arguments of the path where its path is another, and takes them where it is the same", async () => {
    const operation = {
      path: "/repos/{owner}/items/{n}",
      parameters: [...parameters, { name: "n", in: "path", required: true, schema: { type: "integer" } }],
    };
    const args = { owner: "a/b", n: 1 };
    const other = await nextOf(operation, args, linked("</repositories/17/items?page=2>; rel=next"));
    expect(other.next).toEqual({ ...args, page: 2 });
    const same = await nextOf(operation, args, linked("</v1/repos/a%2Fb/items/2>; rel=next"));
    expect(same.next).toEqual({ ...args, n: 2 });
  });

  test.each(["/x?page=2", "/?page=2", "/v1/a//2?page=2", "/v1/a/b/2/?page=2"])(
    "keeps the arguments of the path where its path lacks one: %s",
    async (target) => {
      const inPath = (name: string) => ({ name, in: "path", required: true, schema: { type: "string" } });
      const operation = {
        path: "/{owner}/{repo}/{n}",
        parameters: [...parameters, ...["owner", "repo", "n"].map(inPath)],
      };
      const args = { owner: "a", repo: "b", n: "1" };
      const { next } = await nextOf(operation, args, linked(`<${target}>; rel=next`));
      expect(next).toEqual({ ...args, page: 2 });
    },
  );

  test("is told to models where the description has it", async () => {
    const response = { headers: { Link: { schema: { type: "string" } } } };
    expect(await nextOf({ parameters, response }, {}, linked(""))).toEqual({ isTold: true, next: undefined });
    expect((await nextOf({ parameters }, {}, linked(""))).isTold).toBe(false);
  });
});

const object = (properties: object) => ({ type: "object", properties });
const string = { type: "string" };
const integer = { type: "integer" };
const list = { type: "array", items: object({ id: string }) };

describe("a member of the answer", () => {
  test.each<[string, object[], object, object, unknown, object | undefined]>([
    [
      "a cursor",
      [parameter("cursor")],
      object({ next_cursor: { type: ["string", "null"] } }),
      {},
      { next_cursor: "c" },
      { cursor: "c" },
    ],
    ...["anyOf", "oneOf"].map((keyword): [string, object[], object, object, unknown, object] => [
      `a cursor that may be null, by ${keyword}`,
      [parameter("cursor")],
      object({ next_cursor: { [keyword]: [{ type: "null" }, string] } }),
      {},
      { next_cursor: "c" },
      { cursor: "c" },
    ]),
    [
      "a cursor at the end",
      [parameter("cursor")],
      object({ next_cursor: string }),
      { cursor: "b" },
      { next_cursor: "" },
      undefined,
    ],
    [
      "a token",
      [parameter("pageToken")],
      object({ nextPageToken: string }),
      {},
      { nextPageToken: "t" },
      { pageToken: "t" },
    ],
    [
      "a cursor inside",
      [parameter("after")],
      object({ paging: object({ next: object({ after: string }) }) }),
      {},
      { paging: { next: { after: "9" } } },
      { after: "9" },
    ],
    [
      "a cursor of Slack",
      [parameter("cursor")],
      object({ response_metadata: object({ next_cursor: string }) }),
      { q: 1 },
      { response_metadata: { next_cursor: "c=" } },
      { q: 1, cursor: "c=" },
    ],
    [
      "the last item of Stripe",
      [parameter("starting_after")],
      object({ data: list, has_more: { type: "boolean" } }),
      {},
      { data: [{ id: "a" }, { id: "b" }], has_more: true },
      { starting_after: "b" },
    ],
    [
      "no more items of Stripe",
      [parameter("starting_after")],
      object({ data: list, has_more: { type: "boolean" } }),
      {},
      { data: [{ id: "a" }], has_more: false },
      undefined,
    ],
    [
      "a URL",
      [parameter("offset", "integer"), parameter("tags", "array")],
      object({ next: string }),
      {},
      { next: "https://evil.example/?offset=20&tags=a&tags=b" },
      { offset: 20, tags: ["a", "b"] },
    ],
    [
      "a URL that is none",
      [parameter("offset", "integer")],
      object({ next: string }),
      {},
      { next: "20" },
      undefined,
    ],
    [
      "a URL of HAL",
      [parameter("page", "integer")],
      object({ _links: object({ next: object({ href: string }) }) }),
      {},
      { _links: { next: { href: "/x?page=4" } } },
      { page: 4 },
    ],
    [
      "a number of pages",
      [parameter("page", "integer")],
      object({ meta: object({ total_pages: integer }) }),
      {},
      { meta: { total_pages: 2 } },
      { page: 2 },
    ],
    [
      "the last of the pages",
      [parameter("page", "integer", { default: 0 })],
      object({ totalPages: integer }),
      { page: 2 },
      { totalPages: 2 },
      undefined,
    ],
    [
      "a page that begins at 0",
      [parameter("page", "integer", { default: 0 })],
      object({ has_more: { type: "boolean" } }),
      {},
      { has_more: true },
      { page: 1 },
    ],
    [
      "a total",
      [parameter("offset", "integer")],
      object({ total: integer, items: list }),
      { offset: 2 },
      { total: 5, items: [{}, {}] },
      { offset: 4 },
    ],
    [
      "a total that is reached",
      [parameter("offset", "integer")],
      object({ total: integer, items: list }),
      { offset: 4 },
      { total: 5, items: [{}] },
      undefined,
    ],
    [
      "a member of another type than described",
      [parameter("cursor")],
      object({ next_cursor: string }),
      {},
      { next_cursor: { a: 1 } },
      undefined,
    ],
  ])("that is %s gives the next page", async (_, parameters, schema, args, answer, next) => {
    const all = [...parameters, parameter("q")];
    expect(await nextOf({ parameters: all, schema }, args, json(answer))).toEqual({ next, isTold: true });
  });

  test("is not taken for one of pages where no parameter goes with it", async () => {
    const schema = object({ next_cursor: string, total: integer, items: list });
    const { next, isTold } = await nextOf(
      { parameters: [parameter("q")], schema },
      {},
      json({ next_cursor: "c" }),
    );
    expect([next, isTold]).toEqual([undefined, false]);
  });

  test("is the cursor in the body of the next request", async () => {
    const body = {
      content: { "application/json": { schema: object({ start_cursor: string, query: string }) } },
    };
    const schema = object({ next_cursor: string, has_more: { type: "boolean" } });
    const { next } = await nextOf(
      { method: "post", schema, operation: { requestBody: body } },
      { body: { query: "a" } },
      json({ next_cursor: "c", has_more: true }),
    );
    expect(next).toEqual({ body: { query: "a", start_cursor: "c" } });
  });
});

test("A link of the description gives the next page, and one back does not", async () => {
  const links = {
    prev: { operationId: "op", parameters: { at: "$response.body#/prev" } },
    next: {
      operationId: "op",
      parameters: { "query.at": "$response.body#/page/0/n~1a", size: 50, q: "$request.query.q" },
    },
  };
  const operation = {
    parameters: [parameter("at", "integer"), parameter("size", "integer"), parameter("q")],
    response: { links },
  };
  const answered = await nextOf(operation, { q: "x" }, json({ prev: 1, page: [{ "n/a": 7 }] }));
  expect(answered).toEqual({ isTold: true, next: { q: "x", at: 7, size: 50 } });
  expect((await nextOf(operation, { q: "x" }, json({ prev: 1 }))).next).toBeUndefined();
});

describe("an expression of a link", () => {
  const GOES_ON = { "content-type": "application/json", "x-go": "on" };
  const answers = (value: unknown, headers = {}): Answer => ({
    headers: { ...GOES_ON, ...headers },
    body: JSON.stringify(value),
  });

  test.each<[expression: unknown, answer: Answer, at: object | undefined]>([
    ["$response.body#/n", answers({ n: 7 }), { at: 7 }],
    ["$response.body#/n", answers({}), undefined],
    ["$response.body#n", answers({ n: 7 }), undefined],
    ["$response.body", answers("all"), { at: "all" }],
    ["$response.header.X-Next", answers([], { "x-next": "h" }), { at: "h" }],
    ["$response.header.X-Next", answers([]), undefined],
    ["$response.header", answers([]), undefined],
    ["$response.query.q", answers([]), undefined],
    ["$request.query.q", answers([]), { at: "asked" }],
    ["$request.query.none", answers([]), {}],
    ["$request.path.id", answers([]), { at: "one" }],
    ["$request.body#/deep/er", answers([]), { at: "inside" }],
    ["$url", answers([]), { at: expect.stringMatching(/^http:.*\/v1\/x\/one\?q=asked$/) }],
    ["$method", answers([]), {}],
    ["from-{$response.body#/n}-{$request.query.q}", answers({ n: 7 }), { at: "from-7-asked" }],
    ["from-{$response.body#/n}", answers({}), { at: "from-" }],
    ["as it is", answers([]), { at: "as it is" }],
    [5, answers([]), { at: 5 }],
  ])("%j has its value from the request or the answer %j: %j", async (expression, answer, at) => {
    const operation = {
      path: "/x/{id}",
      method: "post",
      parameters: [
        ...[parameter("at"), parameter("go"), parameter("q")],
        { name: "id", in: "path", required: true, schema: { type: "string" } },
      ],
      operation: { requestBody: { content: { "application/json": { schema: {} } } } },
      response: {
        links: {
          next: { operationId: "op", parameters: { at: expression, go: "$response.header.X-Go" } },
        },
      },
    };
    const args = { id: "one", q: "asked", body: { deep: { er: "inside" } } };
    const { next } = await nextOf(operation, args, answer);
    expect(next).toEqual(at === undefined ? undefined : { ...args, ...at, go: "on" });
  });
});

test("An answer cannot make the arguments of the next page as large as it likes", async () => {
  const operation = { parameters: [parameter("cursor")], schema: object({ next_cursor: string }) };
  expect((await nextOf(operation, {}, json({ next_cursor: "c".repeat(100_000) }))).next).toBeUndefined();
});
