import { expect, it } from "vitest";
import { adviseOnTimeout } from "../../execution/pending-calls.ts";

it("names the calls that were pending, since when, and every way to more time", () => {
  const [pending, more] = adviseOnTimeout([{ tool: "mcp__slow__go", pendingMs: 3_140 }]);
  expect(pending).toBe("a call was pending: mcp__slow__go (for 3.1 s)");
  expect(more).toBe("more time: `timeout_seconds` (`ptc run --timeout`)");
});

it("counts what is too much to name, and names tools on one line", () => {
  const calls = Array.from({ length: 9 }, () => ({ tool: `a\nb${"x".repeat(500)}`, pendingMs: 1 }));
  const [pending = ""] = adviseOnTimeout(calls);
  expect(pending).toMatch(/^calls were pending: a bx.*, 4 more$/);
  expect(pending.length).toBeLessThan(1_000);
});

it("says so when there was none", () => {
  expect(adviseOnTimeout([])[0]).toContain("no call was pending");
});
