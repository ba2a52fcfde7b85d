import { readFileSync } from "node:fs";
import { join } from "node:path";
import { countSavings, type Reading, type Savings } from "./count-savings.ts";

const ROOT = join(import.meta.dirname, "../../..");
const BETWEEN = /(<!-- savings[^\n]*-->\n)[\s\S]*?(<!-- \/savings -->)/;

/** README.md and docs/savings.md, with the figures of the examples between their markers. */
export async function printSavings(): Promise<[string, string][]> {
  const savings = await countSavings();
  return [
    ["README.md", fill("README.md", renderSavings(savings))],
    ["docs/savings.md", fill("docs/savings.md", renderDetailed(savings))],
  ];
}

function fill(path: string, table: string): string {
  const text = readFileSync(join(ROOT, path), "utf8");
  if (!BETWEEN.test(text))
    throw new Error(`${path} has no place for figures: <!-- savings --> and <!-- /savings -->`);
  return text.replace(BETWEEN, (_, begin: string, end: string) => `${begin}${table}${end}`);
}

/** The example that saves most and the one that saves least. Tokens are in hundreds, so that a single word does not change the page. Pure. */
function renderSavings(savings: readonly Savings[]): string {
  const sorted = savings.toSorted((a, b) => ratio(b) - ratio(a));
  const rows = [...sorted.slice(0, 1), ...sorted.slice(-1)].map((each) => [
    `[${each.program}](examples/recipes/${each.program})`,
    ...[each.everything, each.direct, each.searched, each.ptc].map(brief),
  ]);
  return layOut([
    ["example", "direct, six servers", "direct, only its servers", "tool search", "ptc"],
    ...rows,
  ]);
}

/** All figures, and their sums. Pure. */
function renderDetailed(savings: readonly Savings[]): string {
  const sums: Savings = {
    program: "all of them",
    calls: savings.reduce((total, { calls }) => total + calls, 0),
    everything: sum(savings.map(({ everything }) => everything)),
    direct: sum(savings.map(({ direct }) => direct)),
    searched: sum(savings.map(({ searched }) => searched)),
    ranked: sum(savings.map(({ ranked }) => ranked)),
    ptc: sum(savings.map(({ ptc }) => ptc)),
    tools: savings[0]?.tools ?? 0,
    unseen: [],
  };
  const rows = [...savings, sums].map((each) => {
    const { program, calls, everything, direct, searched, ptc } = each;
    const readings = [everything, direct, searched, ptc].flatMap(({ tokens, turns }) => [tokens, turns]);
    const ratios = [everything, direct, searched].map(({ tokens }) => (tokens / ptc.tokens).toFixed(2));
    return [program, ...[calls, ...readings].map(String), ...ratios];
  });
  const readings = ["six servers", "its servers", "tool search", "ptc"].flatMap((name) => [name, "turns"]);
  const ratios = ["six / ptc", "its / ptc", "search / ptc"];
  return layOut([["example", "calls", ...readings, ...ratios], ...rows]);
}

function sum(readings: readonly Reading[]): Reading {
  const add = (what: keyof Reading) => readings.reduce((total, each) => total + each[what], 0);
  return { tokens: add("tokens"), turns: add("turns") };
}

function ratio({ everything, ptc }: Savings): number {
  return everything.tokens / ptc.tokens;
}

function brief({ tokens, turns }: Reading): string {
  return `${(tokens / 1_000).toFixed(1)}k in ${turns}`;
}

function layOut([head = [], ...rows]: string[][]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return `${[line(head), `|---|${"---:|".repeat(head.length - 1)}`, ...rows.map(line)].join("\n")}\n`;
}
