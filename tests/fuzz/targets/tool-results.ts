import assert from "node:assert/strict";
import { ForeignJsonError, parseForeignJson } from "../../../base/json.ts";
import { resultBytes } from "../../../broker/dispatcher.ts";
import { normalizeResult } from "../../../broker/normalize-result.ts";
import { canonicalJson } from "../../../protocol/canonical-json.ts";
import { type JsonRpcMessage, MessageGate } from "../../../upstream/mcp/message-gate.ts";
import { type MessageTransport, RequestError, ServerSession } from "../../../upstream/mcp/server-session.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { serverMessage, toolResult } from "../hostile/hostile-server-lines.ts";

const LIMITS = { maxBytes: 64 * 1024 * 1024, maxDepth: 1_010 };

/** Messages of a server, past their transport: what the client is given of them, and what a program is. */
export const target = fuzzTarget({
  name: "tool-results",
  iterations: 500,
  generate: (random) => serverMessage(random, toolResult(random)),
  async check(input) {
    let message: unknown;
    try {
      message = parseForeignJson(input, LIMITS);
    } catch (error) {
      if (error instanceof ForeignJsonError) return;
      throw error;
    }
    const result =
      typeof message === "object" && message !== null && "result" in message ? message.result : message;
    checkResult(result);
    if (typeof message !== "object" || message === null || Array.isArray(message)) return;
    await passOn(input.toString(), message as JsonRpcMessage);
  },
});

function checkResult(result: unknown): void {
  const normalized = normalizeResult(result);
  if (normalized.ok) canonicalJson(normalized.data ?? null);
  else assert.equal(typeof normalized.message, "string");
  assert.ok(resultBytes(result) >= 0);
}

/** Each request gets at most one answer, what it holds is the server's, and the MCP client sees nothing of it. */
async function passOn(text: string, message: JsonRpcMessage): Promise<void> {
  const sent: JsonRpcMessage[] = [];
  const inner: MessageTransport = {
    start: async () => {},
    send: async (each) => void sent.push(each),
    close: async () => inner.onclose?.(),
  };
  const gate = new MessageGate();
  const session = new ServerSession(inner, gate);
  let seen = 0;
  session.onmessage = () => void seen++;
  const answers = Promise.allSettled(
    ["tools/call", "tools/list"].map((method) => session.request(method, {})),
  );
  const renumbered = text.replace(/("id":"?)([12])\b/g, (_, key, nth) => `${key}${sent[nth - 1]?.id}`);
  for (const _ of [1, 2]) {
    for (const admitted of gate.admit(renumbered).messages) inner.onmessage?.(admitted);
  }
  await session.close();
  for (const answer of await answers) {
    if (answer.status === "fulfilled") canonicalJson(answer.value ?? null);
    else assert.ok(answer.reason instanceof RequestError);
  }
  const [called] = await answers;
  if (called?.status === "fulfilled") assert.deepEqual(called.value, message.result, "the result is another");
  assert.equal(seen, 0);
}
