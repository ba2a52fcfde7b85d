/** Whole numbers beyond 2^53 in requests and answers of APIs. */
import { expect, test } from "vitest";
import { writeJson } from "../../../base/json.ts";
import { parseDescription } from "../../../upstream/openapi/description.ts";
import { described, openDescribed, serveApi } from "./serve-api.ts";

const BIG = 1234567890123456789n;
const integer = { schema: { type: "integer" } };

test("keep their digits in the path, the query, a header and the body, and in the answer", async () => {
  const api = await serveApi(() => ({ body: `{"id":${BIG},"next":-9007199254740993}` }));
  const operation = described("/x/{id}", "post", {
    parameters: [
      { name: "id", in: "path", required: true, ...integer },
      { name: "since", in: "query", ...integer },
      { name: "ids", in: "query", schema: { type: "array", items: { type: "integer" } } },
      { name: "X-Id", in: "header", ...integer },
    ],
    requestBody: { content: { "application/json": { schema: { type: "object" } } } },
  });
  const args = { id: BIG, since: BIG, ids: [BIG, 1], "X-Id": BIG, body: { id: BIG } };
  const answer = await openDescribed(operation, api.url).call("op", args);
  expect(answer).toMatchObject({ structuredContent: { id: BIG, next: -9007199254740993n } });
  const [asked] = api.asked;
  expect(asked?.url).toBe(`/x/${BIG}?since=${BIG}&ids=${BIG}&ids=1`);
  expect(asked?.headers["x-id"]).toBe(String(BIG));
  expect(asked?.body.toString()).toBe(`{"id":${BIG}}`);
});

test.each([
  ["JSON", '{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{},"x-most":18446744073709551615}'],
  ["YAML", 'openapi: "3.1.0"\ninfo: {title: t, version: "1"}\npaths: {}\nx-most: 18446744073709551615\n'],
])("keep their digits in a description in %s", (_, text) => {
  expect(writeJson(parseDescription(text, "of a test").document)).toContain('"x-most":18446744073709551615');
});

test("keep their digits in a cursor that leads to the next page", async () => {
  const pages = [`{"items":[1],"next_cursor":${BIG}}`, '{"items":[2],"next_cursor":null}'];
  const api = await serveApi(({ url }) => ({ body: pages[url.includes("cursor=") ? 1 : 0] ?? "" }));
  const operation = described("/items", "get", {
    parameters: [{ name: "cursor", in: "query", ...integer }],
    responses: {
      200: {
        description: "a page",
        content: {
          "application/json": {
            schema: {
              type: "object",
              properties: {
                items: { type: "array", items: { type: "integer" } },
                next_cursor: { type: ["integer", "null"] },
              },
            },
          },
        },
      },
    },
  });
  const first = (await openDescribed(operation, api.url).call("op", {})) as { structuredContent?: object };
  expect(writeJson(first)).toContain(String(BIG));
});
