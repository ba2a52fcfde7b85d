import { duplexPair } from "node:stream";
import { describe, expect, it } from "vitest";
import { SandboxConnection } from "../../broker/sandbox-connection.ts";
import { encodeFrame } from "../../protocol/frames.ts";
import {
  MAX_CALL_FRAME_BYTES,
  MAX_TRACE_SERIES_CHARS,
  MAX_TRACES,
  PROTOCOL_VERSION,
} from "../../protocol/limits.ts";

const HELLO = { type: "hello", protocol: PROTOCOL_VERSION, language: "javascript", runtime: "v24" };
const TRACE = { started_ms: 1, clock: "AAE=", events: "", complete: true };
const trace = (rest: object = {}) => ({ type: "trace", trace: { ...TRACE, ...rest } });

function open(...messages: unknown[]) {
  const [host, sandbox] = duplexPair();
  const connection = new SandboxConnection(
    host,
    { maxParallelCalls: 1, maxToolCalls: 1 },
    () => new Promise(() => {}),
  );
  for (const message of messages) sandbox.write(encodeFrame(message, MAX_CALL_FRAME_BYTES));
  return connection;
}

describe("the trace of a run", () => {
  it("is the last one that came before the run was done", async () => {
    const connection = open(HELLO, trace(), trace({ clock: "AAI=" }), {
      type: "done",
      bytes: 5,
      console_bytes: 0,
    });
    expect(connection.trace).toBe(undefined);
    expect(await connection.ended).toEqual({ kind: "done", lineBytes: 5, consoleBytes: 0 });
    expect(connection.trace).toEqual({ ...TRACE, clock: "AAI=" });
  });

  it("is read when the program has reported and calls still wait", async () => {
    const connection = open(HELLO, trace());
    connection.finish();
    await connection.ready;
    await new Promise((resolve) => setImmediate(resolve));
    expect(connection.trace).toEqual(TRACE);
  });

  it.each<[string, unknown[], string]>([
    ["before hello", [trace()], "a trace came before hello"],
    ["without end", [HELLO, ...Array.from({ length: MAX_TRACES + 1 }, () => trace())], "more than"],
    [
      "of any length",
      [HELLO, trace({ clock: "A".repeat(MAX_TRACE_SERIES_CHARS + 1) })],
      "does not have the form",
    ],
    ["of other text", [HELLO, trace({ events: "<script>" })], "does not have the form"],
    ["of no time", [HELLO, trace({ started_ms: -1 })], "does not have the form"],
    ["with more in it", [HELLO, trace({ run_id: "forged" })], "does not have the form"],
  ])("cannot be one %s", async (_, messages, message) => {
    expect(await open(...messages).ended).toEqual({
      kind: "violation",
      message: expect.stringContaining(message),
    });
  });
});
