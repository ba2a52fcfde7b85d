import { listUpTo, oneLine } from "../base/visible-text.ts";
import type { DeclaredTool } from "../codegen/language-printer.ts";
import { EXTRACT_NAME, EXTRACT_SERVER, parseNamespacedName } from "../protocol/tool-names.ts";
import type { ModuleSource } from "./module-source.ts";

const MAX_MODULES = 500;
const MAX_FOUND = 3;

/** The functions that an undefined name most likely means. */
export interface MeantFunctions {
  /** Whether they have exactly that name, and not only a similar one. */
  isExact: boolean;
  functions: readonly DeclaredTool[];
}

/**
 * Searches all modules for functions with a name, or with the nearest names. Their modules count as used by the program, so that
 * a replay finds the same functions in the record.
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

/** Advice for a program that reads `result` of a value that is no longer wrapped in an object. */
export function describeUnwrapped(identifier: string): string {
  return `${identifier} returns the value itself, which its server wraps as {result: ...}: leave out the 'result'`;
}

const TAKES_RESULT = /\.result\b(?!\s*\()|\[\s*["']result["']\s*\]|\{[^{}]*\bresult\b[^{}]*\}\s*=\s*await\b/;

/** Advice for a failed program that reads `result` of a value without such a member. `undefined` for any other program. */
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

/** Whether a tool has this namespaced name, even if programs may not call it. */
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
/** The largest difference to the best score. Candidates with a lower score are left out. */
const SPREAD = 0.15;
/** The score of a word that begins another word. An equal word scores 1. */
const BEGINNING = 0.9;
const MIN_BEGINNING_CHARS = 3;

/**
 * The candidates that a misspelled name in code most likely means, best first. At most three, and none if none is close.
 * Returns only candidates about as close as the best one, because the message tells a model what to write instead. For a
 * wider choice, see `catalog/search/similar-names.ts`.
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

/** The words of an identifier, in lower case and without a plural's s. */
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
 * The number of insertions, deletions and replacements that turn one text into another. A swap of neighbours counts as two,
 * unlike in `catalog/search/similar-names.ts`.
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
const MAX_REASON_CHARS = 300;

/** Why a server's module cannot be imported although the server is configured. `undefined` if nothing is known about that. */
export function explainUnlisted(module: string, source: ModuleSource): string | undefined {
  const why = source.unlisted?.get(module);
  return why === undefined
    ? undefined
    : `there is no server module '${module}' yet: ${oneLine(why, MAX_REASON_CHARS)}`;
}

/** Names the servers, up to a length. Empty if there are none. */
export function nameServers(source: ModuleSource): string {
  const modules = source.modules();
  if (modules.length === 0) return "";
  return ` (servers: ${listUpTo(modules, MAX_SERVERS_CHARS)})`;
}

/** Whether a program may mean the function that asks a model, and may call it. */
export async function offersExtract(code: string, source: ModuleSource): Promise<boolean> {
  if (!mayExtract(code, source)) return false;
  const module = await source.load(EXTRACT_SERVER);
  return module?.tools.some((tool) => tool.namespacedName === EXTRACT_NAME && tool.isAvailable) === true;
}

/** Whether a program may mean that function. Loads nothing. */
export function mayExtract(code: string, source: ModuleSource): boolean {
  return source.modules().includes(EXTRACT_SERVER) && /\bextract\b/.test(code);
}
