/** Draws places at which sources are mutated. The same sources and seed give the same places. */
import { readFileSync } from "node:fs";
import { Instrumenter } from "@stryker-mutator/instrumenter";
import { placeOf, type SourceLocation } from "./only-sampled.ts";

export interface Sample {
  /** In Stryker's form for ranges of files: `FILE:LINE:COLUMN-LINE:COLUMN`. No range lies within another. */
  ranges: string[];
  /** The same in the form of `placeOf`. */
  places: string[];
  /** How many mutants there are at these places. */
  mutants: number;
  /** How many mutants there are in all files. */
  outOf: number;
}

const quiet = () => {};
const LOGGER = {
  ...{ trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet, fatal: quiet },
  ...{ isTraceEnabled: () => false, isDebugEnabled: () => false, isInfoEnabled: () => false },
  ...{ isWarnEnabled: () => false, isErrorEnabled: () => false, isFatalEnabled: () => false },
};

/** Draws places from files until there are at least `wanted` mutants at them. */
export async function drawSample(files: readonly string[], wanted: number, seed: number): Promise<Sample> {
  const sources = files.map((name) => ({ name, mutate: true, content: readFileSync(name, "utf8") }));
  const { mutants } = await new Instrumenter(LOGGER).instrument(sources, {
    plugins: null,
    ignorers: [],
    excludedMutations: [],
  });
  const byPlace = new Map<string, { file: string; location: SourceLocation; mutants: number }>();
  for (const { fileName, location } of mutants) {
    const known = byPlace.get(keyOf(fileName, location));
    if (known) known.mutants++;
    else byPlace.set(keyOf(fileName, location), { file: fileName, location, mutants: 1 });
  }
  const lengths = new Map(sources.map(({ name, content }) => [name, content.length]));
  const chosen: { file: string; location: SourceLocation }[] = [];
  let count = 0;
  for (const { file, location, mutants: here } of shuffled([...byPlace.values()], seed)) {
    if (count >= wanted) break;
    if (chosen.some((other) => other.file === file && isNested(location, other.location))) continue;
    chosen.push({ file, location });
    count += here;
  }
  return {
    ranges: chosen.map(({ file, location }) => keyOf(file, location)),
    places: chosen.map(({ file, location }) => placeOf(lengths.get(file) ?? 0, fromOne(location))),
    mutants: count,
    outOf: mutants.length,
  };
}

function keyOf(file: string, location: SourceLocation): string {
  const { start, end } = fromOne(location);
  return `${file}:${start.line}:${start.column}-${end.line}:${end.column}`;
}

/** Stryker counts the lines of mutants from 0, and those of ranges from 1. */
function fromOne({ start, end }: SourceLocation): SourceLocation {
  return {
    start: { line: start.line + 1, column: start.column },
    end: { line: end.line + 1, column: end.column },
  };
}

function isNested(one: SourceLocation, other: SourceLocation): boolean {
  return isWithin(one, other) || isWithin(other, one);
}

function isWithin(inner: SourceLocation, outer: SourceLocation): boolean {
  return isBefore(outer.start, inner.start) && isBefore(inner.end, outer.end);
}

function isBefore(one: SourceLocation["start"], other: SourceLocation["start"]): boolean {
  return one.line < other.line || (one.line === other.line && one.column <= other.column);
}

/** A copy shuffled with mulberry32, which gives the same order on every machine. */
function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  let state = seed >>> 0;
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const copy = [...items];
  for (let last = copy.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [copy[last], copy[other]] = [copy[other] as Item, copy[last] as Item];
  }
  return copy;
}
