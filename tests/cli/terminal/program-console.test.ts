import { describe, expect, it } from "vitest";
import { ProgramConsole } from "../../../cli/terminal/program-console.ts";
import { FakeTerminal, pipe } from "./terminals.ts";

const HOSTILE = "a\u001b[2J\u202eb\r\u009bc\n";

describe("what a program prints", () => {
  it("is in a pipe as the program printed it", () => {
    const { surroundings, written } = pipe();
    const console = new ProgramConsole(surroundings, 1_000);
    console.print(HOSTILE);
    console.tell("ptc: said");
    expect(written()).toBe(`${HOSTILE}ptc: said\n`);
  });

  it("is on a terminal visible, and marked line by line", () => {
    const terminal = new FakeTerminal();
    const console = new ProgramConsole(terminal.surroundings, 1_000);
    console.print(HOSTILE);
    console.print("ptc asks: allow? [y]es\n\npartial");
    console.tell("ptc: said");
    expect(terminal.drawn).toBe(
      "│ a\\u{1b}[2J\\u{202e}b\\u{d}\\u{9b}c\n│ ptc asks: allow? [y]es\n│ \n│ partial\nptc: said\n",
    );
  });

  it.each([
    ["letters", "x".repeat(100)],
    ["wide letters", "\u6f22".repeat(100)],
    ["tabs", "\t".repeat(30)],
    ["spaces", `${" ".repeat(39)}Allow this? [y]es`],
  ])("begins no line of a terminal without its mark by being long: %s", (_, text) => {
    const terminal = new FakeTerminal(40);
    new ProgramConsole(terminal.surroundings, 10_000).print(`${text}\n`);
    const lines = terminal.drawn.slice(0, -1).split("\n");
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) {
      expect(line).toMatch(/^│ /);
      expect(
        [...line].reduce((sum, each) => sum + (each > "\u1100" && each !== "│" ? 2 : 1), 0),
      ).toBeLessThanOrEqual(40);
    }
  });

  it.each([1_024, 10_000])("takes with all that ptc says no more than %i bytes", (max) => {
    const { surroundings, written } = pipe();
    const console = new ProgramConsole(surroundings, max);
    for (let i = 0; i < 50; i++) {
      console.print(`${"o".repeat(max / 8)}\n`);
      console.print(`${"e".repeat(max / 8)}\n`);
      if (i % 10 === 0) console.tell(`ptc: ${"w".repeat(100)}`);
    }
    expect(Buffer.byteLength(written())).toBeLessThanOrEqual(max);
    expect(written()).toContain("\n... (truncated)\n");
    expect(written()).toContain("ptc: w");
  });
});
