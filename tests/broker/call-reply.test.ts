import { expect, it } from "vitest";
import { encodeReply } from "../../broker/call-reply.ts";
import { normalizeResult, takeText } from "../../broker/normalize-result.ts";
import { encodeFrame } from "../../protocol/frames.ts";
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
      expect(
        encodeReply(CALL, reply).equals(encodeFrame({ ...reply, data: ROWS }, MAX_REPLY_FRAME_BYTES)),
      ).toBe(true);
    }
  },
);

it("a large text that JSON.stringify would write just so is kept for one reply, and no other text is", () => {
  const large = dataOf(JSON.stringify(ROWS));
  expect(takeText(large)).toBe(JSON.stringify(ROWS));
  expect(takeText(large)).toBeUndefined();
  expect(takeText(dataOf(JSON.stringify(ROWS, null, 1)))).toBeUndefined();
  expect(takeText(dataOf("[1]"))).toBeUndefined();
  expect(takeText(dataOf("text"))).toBeUndefined();
});
