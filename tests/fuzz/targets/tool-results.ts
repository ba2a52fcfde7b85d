import assert from "node:assert/strict";
import { ForeignJsonError, parseForeignJson } from "../../../base/json/parse-json.ts";
import { resultBytes } from "../../../broker/dispatcher.ts";
import { normalizeResult } from "../../../broker/normalize-result.ts";
import { canonicalJson } from "../../../protocol/canonical-json.ts";
import { MessageGate } from "../../../upstream/mcp/message-gate.ts";
import type { JsonRpcMessage, MessageTransport } from "../../../upstream/mcp/message-transport.ts";
import { answerFaultOf, RawResultTransport, rawResultOf } from "../../../upstream/mcp/raw-results.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { serverMessage, toolResult } from "../hostile/hostile-server-lines.ts";

const LIMITS = { maxBytes: 64 * 1024 * 1024, maxDepth: 1_010 };

/** Messages of a server, past their transport: what the client is given of them, and what a program is. */
export const target = fuzzTarget({
  name: "tool-results",
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

/** Every request gets at most one answer, in a form that the client takes, and what it holds is the server's. */
async function passOn(text: string, message: JsonRpcMessage): Promise<void> {
  const inner: MessageTransport = { start: async () => {}, send: async () => {}, close: async () => {} };
  const gate = new MessageGate();
  const transport = new RawResultTransport(inner, gate);
  const given: JsonRpcMessage[] = [];
  transport.onmessage = (each) => void given.push(each);
  await transport.send({ jsonrpc: "2.0", id: 1, method: "tools/call" });
  await transport.send({ jsonrpc: "2.0", id: 2, method: "tools/list" });
  for (const _ of [1, 2]) {
    for (const admitted of gate.admit(text).messages) inner.onmessage?.(admitted);
  }
  assert.ok(given.length <= 1, "one message was passed on twice");
  for (const answer of given) {
    const raw = rawResultOf(answer.result);
    const fault = answerFaultOf((answer.error as { data?: unknown } | undefined)?.data);
    if (fault !== undefined || answer.error !== undefined) continue;
    if (answer.id === 1) assert.deepEqual(raw, message.result, "the result is another");
    canonicalJson(raw ?? null);
  }
  transport.fail(1, { kind: "oversize" });
  transport.fail(2, { kind: "oversize" });
  await transport.close();
}
