import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { reportEmitted } from "../../../project/result-files.ts";
import { ProgramConsole } from "../../../project/terminal/program-console.ts";
import type { EmittedBlock } from "../../../protocol/emitted.ts";
import { FakeTerminal, pipe } from "../../cli/terminal/terminals.ts";

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

const BLOCKS: EmittedBlock[] = [
  { type: "text", text: "hello" },
  { type: "image", data: "AAAA", mimeType: "image/png" },
  {
    type: "resource",
    resource: { uri: "emitted:///..%2F..%2Fetc%2Fa.csv", mimeType: "text/csv", text: "1\n" },
  },
  { type: "resource", resource: { uri: "emitted:///\u001b[2Ja.csv", text: "2\n" } },
  { type: "resource_link", uri: "file:///x", name: "x" },
];

it("what a program emitted is written to new files of plain names, and told on one line each", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ptc-emitted-"));
  writeFileSync(join(folder, "emitted-2.png"), "mine");
  const told: string[] = [];
  await reportEmitted(BLOCKS, folder, (line) => told.push(line));
  expect(readdirSync(folder).sort()).toEqual(
    ["2Ja.csv", "etc_a.csv", "emitted-1.txt", "emitted-2-2.png", "emitted-2.png"].sort(),
  );
  expect(readFileSync(join(folder, "emitted-2.png"), "utf8")).toBe("mine");
  expect(told).toHaveLength(BLOCKS.length);
  expect(told.join("")).not.toMatch(/\p{Cc}/u);
  expect(told[1]).toBe(`ptc: emitted: image/png, 3 B, to ${join(folder, "emitted-2-2.png")}`);
  expect(told.at(-1)).toBe("ptc: emitted: x, link to file:///x");
});

it("what cannot be written is said", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "ptc-emitted-")), "file");
  writeFileSync(file, "");
  const told: string[] = [];
  await reportEmitted(BLOCKS.slice(0, 1), file, (line) => told.push(line));
  expect(told).toEqual([expect.stringMatching(/^ptc: emitted: text, 5 B; it cannot be written to .*file: /)]);
});

describe("a type check that takes long", () => {
  const SAID = "ptc: checking types ...\n";

  function useFakeTimers(): void {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
  }

  it("is told on a terminal once, after two seconds, and nothing is said of other parts of a run", () => {
    useFakeTimers();
    const terminal = new FakeTerminal();
    const { onPhase } = new ProgramConsole(terminal.surroundings, 1_000);
    onPhase("sandbox_wait");
    onPhase("type_check");
    vi.advanceTimersByTime(1_999);
    expect(terminal.drawn).toBe("");
    vi.advanceTimersByTime(60_000);
    expect(terminal.drawn).toBe(SAID);
  });

  it("is not told where it, or the command, has ended before that", () => {
    useFakeTimers();
    const terminal = new FakeTerminal();
    new ProgramConsole(terminal.surroundings, 1_000).onPhase("type_check")();
    const ended = new ProgramConsole(terminal.surroundings, 1_000);
    ended.onPhase("type_check");
    ended.end();
    vi.advanceTimersByTime(60_000);
    expect(terminal.drawn).toBe("");
  });

  it("is not told in a pipe, where only the program's console and warnings are", () => {
    useFakeTimers();
    const { surroundings, written } = pipe();
    new ProgramConsole(surroundings, 1_000).onPhase("type_check");
    vi.advanceTimersByTime(60_000);
    expect(written()).toBe("");
  });
});
