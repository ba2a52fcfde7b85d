import { isObject } from "../base/json.ts";
import { visibleLine } from "../base/visible-text.ts";
import type { DeclaredTool } from "../codegen/language-printer.ts";
import { parseNamespacedName } from "../protocol/tool-names.ts";
import type { ModuleSource } from "./module-source.ts";

/** The last answer of a tool in a run, as a sketch. */
export interface ToolAnswer {
  /** `mcp__<server_module>__<tool>`, as the program wrote it. */
  readonly tool: string;
  readonly value: unknown;
}

const MAX_TEXT_CHARS = 2_000;
const MAX_ITEMS = 5;
/** An object with this many members may have others, which its sketch lacks. */
export const MAX_MEMBERS = 100;
const MAX_DEPTH = 6;
const MAX_VALUES = 1_000;

/** A bounded copy of a value: the beginning of texts and lists, and the first members of objects. */
export function sketchOf(value: unknown): unknown {
  let left = MAX_VALUES;
  const copy = (each: unknown, depth: number): unknown => {
    if (typeof each === "string") return each.slice(0, MAX_TEXT_CHARS);
    if (typeof each !== "object" || each === null) return each;
    if (left <= 0 || depth >= MAX_DEPTH) return undefined;
    if (Array.isArray(each))
      return each.slice(0, MAX_ITEMS).map((item) => {
        left--;
        return copy(item, depth + 1);
      });
    const members: [string, unknown][] = [];
    for (const [name, member] of Object.entries(each)) {
      if (members.length >= MAX_MEMBERS) break;
      left--;
      members.push([name, copy(member, depth + 1)]);
    }
    return Object.fromEntries(members);
  };
  return copy(value, 0);
}

/** The words that a language has for kinds of values. */
export interface KindWords {
  readonly object: string;
  readonly nothing: string;
}

const MAX_EXCERPT_CHARS = 80;
const MAX_NAMED = 10;
const MAX_NAMED_INSIDE = 6;
const MAX_NAME_CHARS = 40;

/** What a value is, in bounds, for a model that took it for something else. */
export function describeValue(value: unknown, words: KindWords, isInner = false): string {
  if (typeof value === "string") return describeText(value);
  if (Array.isArray(value)) return describeList(value, words, isInner);
  if (isObject(value)) {
    const names = Object.keys(value);
    if (names.length === 0) return `an empty ${words.object}`;
    const shown = names.slice(0, MAX_NAMED).map((name) => {
      const told = visibleLine(name.slice(0, MAX_NAME_CHARS));
      return isInner ? told : `${told} (${briefly(value[name], words)})`;
    });
    const more = names.length > shown.length ? ` and ${names.length - shown.length} more` : "";
    return `${/^[aeiou]/.test(words.object) ? "an" : "a"} ${words.object} with ${shown.join(", ")}${more}`;
  }
  if (value === null) return words.nothing;
  return value === undefined ? "a value" : visibleLine(String(value)).slice(0, MAX_NAME_CHARS);
}

function describeList(list: readonly unknown[], words: KindWords, isInner: boolean): string {
  const [first] = list;
  if (first === undefined) return "an empty list";
  const types = list.flatMap((block) =>
    isObject(block) && typeof block.type === "string" ? [block.type] : [],
  );
  const isContent =
    types.length === list.length &&
    types.every((type) => /^(?:text|image|audio|resource(?:_link)?)$/.test(type));
  if (isContent) return `a list of content blocks (${[...new Set(types)].join(", ")})`;
  return `a list, whose first item is ${isInner ? briefly(first, words) : describeValue(first, words, true)}`;
}

function briefly(value: unknown, words: KindWords): string {
  if (typeof value === "string") return `text ${excerpt(value, 30)}`;
  if (Array.isArray(value)) {
    const [first] = value;
    if (first === undefined) return "an empty list";
    if (!isObject(first)) return typeof first === "string" ? "a list of texts" : "a list";
    const names = Object.keys(first).slice(0, MAX_NAMED_INSIDE);
    return `a list of ${words.object}s with ${names.map((name) => visibleLine(name.slice(0, MAX_NAME_CHARS))).join(", ")}`;
  }
  if (isObject(value)) return words.object;
  if (value === null) return words.nothing;
  return value === undefined ? "a value" : visibleLine(String(value)).slice(0, 30);
}

/** What a text is. A text that only looks like data has to be parsed by the program. */
function describeText(text: string): string {
  const format = formatOf(text);
  const what = format === undefined ? "text" : `text that looks like ${format} and has to be parsed`;
  return `${what}: ${excerpt(text, MAX_EXCERPT_CHARS)}`;
}

function excerpt(text: string, chars: number): string {
  const line = visibleLine(text.slice(0, chars + 1).replace(/\s+/g, " "));
  return text.length <= chars ? `"${line}"` : `"${line.slice(0, chars)}..."`;
}

/** The format that a text has by its beginning. */
export function formatOf(text: string): string | undefined {
  const beginning = text.slice(0, MAX_TEXT_CHARS).trim();
  if (/^[[({]+\s*(?:'[^'\n]*'\s*[:,\]})]|None\b|True\b|False\b|\(|\w+\()/.test(beginning))
    return "Python's repr";
  const isWhole = text.length < MAX_TEXT_CHARS;
  const lines = beginning
    .split("\n")
    .slice(0, isWhole ? undefined : -1)
    .filter((line) => line.trim() !== "");
  if (/^(?:\[\s*(?:[{["\]]|-?\d|true|false|null)|\{\s*["}])/.test(beginning))
    return lines.length > 1 && lines.every((line) => /^\{.*\}$/.test(line.trim())) ? "JSON lines" : "JSON";
  if (/^<(?:[a-zA-Z!?])/.test(beginning)) return "XML or HTML";
  if (/^(?:#{1,6} |```|\|.*\|$|[*-] |\d+\. )/m.test(beginning)) return "Markdown";
  for (const separator of [",", "\t", ";"]) {
    const counts = lines.map((line) => line.split(separator).length - 1);
    if (lines.length > 1 && (counts[0] ?? 0) > 0 && counts.every((count) => count === counts[0]))
      return separator === "\t" ? "tab-separated values" : "CSV";
  }
  return undefined;
}

/** A tool's answer, and the names by which a program calls the tool. */
export interface NamedAnswer extends ToolAnswer {
  readonly declared: DeclaredTool | undefined;
}

/** Finds the functions of the tools that answered. */
export async function nameAnswers(
  answers: readonly ToolAnswer[],
  source: ModuleSource,
): Promise<NamedAnswer[]> {
  return Promise.all(
    answers.map(async (answer) => {
      const { module } = parseNamespacedName(answer.tool) ?? {};
      const loaded = module === undefined ? undefined : await source.load(module);
      return {
        ...answer,
        declared: loaded?.tools.find(({ namespacedName }) => namespacedName === answer.tool),
      };
    }),
  );
}

/** A sentence that says what a tool returned. */
export function describeAnswer({ tool, value }: ToolAnswer, words: KindWords): string {
  return `what ${visibleLine(tool)} returned is ${describeValue(value, words)}`;
}
