/** What a program gets for the answers of an API. */
import { expect, test } from "vitest";
import { type Answer, described, openDescribed, serveApi } from "./serve-api.ts";

const get = described("/x", "get", {});

async function answered(answer: Answer, timeoutMs?: number): Promise<unknown> {
  const api = await serveApi(() => answer);
  return openDescribed(get, api.url).call("op", {}, timeoutMs);
}

const json = { "content-type": "application/json; charset=utf-8" };

test.each<[string, Answer, unknown]>([
  ["JSON is its value", { headers: json, body: '[{"a":1}]' }, { content: [], structuredContent: [{ a: 1 }] }],
  ["JSON null is null", { headers: json, body: "null" }, { content: [], structuredContent: null }],
  [
    "another kind of JSON is its value",
    { headers: { "content-type": "application/hal+json" }, body: "{}" },
    { structuredContent: {} },
  ],
  ["text is a text", { headers: { "content-type": "text/csv" }, body: "a,b" }, { structuredContent: "a,b" }],
  ["nothing is null", { status: 204, headers: {}, body: "" }, { content: [], structuredContent: null }],
  [
    "an image is an image",
    { headers: { "content-type": "image/png" }, body: Buffer.from([1, 255]) },
    { content: [{ type: "image", data: "Af8=", mimeType: "image/png" }] },
  ],
  [
    "other bytes are a resource",
    { headers: { "content-type": "application/pdf" }, body: Buffer.from([1, 255]) },
    { content: [{ type: "resource", resource: { mimeType: "application/pdf", blob: "Af8=" } }] },
  ],
  [
    "what is no JSON and said to be is a failure",
    { headers: json, body: "{" },
    {
      isError: true,
      content: [
        {
          text: expect.stringMatching(
            /^the request was made \(HTTP 200\), but its answer is said to be JSON, and is not JSON \(/,
          ),
        },
      ],
      structuredContent: { status: 200, body: "{" },
    },
  ],
  [
    "a failure has its status and what the API says",
    { status: 404, headers: json, body: '{"error":{"message":"no\\nsuch order"}}' },
    {
      isError: true,
      content: [{ text: "HTTP 404: no\\u{a}such order" }],
      structuredContent: { status: 404, body: { error: { message: "no\nsuch order" } } },
    },
  ],
  [
    "problem details say what is wrong",
    {
      status: 422,
      headers: { "content-type": "application/problem+json" },
      body: '{"title":"t","detail":"d"}',
    },
    { content: [{ text: "HTTP 422: d" }] },
  ],
  [
    "a failure without words has those of HTTP",
    { status: 500, headers: {}, body: "" },
    { content: [{ text: "HTTP 500: Internal Server Error" }] },
  ],
])("%s", async (_, answer, result) => {
  expect(await answered(answer)).toMatchObject(result as object);
});

test.each([
  ["17", "HTTP 429: slow down; it may be tried again in 17 s"],
  [new Date(Date.now() - 60_000).toUTCString(), "HTTP 429: slow down; it may be tried again in 0 s"],
  ["Wed, 21 Oct 2015", "HTTP 429: slow down; it may be tried again in 0 s"],
  ["21 Oct 2015 07:28:00 GMT", "HTTP 429: slow down; it may be tried again in 0 s"],
  ["999999999", "HTTP 429: slow down; it may be tried again in 999999999 s"],
  ["12345678901", "HTTP 429: slow down"],
  ["soon", "HTTP 429: slow down"],
])(
  "a limit of rates is a failure that may be tried again, with Retry-After %j as it says",
  async (after, message) => {
    const answer = {
      status: 429,
      headers: { ...json, "retry-after": after },
      body: '{"message":"slow down"}',
    };
    await expect(answered(answer)).rejects.toMatchObject({ code: "remote_error", retryable: true, message });
  },
);

test.each([408, 425, 429, 502, 503, 504])("what fails with %i may be tried again", async (status) => {
  await expect(answered({ status })).rejects.toMatchObject({ code: "remote_error", retryable: true });
});

test.each([400, 401, 403, 404, 409, 500, 501])("what fails with %i is the answer", async (status) => {
  expect(await answered({ status })).toMatchObject({
    isError: true,
    structuredContent: { status, body: {} },
  });
});

test.each([
  ['"no"', "no"],
  ['{"message":"","detail":"no"}', "no"],
  ['{"error_description":"no","error":"invalid"}', "no"],
  ['{"errors":[{"errorMessage":"no"},{"title":"later"}]}', "no"],
  ['{"errors":["no"]}', "no"],
  ['{"title":"no","code":5}', "no"],
  ['{"code":5}', "Bad Request"],
  ["null", "Bad Request"],
  ['""', "Bad Request"],
])("a failure says what its body %s says", async (body, said) => {
  const text = `HTTP 400: ${said}`;
  expect(await answered({ status: 400, headers: json, body })).toMatchObject({ content: [{ text }] });
});

test("a redirect is followed within the API's origin alone, and for requests that change nothing alone", async () => {
  const other = await serveApi();
  const api = await serveApi(({ url }) => {
    const [, where, status = ""] = /^\/(here|there)-(\d+)$/.exec(url) ?? [];
    if (where === undefined) return { body: '"arrived"' };
    return { status: Number(status), headers: { location: where === "here" ? "/end" : `${other.url}/end` } };
  });
  const call = async (path: string, method: string) =>
    openDescribed(described(path, method, {}), api.url, { headers: { Authorization: "secret" } }).call("op");
  expect(await call("/here-302", "get")).toMatchObject({ structuredContent: "arrived" });
  await expect(call("/there-302", "get")).rejects.toThrow(
    /the answer is at http:\/\/127\.0\.0\.1:\d+, where ptc does not follow/,
  );
  expect(await call("/here-307", "post")).toMatchObject({ isError: true });
  expect(other.asked).toEqual([]);
});

test.each([301, 302, 303, 307, 308])(
  "a redirect with %i that leaves the URL of the API is not followed, however it is written, and gets no credentials",
  async (status) => {
    const other = await serveApi();
    const locations = (own: string) => [
      `${other.url}/v1/x`,
      `//${new URL(other.url).host}/v1/x`,
      `${own}/v2/x`,
      "/v2/x",
      "../v2/x",
      "/v1/../v2/x",
      "/v1/%2e%2e/v2/x",
      "/v1/..%2fv2/x",
      "/v1/..;/v2/x",
      "/v1x",
      `${own.replace("//", "//user@")}/v1/x`,
      "javascript:alert(1)",
    ];
    let location = "";
    const api = await serveApi(({ url }) =>
      url === "/v1/x"
        ? { status, headers: { location: "/v1/y" } }
        : url === "/v1/y"
          ? { status, headers: { location } }
          : { body: '"arrived"' },
    );
    const headers = { Authorization: "secret" };
    for (const each of locations(api.url)) {
      location = each;
      await expect(openDescribed(get, `${api.url}/v1`, { headers }).call("op"), each).rejects.toThrow(
        /where ptc does not follow; the request was made$/,
      );
    }
    location = "z?a=1";
    expect(await openDescribed(get, `${api.url}/v1`, { headers }).call("op")).toMatchObject({
      structuredContent: "arrived",
    });
    for (const method of ["post", "put", "patch", "delete", "options"]) {
      const { call } = openDescribed(described("/x", method, {}), `${api.url}/v1`, { headers });
      expect(await call("op"), method).toMatchObject({
        isError: true,
        content: [{ text: `HTTP ${status}: the answer is at /v1/y, where ptc does not follow` }],
      });
    }
    expect(other.asked).toEqual([]);
    expect(api.asked.filter(({ url }) => !/^\/v1\/[xyz]/.test(url))).toEqual([]);
  },
);

const text = (body: string | Buffer, type: string): Answer => ({ headers: { "content-type": type }, body });
const latin = Buffer.from("caf\u00e9", "latin1");

test.each<[string, Answer, unknown]>([
  ["ISO-8859-1", text(latin, "text/csv; charset=ISO-8859-1"), "caf\u00e9"],
  ["a quoted charset", text(latin, 'text/plain;charset="iso-8859-1"; header=present'), "caf\u00e9"],
  ["Windows-1252", text(Buffer.from([0x80]), "text/plain; Charset=windows-1252"), "\u20ac"],
  ["Shift_JIS", text(Buffer.from([0x83, 0x65]), "text/plain; charset=Shift_JIS"), "\u30c6"],
  ["UTF-16", text(Buffer.from("\ufeffa", "utf16le"), "text/plain"), "a"],
  ["a byte order mark", text("\ufeffa,b", "text/csv; charset=iso-8859-1"), "a,b"],
  [
    "JSON in ISO-8859-1",
    text(Buffer.from('"\u00e9"', "latin1"), "application/json; charset=latin1"),
    "\u00e9",
  ],
  ["JSON after a byte order mark", text('\ufeff{"a":1}', "application/json"), { a: 1 }],
  [
    "XML that names it itself",
    text(
      Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>\u00e9</a>', "latin1"),
      "application/xml",
    ),
    '<?xml version="1.0" encoding="ISO-8859-1"?><a>\u00e9</a>',
  ],
  ["JSON without a type", { headers: {}, body: '{"a":1}' }, { a: 1 }],
  ["text without a type", { headers: {}, body: "{a" }, "{a"],
  ["nothing with the type of JSON", { status: 201, headers: json, body: "" }, null],
  ["a line feed with the type of JSON", { headers: json, body: "\r\n" }, null],
  ["nothing with 205", { status: 205, headers: json, body: "" }, null],
])("an answer in %s is read as what it is", async (_, answer, value) => {
  expect(await answered(answer)).toEqual({ content: [], structuredContent: value });
});

test.each<[string, Answer, RegExp]>([
  [
    "NaN",
    { status: 201, headers: json, body: '{"id":7,"x":NaN}' },
    /\(HTTP 201\), but its answer is said to be JSON, and is not JSON/,
  ],
  ["a name twice", { headers: json, body: '{"a":1,"a":2}' }, /has the key "a" twice in one object/],
  ["text after it", { headers: json, body: '{"a":1} ok' }, /and is not JSON/],
  ["an infinite number", { headers: json, body: "[1e400]" }, /said to be JSON/],
  [
    "an unknown charset",
    text("a", "text/plain; charset=x-none"),
    /is in the charset "x-none", which ptc does not know/,
  ],
])(
  "an answer with %s fails as one of a request that was made, and keeps its text",
  async (_, answer, message) => {
    const api = await serveApi(() => answer);
    const result = (await openDescribed(described("/x", "post", {}), api.url).call("op")) as {
      content: { text: string }[];
    };
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { status: answer.status ?? 200, body: answer.body },
    });
    expect(result.content[0]?.text).toMatch(/^the request was made/);
    expect(result.content[0]?.text).toMatch(message);
    expect(api.asked).toHaveLength(1);
  },
);

