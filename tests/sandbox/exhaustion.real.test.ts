import { describe, expect, test } from "vitest";
import { describeSandboxed } from "./in-sandbox.ts";
import { useRealSandboxes } from "./real-sandboxes.ts";

const FOR_EVER = { limits: { timeoutMs: 1_500 } };

describeSandboxed("a program that takes all it can get", () => {
  const run = useRealSandboxes({ echo: (args) => args });

  test("a busy loop is ended from outside", async () => {
    const { result } = await run("console.log('started'); for (;;) {}", FOR_EVER);
    expect(result).toMatchObject({
      ok: false,
      error: { type: "Timeout", message: "Execution exceeded 1.5s limit" },
    });
  });

  test.each([
    ["timers that never stop", "setInterval(() => {}, 10);"],
    ["microtasks that never stop", "const again = () => Promise.resolve().then(again); await again();"],
    ["a blocked thread", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);"],
    [
      "signals that are ignored",
      "for (const s of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(s, () => {}); setInterval(() => {}, 10);",
    ],
    ["calls that never stop", "for (;;) await callTool('mcp__desk__echo', {}).catch(() => {});"],
  ])("%s run out of time", async (_, code) => {
    const { result } = await run(code, FOR_EVER);
    expect(result).toMatchObject({ ok: false, error: { type: "Timeout", retryable: false } });
  });

  test("buffers beyond its memory end it as OutOfMemory", async () => {
    const { result } = await run("const held = []; for (;;) held.push(Buffer.alloc(32 * 1024 * 1024, 1));");
    expect(result).toMatchObject({ ok: false, error: { type: "OutOfMemory" } });
  });

  test("objects beyond its heap end it as OutOfMemory, and not as an abort", async () => {
    const { result } = await run(
      "const held = []; for (;;) held.push({ text: 'x' + held.length, more: [held.length] });",
    );
    expect(result).toMatchObject({ ok: false, error: { type: "OutOfMemory" } });
  });

  test.each([
    ["its own process", "process.kill(process.pid, 'SIGKILL'); for (;;) {}"],
    [
      "it through a child",
      "import { spawn } from 'node:child_process'; spawn(process.execPath, ['-e', `process.kill(${process.pid}, 'SIGKILL')`]); setInterval(() => {}, 10);",
    ],
  ])("a SIGKILL of %s is not taken for a lack of memory", async (_, code) => {
    const { result } = await run(code, { limits: { timeoutMs: 20_000 } });
    expect(result).toMatchObject({
      ok: false,
      error: { type: "ContractViolation", message: expect.stringContaining("SIGKILL") },
    });
  });

  test("threads without end are refused and end with the sandbox", async () => {
    const { result } = await run(
      `import { Worker } from "node:worker_threads";
       for (let i = 0; i < 200; i++) new Worker("for (;;) {}", { eval: true }).on("error", () => {});
       for (;;) {}`,
      FOR_EVER,
    );
    expect(result.ok).toBe(false);
    expect((await run("globalThis.result = 1")).result).toMatchObject({ ok: true, data: 1 });
  });

  test("recursion without end is the script's own error", async () => {
    const { result } = await run("function dig() { return dig() + 1; }\ndig();");
    expect(result).toMatchObject({ ok: false, error: { type: "ScriptError" } });
    expect((result as { error: { message: string } }).error.message).toMatch(
      /^RangeError: Maximum call stack size exceeded\n {4}at dig \(program\.js:1:/,
    );
  });

  test("files without end are refused", async () => {
    const { result } = await run(
      `import { openSync } from "node:fs";
       let open = 0;
       try { for (; open < 5000; open++) openSync("/dev/null"); } catch (error) { globalThis.result = { code: error.code, open }; }`,
    );
    expect(result).toMatchObject({ ok: true, data: { code: "EMFILE" } });
  });

  test("console text without end is cut, and the program runs on", async () => {
    const { result, console, consoleText } = await run(
      "const line = 'x'.repeat(1_000_000); for (let i = 0; i < 100; i++) console.log(line);",
    );
    expect(result).toMatchObject({ ok: true });
    const { data } = result as { data: string };
    expect(data.endsWith("... (truncated)")).toBe(true);
    expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(65_536);
    expect(console.out).toBe(consoleText);
    expect(Buffer.byteLength(console.out)).toBeLessThanOrEqual(65_536 + "\n... (truncated)\n".length);
  });

  test("a flood on stderr past the console is bounded", async () => {
    const { result, console } = await run(
      `import { writeSync } from "node:fs";
       const chunk = Buffer.alloc(1024 * 1024, 120);
       for (;;) { try { writeSync(2, chunk); } catch {} }`,
      // Where the guard relays what is written, it is megabytes a second.
      { limits: { timeoutMs: 150_000 } },
    );
    expect(result).toMatchObject({ ok: false, error: { type: "OutputLimit" } });
    expect(Buffer.byteLength(console.err)).toBeLessThanOrEqual(262_144 + "\n... (truncated)\n".length);
  });

  test("a flood of single bytes does the host no harm", async () => {
    const { result } = await run(
      `import { writeSync } from "node:fs";
       for (;;) { try { writeSync(2, "x"); } catch {} }`,
      FOR_EVER,
    );
    expect(result).toMatchObject({ ok: false, error: { type: "Timeout" } });
    expect((await run("globalThis.result = 1")).result).toMatchObject({ ok: true, data: 1 });
  });

  test("console.error without end is bounded", async () => {
    const { result, console } = await run(
      "const line = 'e'.repeat(10_000); for (;;) console.error(line);",
      FOR_EVER,
    );
    expect(result).toMatchObject({ ok: false, error: { type: "Timeout" } });
    expect(console.err).toMatch(/\.\.\. \(truncated\)\n$/);
    expect(Buffer.byteLength(console.err)).toBeLessThanOrEqual(262_144 + "\n... (truncated)\n".length);
  });

  test("a flood on stdout ends it", async () => {
    const { result, envelope } = await run(
      // A thread writes past what the runner takes as output of the program.
      `import { Worker } from "node:worker_threads";
       new Worker("const chunk = Buffer.alloc(1024 * 1024, 120); for (;;) { try { require('fs').writeSync(1, chunk); } catch {} }", { eval: true });
       await new Promise(() => setInterval(() => {}, 1000));`,
    );
    expect(result).toMatchObject({ ok: false, error: { type: "ContractViolation" } });
    expect(JSON.stringify(envelope)).not.toContain("xxxx");
  });

  test("a run that is cancelled is over", async () => {
    const cancel = new AbortController();
    const running = run("console.log('started'); for (;;) {}", { signal: cancel.signal });
    cancel.abort();
    expect((await running).result).toMatchObject({ ok: false, error: { type: "Cancelled" } });
  });
});

describe.each([64, 128, 256])("a fork bomb where execution.pids is %i", (pids) => {
  describeSandboxed("meets its limit", () => {
    const run = useRealSandboxes({}, { pids });

    test("in its own words, and leaves the host able to run the next program", async () => {
      const { result } = await run(
        `import { spawn } from "node:child_process";
         const outcomes = new Set();
         for (let i = 0; i < 60; i++) {
           const child = spawn(process.execPath, ["-e", "for (;;) {}"]);
           child.on("spawn", () => outcomes.add("spawned"));
           child.on("error", (error) => outcomes.add(error.code));
         }
         await new Promise((resolve) => setTimeout(resolve, 200));
         globalThis.result = [...outcomes].sort();
         process.exit(0);`,
        { limits: { timeoutMs: 60_000 } },
      );
      expect(result).toMatchObject({ ok: true, data: ["EAGAIN", "spawned"] });
      expect((await run("globalThis.result = 1")).result).toMatchObject({ ok: true, data: 1 });
    });
  });
});
