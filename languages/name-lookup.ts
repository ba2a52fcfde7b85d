import { listUpTo } from "../base/visible-text.ts";
import type { DeclaredTool } from "../codegen/language-printer.ts";
import { EXTRACT_NAME, EXTRACT_SERVER, parseNamespacedName } from "../protocol/tool-names.ts";
import type { ModuleSource } from "./module-source.ts";

const MAX_MODULES = 500;
const MAX_FOUND = 3;

/** The functions that a name without an import most likely means. */
export interface MeantFunctions {
  /** Whether the name is theirs, and not only like theirs. */
  isExact: boolean;
  functions: readonly DeclaredTool[];
}

/**
 * Looks in all modules for functions of a name, or for those whose names are nearest. The modules that have them count as
 * used by the program, so that a replay finds the same in the record.
 */
export async function findFunctions(name: string, source: ModuleSource): Promise<MeantFunctions> {
  const modules = source.modules().slice(0, MAX_MODULES);
  const peeked = await Promise.all(
    modules.map((module) => (source.peek ?? source.load).call(source, module)),
  );
  const tools = peeked.flatMap((module) => module?.tools.filter(({ isAvailable }) => isAvailable) ?? []);
  const exact = tools.filter((tool) => tool.identifier === name || ownName(tool) === name);
  const near = new Set(
    exact.length > 0
      ? []
      : nearestNames(
          name,
          tools.map(({ identifier }) => identifier),
        ),
  );
  const found = exact.length > 0 ? exact : tools.filter(({ identifier }) => near.has(identifier));
  const meant = found.slice(0, MAX_FOUND);
  await Promise.all([...new Set(meant.map(({ module }) => module))].map((module) => source.load(module)));
  return { isExact: exact.length > 0, functions: meant };
}

/** Advice for a program that takes `result` of a value that is no longer wrapped in an object. */
export function describeUnwrapped(identifier: string): string {
  return `${identifier} returns the value itself, which its server wraps as {result: ...}: leave out the 'result'`;
}

const TAKES_RESULT = /\.result\b(?!\s*\()|\[\s*["']result["']\s*\]|\{[^{}]*\bresult\b[^{}]*\}\s*=\s*await\b/;

/** Advice for a failed program that takes `result` of a value that has no such member; `undefined` for any other program. */
export async function adviseOnUnwrapped(code: string, source: ModuleSource): Promise<string | undefined> {
  if (!TAKES_RESULT.test(code)) return undefined;
  for (const module of source.modules().slice(0, MAX_MODULES)) {
    if (!code.includes(module)) continue;
    const { tools } = (await source.load(module)) ?? { tools: [] };
    const named = tools.find(
      ({ isUnwrapped, isAvailable, identifier, namespacedName }) =>
        isUnwrapped && isAvailable && (code.includes(identifier) || code.includes(namespacedName)),
    );
    if (named !== undefined) return describeUnwrapped(named.identifier);
  }
  return undefined;
}

/** Whether there is a tool of this namespaced name, which programs may be forbidden to call. */
export async function isTool(name: string, source: ModuleSource): Promise<boolean> {
  const { module } = parseNamespacedName(name) ?? {};
  if (module === undefined || !source.modules().includes(module)) return false;
  const { tools } = (await source.load(module)) ?? { tools: [] };
  return tools.some(({ namespacedName }) => namespacedName === name);
}

function ownName({ namespacedName }: DeclaredTool): string | undefined {
  return parseNamespacedName(namespacedName)?.tool;
}

const MAX_NAMES = 3;
const MIN_SCORE = 0.6;
/** Candidates whose score is lower than the best by more than this are left out. */
const SPREAD = 0.15;
/** What a word that begins another counts, where the same word counts 1. */
const BEGINNING = 0.9;
const MIN_BEGINNING_CHARS = 3;

/**
 * The candidates that a misspelled name in code most likely means, best first. At most three, and none when none is close.
 * Only candidates about as close as the best are given, because the message tells a model what to write instead. For a
 * wider choice see `catalog/search/similar-names.ts`.
 */
export function nearestNames(name: string, candidates: Iterable<string>): string[] {
  const words = wordsOf(name);
  const scored: { candidate: string; score: number }[] = [];
  for (const candidate of new Set(candidates)) {
    const score = Math.max(similarity(name, candidate), sharedWords(words, wordsOf(candidate)));
    if (score >= MIN_SCORE) scored.push({ candidate, score });
  }
  scored.sort((a, b) => b.score - a.score || (a.candidate < b.candidate ? -1 : 1));
  const [best] = scored;
  return scored
    .filter(({ score }) => score >= (best?.score ?? 0) - SPREAD)
    .slice(0, MAX_NAMES)
    .map(({ candidate }) => candidate);
}

/** Renders `; did you mean 'a', 'b' or 'c'?`, or an empty text. */
export function didYouMean(names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`);
  const last = quoted.pop();
  if (last === undefined) return "";
  return `; did you mean ${quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`}?`;
}

/** Words of an identifier, in lower case and without a plural's s. */
function wordsOf(name: string): Set<string> {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return new Set(words?.map((word) => word.replace(/s$/, "")));
}

function isBeginning(short: string, long: string): boolean {
  return short.length >= MIN_BEGINNING_CHARS && long.startsWith(short);
}

/** How many words two names share. A word that begins another, such as `dir` of `directory`, counts almost as much. */
function sharedWords(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of a) {
    if (b.has(word)) shared++;
    else if ([...b].some((other) => isBeginning(word, other) || isBeginning(other, word)))
      shared += BEGINNING;
  }
  return (2 * shared) / (a.size + b.size || 1);
}

/** 1 for equal names, 0 for names with nothing in common, by edit distance. */
function similarity(a: string, b: string): number {
  const longest = Math.max(a.length, b.length, 1);
  return longest > 100 ? 0 : 1 - levenshteinDistance(a.toLowerCase(), b.toLowerCase()) / longest;
}

/**
 * Insertions, deletions and replacements that make one text of another. A swap of neighbours counts as two, unlike in
 * `catalog/search/similar-names.ts`.
 */
function levenshteinDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}

const MAX_SERVERS_CHARS = 200;

/** The servers there are, where they are few enough to be named. */
export function nameServers(source: ModuleSource): string {
  const modules = source.modules();
  if (modules.length === 0) return "";
  return ` (servers: ${listUpTo(modules, MAX_SERVERS_CHARS)})`;
}

/** Whether a program may mean the function that asks a model, and there is one that it may call. */
export async function offersExtract(code: string, source: ModuleSource): Promise<boolean> {
  if (!mayExtract(code, source)) return false;
  const module = await source.load(EXTRACT_SERVER);
  return module?.tools.some((tool) => tool.namespacedName === EXTRACT_NAME && tool.isAvailable) === true;
}

/** Whether a program may mean that function, where there is one. Loads nothing. */
export function mayExtract(code: string, source: ModuleSource): boolean {
  return source.modules().includes(EXTRACT_SERVER) && /\bextract\b/.test(code);
}