test("a text that is no JSON is kept in bounds", async () => {
  const body = "x".repeat(100_000);
  const { structuredContent } = (await answered({ headers: json, body })) as {
    structuredContent: { body: string };
  };
  expect(structuredContent.body).toHaveLength(16_384 + "… (100000 characters)".length);
});

test("a failure in words says them, and one that is no JSON keeps its text", async () => {
  expect(await answered({ status: 400, ...text("no such order\n", "text/plain") })).toMatchObject({
    content: [{ text: "HTTP 400: no such order" }],
    structuredContent: { status: 400, body: "no such order\n" },
  });
  expect(await answered({ status: 500, headers: json, body: "{" })).toMatchObject({
    content: [{ text: "HTTP 500: Internal Server Error" }],
    structuredContent: { status: 500, body: "{" },
  });
  expect(await answered({ status: 304, headers: {} })).toMatchObject({
    isError: true,
    structuredContent: { status: 304, body: null },
  });
});

test("an answer that breaks off says that the request was made", async () => {
  const { createServer } = await import("node:http");
  const server = createServer((_, response) => {
    response.writeHead(201, { ...json, "content-length": "100" });
    response.write('{"id":');
    setImmediate(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const { call } = openDescribed(described("/x", "post", {}), `http://127.0.0.1:${port}`);
  await expect(call("op")).rejects.toMatchObject({
    code: "disconnected",
    message: expect.stringMatching(/broke off: .*; the request was made, and its answer \(HTTP 201\) began$/),
  });
  server.close();
});

test("an endless redirect, an endless answer and a silent API end", async () => {
  const round = await serveApi(() => ({ status: 302, headers: { location: "/x" } }));
  await expect(openDescribed(get, round.url).call("op")).rejects.toThrow(
    "the API redirects more than 5 times",
  );
  const large = await serveApi(() => ({ headers: json, body: Buffer.alloc(33 * 1024 * 1024, 32) }));
  await expect(openDescribed(get, large.url).call("op")).rejects.toThrow("the answer is larger than 32 MiB");
  await expect(openDescribed(get, "http://127.0.0.1:1").call("op")).rejects.toThrow(
    /^127\.0\.0\.1:1 cannot be reached: /,
  );
});

test("a call that takes too long is given up, and one that is cancelled is not waited for", async () => {
  const { createServer } = await import("node:http");
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const { port } = silent.address() as { port: number };
  const { connection, call } = openDescribed(get, `http://127.0.0.1:${port}`);
  await expect(call("op", {}, 50)).rejects.toMatchObject({ code: "call_timeout", retryable: true });
  const abort = new AbortController();
  const cancelled = connection.callTool({
    tool: "op",
    arguments: {},
    signal: abort.signal,
    timeoutMs: 60_000,
  });
  abort.abort();
  await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
  silent.closeAllConnections();
  silent.close();
});
