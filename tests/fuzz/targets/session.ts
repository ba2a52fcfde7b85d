import assert from "node:assert/strict";
import { duplexPair } from "node:stream";
import { finished } from "node:stream/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { CallAnswer } from "../../../broker/dispatcher.ts";
import { SandboxConnection } from "../../../broker/sandbox-connection.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";
import { FrameDecoder } from "../../../protocol/frames.ts";
import { MAX_REPLY_FRAME_BYTES } from "../../../protocol/limits.ts";
import { Trace } from "../../../protocol/messages.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileFrames } from "../hostile/hostile-frames.ts";
import type { Random } from "../random.ts";

const LIMITS = { maxParallelCalls: 3, maxToolCalls: 20 };

/** The host's half of the conversation with a sandbox that sends what it likes, in pieces, and then hangs up. */
export const target = fuzzTarget({
  name: "session",
  iterations: 100,
  generate: (random) => hostileFrames(random, random.size(30)),
  async check(input, random) {
    const [host, sandbox] = duplexPair();
    const replies: number[] = [];
    const decoder = new FrameDecoder(MAX_REPLY_FRAME_BYTES);
    sandbox.on("data", (chunk: Buffer) => {
      for (const payload of decoder.push(chunk))
        replies.push((JSON.parse(payload.toString()) as { id: number }).id);
    });
    const called: number[] = [];
    const connection = new SandboxConnection(host, LIMITS, async (call): Promise<CallAnswer> => {
      called.push(call.id);
      if (random.chance(0.3)) await nextTurn();
      // What is noted of every call.
      digestOf(call.arguments);
      return answer(random, call.arguments);
    });
    for (const chunk of random.chunks(input)) {
      if (!sandbox.writable) break;
      sandbox.write(chunk);
      if (random.chance(0.1)) await nextTurn();
    }
    if (random.chance(0.5)) sandbox.end();
    else {
      await nextTurn();
      sandbox.destroy();
      host.destroy();
    }
    const end = await connection.ended;
    if (end.kind === "violation")
      assert.match(end.message, /^the sandbox broke the wire protocol: .{1,300}$/u);
    await connection.ready.then(
      ({ type }) => assert.equal(type, "hello"),
      (error: unknown) => assert.match((error as Error).message, /^.{1,500}$/u),
    );
    if (connection.trace !== undefined) Trace.parse(connection.trace);
    assert.ok(connection.metrics.toolCalls <= LIMITS.maxToolCalls);
    assert.ok(called.length <= connection.metrics.toolCalls);
    host.destroy();
    sandbox.destroy();
    await Promise.allSettled([finished(host), finished(sandbox)]);
  },
});

function answer(random: Random, data: unknown): CallAnswer {
  if (random.chance(0.2)) throw new Error("a tool that fails");
  if (random.chance(0.2)) {
    const error = {
      type: "ToolError",
      server: "desk",
      tool: "echo",
      message: "no",
      retryable: false,
    } as const;
    return { ok: false, error, bytes: 2 };
  }
  return { ok: true, data, raw: data, bytes: 5 };
}
