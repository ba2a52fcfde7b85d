import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { Random } from "../../fuzz/random.ts";
import { type Rules, writeText } from "../written-text.ts";

interface Kind {
  /** What begins a worker. */
  keyword: string;
  workers: [least: number, most: number];
  head: string;
  steps: string[];
  tails: string[];
}
const GRAMMAR: { head: string; kinds: Kind[]; rules: Rules } = parse(
  readFileSync(join(import.meta.dirname, "random-programs.yaml"), "utf8"),
);

/** A program that depends on the order of what happens to it. The same seed gives the same program. */
export function randomProgram(seed: number): string {
  const random = new Random("python", seed);
  const { keyword, workers, head, steps, tails } = random.pick(GRAMMAR.kinds);
  const names = random.list(random.between(...workers), (index) => `w${index}`);
  const rules = { ...GRAMMAR.rules, workers: [names.join(", ")] };
  const functions = names.map((who) => {
    const taken = random.list(random.between(3, 8), (step) => {
      const text = writeText(random, random.pick(steps), { ...rules, who: [who] });
      return `${text}\nseen('${who}', ${step}, value)`.replace(/^/gm, "    ");
    });
    return [`${keyword} ${who}():`, ...taken].join("\n");
  });
  const tail = writeText(random, random.pick(tails), rules);
  return [GRAMMAR.head, head, ...functions, tail, "result = log"].join("\n");
}
