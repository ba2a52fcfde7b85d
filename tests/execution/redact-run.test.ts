import { describe, expect, it, vi } from "vitest";
import type { ObservedCall } from "../../execution/call-log.ts";
import { redactObserver } from "../../execution/redact-run.ts";
import { Redactor } from "../../secrets/redaction.ts";

const SECRET = "tok-4f6Hq81zLw";
const CALL: ObservedCall = {
  seq: 1,
  tool: `mcp__files__${SECRET}`,
  arguments: { path: SECRET },
  raw: false,
  startedMs: 1,
  durationMs: 2,
  outcome: { ok: true, data: SECRET, raw: undefined, decision: "allowed", bytes: 4 },
};

describe("an observer behind the redactor", () => {
  it("sees names and arguments without secrets, and what came of a call as it is", async () => {
    const onCall = vi.fn();
    const onCallStarted = vi.fn();
    const observer = redactObserver({ onCall, onCallStarted }, new Redactor([SECRET]));
    observer.onCallStarted?.({ seq: 1, tool: CALL.tool });
    await observer.onCall?.(CALL);
    expect(onCallStarted).toHaveBeenCalledExactlyOnceWith({ seq: 1, tool: "mcp__files__[REDACTED]" });
    expect(onCall).toHaveBeenCalledExactlyOnceWith({
      ...CALL,
      tool: "mcp__files__[REDACTED]",
      arguments: { path: "[REDACTED]" },
    });
  });

  it("receives nothing that it does not ask for", () => {
    expect(redactObserver({}, new Redactor([]))).toEqual({});
  });
});
