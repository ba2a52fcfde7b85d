import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { ConsoleDecoder } from "../../../protocol/console-stream.ts";

const MODULE = new URL("../../../runner-image/node/console-capture.ts", import.meta.url).href;

/** What a program prints, in a process of its own because its console is replaced. */
function printed(program: string, maxOutputBytes = 1_000_000) {
  const source = `import { captureConsole } from ${JSON.stringify(MODULE)};
    captureConsole().begin(${maxOutputBytes}, 1000);
    ${program}`;
  const { stderr } = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", source], {
    maxBuffer: 1e8,
  });
  const decoder = new ConsoleDecoder(1e8);
  return [...decoder.push(stderr), ...decoder.end()];
}

describe("the console of a program", () => {
  it("prints nested and long values whole, each on one line", () => {
    const [entry] = printed(`
      const deep = { a: { b: { c: { d: { e: ["f"] } } } } };
      console.log(deep, Array.from({ length: 300 }, (_, i) => i), { text: "x".repeat(20_000) });`);
    const list = Array.from({ length: 300 }, (_, i) => i).join(", ");
    expect(entry).toEqual({
      stream: "out",
      text: `{ a: { b: { c: { d: { e: [ 'f' ] } } } } } [ ${list} ] { text: '${"x".repeat(20_000)}' }\n`,
    });
  });

  it("drops what is printed before a program begins, after it has ended, and late by an earlier one", () => {
    const print = (what: string) =>
      `console.log("${what}"); console.error("${what}"); process.emitWarning("${what}");`;
    const turn = "await new Promise((resolve) => setImmediate(resolve));";
    const source = `import { captureConsole } from ${JSON.stringify(MODULE)};
      let isLate = false;
      const capture = captureConsole(() => isLate);
      ${print("before")} ${turn}
      capture.begin(1000, 1000);
      console.log("own"); console.error("own");
      isLate = true; console.log("late"); console.error("late"); isLate = false;
      capture.end();
      ${print("after")} ${turn}`;
    const { stderr } = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", source]);
    const decoder = new ConsoleDecoder(1e8);
    expect([...decoder.push(stderr), ...decoder.end()]).toEqual([
      { stream: "out", text: "own\n" },
      { stream: "err", text: "own\n" },
    ]);
  });

  it.each([
    ["", undefined],
    ['console.log("first"); console.log("second");', "second"],
    ['console.log("one\\ntwo\\n\\n");', "two"],
    ['console.log("kept"); console.log("  "); console.error("of the log");', "kept"],
    ['console.log("x".repeat(10));', "x".repeat(10)],
    ['console.log("x".repeat(11));', undefined],
    ['console.log("kept"); console.log("x".repeat(11)); console.log("");', undefined],
    ['console.log("x".repeat(11)); console.log("after");', "after"],
    ['console.log("x".repeat(9)); console.log("cut");', "cut"],
  ])("knows its last line, unless that alone is longer than the cap: %s", (program, line) => {
    const source = `import { captureConsole } from ${JSON.stringify(MODULE)};
      const capture = captureConsole();
      capture.begin(10, 1000);
      ${program}
      process.getBuiltinModule('node:fs').writeSync(1, JSON.stringify([capture.lastLine()]));`;
    const { stdout } = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", source]);
    expect(JSON.parse(String(stdout))).toEqual([line ?? null]);
  });

  it("prints values that hold themselves, and cuts what is longer than the cap", () => {
    const [circular] = printed("const a = { name: 'a' }; a.self = a; console.log(a);");
    expect(circular?.text).toBe("<ref *1> { name: 'a', self: [Circular *1] }\n");
    const entries = printed("console.log(Array(10_000).fill('item')); console.log('more');", 100);
    const text = entries.map((each) => each.text).join("");
    expect(text).toMatch(/^\[ 'item', [\s\S]*\.\.\. \(truncated\)\s*$/);
    expect(text.length).toBeLessThan(200);
  });
});
