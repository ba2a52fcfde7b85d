/** Draws places at which sources are mutated. The same sources and seed give the same places, and nearly the same after a small change. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Instrumenter } from "@stryker-mutator/instrumenter";
import {
  type NodePath,
  placeOf,
  placesFrom,
  runsOnlyWhileLoading,
  type SourceLocation,
} from "./only-sampled.ts";

export interface Sample {
  /** In Stryker's form for ranges of files: `FILE:LINE:COLUMN-LINE:COLUMN`. No range lies within another. */
  ranges: string[];
  /** The same in the form of `placeOf`. */
  places: string[];
  /** How many mutants there are at these places. */
  mutants: number;
  /** How many mutants there are to draw from. */
  outOf: number;
}

const quiet = () => {};
const LOGGER = {
  trace: quiet,
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: quiet,
  fatal: quiet,
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
};

/** Draws places from files until there are at least `wanted` mutants at them. Leaves out what runs only while a module loads. */
export async function drawSample(files: readonly string[], wanted: number, seed: number): Promise<Sample> {
  const sources = files.map((name) => ({ name, mutate: true, content: readFileSync(name, "utf8") }));
  const whileLoading = new Set<string>();
  const noteLoading = {
    shouldIgnore(path: NodePath) {
      const [own = ""] = placesFrom(path);
      if (runsOnlyWhileLoading(path)) whileLoading.add(own);
      return undefined;
    },
  };
  const instrumented = await new Instrumenter(LOGGER).instrument(sources, {
    plugins: null,
    ignorers: [noteLoading],
    excludedMutations: [],
  });
  const lengths = new Map(sources.map(({ name, content }) => [name, content.length]));
  const place = (file: string, location: SourceLocation) =>
    placeOf(lengths.get(file) ?? 0, fromOne(location));
  const mutants = instrumented.mutants.filter(
    ({ fileName, location }) => !whileLoading.has(place(fileName, location)),
  );
  const byPlace = new Map<string, { file: string; location: SourceLocation; mutants: number }>();
  for (const { fileName, location } of mutants) {
    const known = byPlace.get(keyOf(fileName, location));
    if (known) known.mutants++;
    else byPlace.set(keyOf(fileName, location), { file: fileName, location, mutants: 1 });
  }
  const lines = new Map(sources.map(({ name, content }) => [name, content.split("\n")]));
  const order = orderOf(
    [...byPlace.values()].map((place) => ({
      place,
      text: textAt(lines.get(place.file) ?? [], place.location),
    })),
    seed,
  );
  const chosen: { file: string; location: SourceLocation }[] = [];
  let count = 0;
  for (const { file, location, mutants: here } of order) {
    if (count >= wanted) break;
    if (chosen.some((other) => other.file === file && isNested(location, other.location))) continue;
    chosen.push({ file, location });
    count += here;
  }
  return {
    ranges: chosen.map(({ file, location }) => keyOf(file, location)),
    places: chosen.map(({ file, location }) => place(file, location)),
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

interface Place {
  file: string;
  location: SourceLocation;
}

/**
 * Puts places in an order that depends on the seed, and for each place only on its file and text, and on how often the text comes
 * before it in the file. So a change elsewhere changes neither what is drawn nor the results that an earlier run has of it.
 */
function orderOf<Mutated extends Place>(
  places: readonly { place: Mutated; text: string }[],
  seed: number,
): Mutated[] {
  const seen = new Map<string, number>();
  const keyed = places.map(({ place, text }) => {
    const name = JSON.stringify([seed, place.file, text]);
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return { place, key: createHash("sha256").update(`${name}${before}`).digest("hex") };
  });
  return keyed.sort((one, other) => (one.key < other.key ? -1 : 1)).map(({ place }) => place);
}

function textAt(lines: readonly string[], { start, end }: SourceLocation): string {
  const whole = lines.slice(start.line, end.line + 1);
  whole.push(whole.pop()?.slice(0, end.column) ?? "");
  return whole.join("\n").slice(start.column);
}
