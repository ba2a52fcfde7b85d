import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const FIXTURE = join(import.meta.dirname, "fixtures/bundle-at-once.ts");
/** On a machine that is busy, time may be up first. */
const GAVE_UP =
  /^the bundler gave up on this program: it nests too deeply, or becomes too large$|^bundling took longer than/;
const PATIENCE = { timeout: 180_000 };

/** In a process of its own, whose stderr can be looked at and whose end is not ours. */
function bundleAtOnce(programs: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [FIXTURE], {
    input: JSON.stringify(programs),
    encoding: "utf8",
  });
  return { status, stderr, outcomes: stdout === "" ? [] : (JSON.parse(stdout) as string[]) };
}

/** Constants that the bundler would work out, each twice as long as the one before it. */
const doubling = `enum A { a0 = 'xxxxxxxx', ${Array.from({ length: 40 }, (_, i) => `a${i + 1} = a${i} + a${i}`).join(", ")} }\nglobalThis.result = A.a40;`;

describe("a program that is more than the bundler can cope with", PATIENCE, () => {
  it.each([
    ["ternaries", `globalThis.result = ${"a?b:".repeat(500_000)}c;`],
    ["statements whose indentation is larger than a text can be", `${"if(a)".repeat(20_000)};`],
    ["statements in deep blocks", `${"{".repeat(1_900)}${"a();".repeat(100_000)}${"}".repeat(1_900)}`],
    ["constants that double", doubling],
  ])("fails alone, and nothing of the bundler's reaches stderr: %s", (_, code) => {
    const harmless = "globalThis.result = 1;";
    expect(bundleAtOnce([harmless, code, harmless])).toEqual({
      status: 0,
      stderr: "",
      outcomes: ["ok", expect.stringMatching(GAVE_UP), "ok"],
    });
  });

  it.each([
    ["not", `globalThis.result = ${"!".repeat(10_000)}1;`],
    ["assignments", `let a; ${"a=".repeat(10_000)}1;`],
    ["else if", `${"if(globalThis.a){}else ".repeat(10_000)}{}`],
    ["conditional types", `type A = ${"B extends C?D:".repeat(10_000)}E;`],
    ["imports", `await import(${"!".repeat(10_000)}globalThis.a);`],
  ])("is bundled or refused when it nests as deep as no program does: %s", (_, code) => {
    const { status, stderr, outcomes } = bundleAtOnce([code]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(outcomes).toHaveLength(1);
    expect(outcomes[0]).toMatch(/^ok$|nests too deeply/);
  });

  it("is not told of as one when its errors quote what the bundler says of its own end", () => {
    const [outcome] = bundleAtOnce(['import "The service was stopped";']).outcomes;
    expect(outcome).toContain("'The service was stopped' cannot be imported");
  });
});
