import { setTimeout as delay } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { buildBoundedFetch } from "../../../upstream/mcp/bounded-fetch.ts";
import { listen } from "./upstream-http-servers.ts";

/** What is left of an event stream that comes in these pieces, where a message with `drop` is not admitted. */
async function filtered(pieces: readonly string[], maxMessageBytes = 10_000) {
  const url = await listen(async (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const piece of pieces) {
      response.write(piece);
      await delay(5);
    }
    response.end();
  });
  const onOversize = vi.fn();
  const admit = (text: string) => {
    const messages = text.includes("drop") ? [] : [JSON.parse(text) as Record<string, unknown>];
    return { messages, unasked: 0, isGarbage: false };
  };
  const response = await buildBoundedFetch({ maxMessageBytes, admit, onOversize })(url);
  return { text: await response.text(), onOversize };
}

it.each<[what: string, pieces: string[], left: string]>([
  ["a message", ['data: {"a":1}\n\n'], 'data: {"a":1}\n\n'],
  [
    "one on several lines, with each end of a line",
    ['data:{"a":\r', "data: 1\r\ndata:}\n\n"],
    'data: {"a":1}\n\n',
  ],
  [
    "one in pieces, also of an end of a line",
    ['data: {"a"', ":\r", "\ndata: 1}\r", "\n\r", "\n"],
    'data: {"a":1}\n\n',
  ],
  ["one after a byte order mark", ['\ufeffdata: {"a":1}\n\n'], 'data: {"a":1}\n\n'],
  ["such a mark within one", ['data: {"a":"\ufeffb"}\n\n'], 'data: {"a":"\ufeffb"}\n\n'],
  ["its id", ['id: 7\ndata: {"a":1}\n\ndata: {"b":2}\n\n'], 'id: 7\ndata: {"a":1}\n\ndata: {"b":2}\n\n'],
  ["the id of one that is dropped", ['id: 7\ndata: "drop"\n\ndata: "drop"\n\n'], "id: 7\ndata: \n\n"],
  ["no id that is too long or no text", [`id: ${"7".repeat(4_097)}\nid: \0\ndata: "drop"\n\n`], ""],
  [
    "an event of another type, as it is",
    ["event: endpoint\ndata: /drop\n\n"],
    "event: endpoint\ndata: /drop\n\n",
  ],
  [
    "the time to reconnect, within bounds",
    ["retry: 0\nretry: 2000\nretry: 99999\nretry: x\n"],
    "retry: 1000\nretry: 2000\nretry: 60000\n",
  ],
  [
    "no comment, no field that nobody knows, and no event without data",
    [": hi\nother: x\ndata\n\nid: 1\n\n"],
    "data: \n\n",
  ],
])("of an event stream is left %s", async (_, pieces, left) => {
  expect((await filtered(pieces)).text).toBe(left);
});

it.each([
  ["on one line", [`data: {"id":5,"result":"${"x".repeat(200)}"}\n\n`]],
  [
    "on many lines",
    ['data: {"id":5,"result":\n', ...Array<string>(30).fill("data:          \n"), 'data: "drop"}\n\n'],
  ],
])(
  "an event that is too large %s is dropped, with the id of the request that it answers, and no other is",
  async (_, pieces) => {
    const { text, onOversize } = await filtered([...pieces, 'data: {"a":1}\n\n'], 100);
    expect(text).toBe('data: {"a":1}\n\n');
    expect(onOversize.mock.calls).toEqual([[5]]);
  },
);
