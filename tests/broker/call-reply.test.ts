import { expect, it } from "vitest";
import { normalizeResult, takeText } from "../../broker/normalize-result.ts";
import { encodeReply } from "../../broker/sandbox-connection.ts";
import { encodeFrame, FrameDecoder } from "../../protocol/frames.ts";
import { MAX_REPLY_FRAME_BYTES } from "../../protocol/limits.ts";

const CALL = { type: "call", id: 7, tool: "mcp__demo__rows", arguments: {} } as const;
const ROWS = Array.from({ length: 5_000 }, (_, id) => ({
  id,
  name: `row \u00e9 ${id}`,
  tags: ["a", null, true],
}));

const dataOf = (text: string) => {
  const normalized = normalizeResult({ content: [{ type: "text", text }] });
  return normalized.ok ? normalized.data : undefined;
};

it.each([
  ["as JSON.stringify writes it", JSON.stringify(ROWS)],
  ["with white space", JSON.stringify(ROWS, null, 2)],
  ["with numbers that are written otherwise", JSON.stringify(ROWS).replaceAll('"id":1,', '"id":1.0,')],
])(
  "the reply with a large JSON text %s is the frame of its value, with or without the MCP result",
  (_, text) => {
    for (const raw of [{}, { raw: { content: [] } }]) {
      const reply = { type: "reply", id: 7, ok: true, data: dataOf(text), ...raw } as const;
      expect(encodeReply(CALL, reply, text.length)).toEqual([
        encodeFrame({ ...reply, data: ROWS }, MAX_REPLY_FRAME_BYTES),
      ]);
    }
  },
);

it("a reply with large texts is the frame of the rest, and one of each text", () => {
  const [page, image] = ["page \u00e9 ".repeat(20_000), "A".repeat(100_000)];
  const data = [{ type: "text", text: page }, { type: "image", data: image }, "short"];
  const reply = { type: "reply", id: 7, ok: true, data } as const;
  const frames = encodeReply(CALL, reply, 300_000);
  const [rest, ...texts] = new FrameDecoder(MAX_REPLY_FRAME_BYTES).push(Buffer.concat(frames)).map(String);
  expect(JSON.parse(rest ?? "")).toEqual({
    ...reply,
    data: [{ type: "text", text: null }, { type: "image", data: null }, "short"],
    texts: [
      [0, "text"],
      [1, "data"],
    ],
  });
  expect(texts).toEqual([page, image]);
  expect(data[0]).toHaveProperty("text", page);
});

it("a reply is too large where it is with its texts", () => {
  const texts = [0, 1, 2].map((each) => String(each).repeat(MAX_REPLY_FRAME_BYTES / 3));
  const reply = { type: "reply", id: 7, ok: true, data: texts } as const;
  const [refused, ...more] = encodeReply(CALL, reply, MAX_REPLY_FRAME_BYTES);
  expect(String(refused)).toMatch(/answered with too much: a message of \d+ bytes exceeds the limit of \d+;/);
  expect(more).toEqual([]);
  expect(encodeReply(CALL, { ...reply, data: texts.slice(1) }, MAX_REPLY_FRAME_BYTES)).toHaveLength(3);
});

it("a large text that JSON.stringify would write just so is kept for one reply, and no other text is", () => {
  const large = dataOf(JSON.stringify(ROWS));
  expect(takeText(large)).toBe(JSON.stringify(ROWS));
  expect(takeText(large)).toBeUndefined();
  expect(takeText(dataOf(JSON.stringify(ROWS, null, 1)))).toBeUndefined();
  expect(takeText(dataOf("[1]"))).toBeUndefined();
  expect(takeText(dataOf("text"))).toBeUndefined();
});
