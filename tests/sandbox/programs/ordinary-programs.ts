import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { Random } from "../../fuzz/random.ts";
import { type Rules, writeText } from "../written-text.ts";

const GRAMMAR: { program: string; rules: Rules } = parse(
  readFileSync(join(import.meta.dirname, "ordinary-programs.yaml"), "utf8"),
);

/** A longer text of an outcome is cut, so that the outcomes of a batch fit into one result. */
const SHOWN_CHARS = 1_000;

/** The body of an async function that a seed decides. It pushes what it sees to `seen`, and returns a value. */
export function writeOrdinaryProgram(seed: number): string {
  return writeText(new Random("ordinary program", seed), GRAMMAR.program, GRAMMAR.rules).trim();
}

/**
 * One program that runs many, one after the other. Its result is a list with the outcome of each: all that it saw and returned, as
 * `util.inspect` writes it, or the name of what it threw.
 */
export function batchOf(bodies: readonly string[]): string {
  return `
import { inspect } from "node:util";
const OPTIONS = { depth: 8, breakLength: Infinity, compact: true };
const show = (value) => inspect(value, OPTIONS).slice(0, ${SHOWN_CHARS}).toWellFormed();
const programs = [
${bodies.map((body) => `async (seen) => {\n${body}\n},`).join("\n")}
];
const outcomes = [];
for (const [index, program] of programs.entries()) {
  const seen = [];
  console.log("program " + index);
  try {
    const returned = await program(seen);
    outcomes.push(show([...seen, returned]));
  } catch (error) {
    outcomes.push(show([...seen]) + " throws " + error?.name);
  }
}
globalThis.result = outcomes;`;
}
