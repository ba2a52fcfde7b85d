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
    { isError: true, content: [{ text: "the answer (HTTP 200) is said to be JSON, and is not" }] },
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
