import { RecentlyUsed } from "../../../base/recently-used.ts";
import type { RuleAction } from "./rule-schema.ts";

/** A file of rules. */
export interface RuleFile {
  /** Its name in messages. */
  readonly file: string;
  readonly text: string;
}

/** One rule. */
export interface Rule extends RuleText {
  /** Unique among all rules. */
  readonly id: string;
  /** For people: its `@id` and its place, or only its place. */
  readonly name: string;
  readonly file: string;
  /** Whether a person may lift what it forbids: it has the annotation `@ask`. */
  readonly isAsk: boolean;
  readonly needs: RuleNeeds;
}

/** What of a request a rule looks at. What no rule looks at is not told to Cedar. */
const CALL_PARTS = ["arguments", "numbers", "lists", "run", "source", "client", "now"] as const;
const FLOW_PARTS = ["labels", "origins", "said", "conversation", "hosts", "domains", "listed"] as const;
const PARTS = [...CALL_PARTS, ...FLOW_PARTS] as const;
type ContextPart = (typeof PARTS)[number];
type Part = "principal" | "resource" | ContextPart;
export type RuleNeeds = Readonly<Record<Part, boolean>>;

/** Whether rules look at the origins of values. */
export function looksAtFlow({ labels, origins, said }: RuleNeeds): boolean {
  return labels || origins || said;
}

/** Reads the rules of all files. */
export function readRules(files: readonly RuleFile[]): Rule[] {
  const read = files.flatMap(({ file, text }) => splitRules(text).map((rule) => ({ ...rule, file })));
  return read.map((rule, index) => {
    const place = `${rule.file}:${rule.line}`;
    const id = rule.annotations.get("id");
    return {
      ...rule,
      id: `r${index}`,
      name: id === undefined || id === "" ? place : `${id} (${place})`,
      isAsk: rule.annotations.has("ask"),
      needs: needsOf(rule),
    };
  });
}

function needsOf({ head, text, words, principal, resource }: RuleText): RuleNeeds {
  const names = (named: Named, type: string) =>
    head.includes("\\") || (named?.some((entity) => entity.type !== type) ?? false);
  const context = words.has("context");
  // `context.run.labels` does not refer to `context.labels`.
  const looksAt = (member: string) =>
    context &&
    words.has(member) &&
    (member !== "labels" || /\bcontext\s*(?:\.\s*labels\b|\[\s*"labels"|has\s+"?labels\b)/.test(text));
  const own = Object.fromEntries(PARTS.map((part) => [part, looksAt(part)])) as Record<ContextPart, boolean>;
  // If members of the context are named in an unknown way, the whole context is needed.
  const isWhole = context && !Object.values(own).includes(true);
  const needed = isWhole ? (Object.fromEntries(PARTS.map((part) => [part, true])) as typeof own) : own;
  return {
    ...needed,
    principal: words.has("principal") || names(principal, "User"),
    resource: words.has("resource") || names(resource, "Tool"),
  };
}

/** The subject of a request, which the heads of rules must match. */
export interface RuleSubject {
  readonly action: RuleAction;
  readonly principal: string;
  readonly groups: readonly string[];
  /** Namespaced name. */
  readonly tool: string;
  /** Configured name of the server. */
  readonly server: string;
}

/** The rules that can apply to a request, ready for a decision. */
export interface ApplicableRules {
  readonly texts: ReadonlyMap<string, string>;
  /** Equal for the same rules. */
  readonly key: string;
  readonly needs: RuleNeeds;
  /** The characters of the patterns of all of them. */
  readonly likeChars: number;
}

/** Indexes rules by the entities in their heads, so that a decision considers only rules that can apply. */
export class RuleIndex {
  readonly #byResource = new Map<string, Rule[]>();
  readonly #anywhere: Rule[] = [];
  readonly #applicable = new RecentlyUsed<string, ApplicableRules>({ maxEntries: 4_096 });
  readonly #name: string;
  readonly #textOf: (rule: Rule) => string;

  /**
   * @param name distinguishes its sets from those of other indexes.
   * @param textOf the text of a rule in the sets.
   */
  constructor(name: string, rules: readonly Rule[], textOf: (rule: Rule) => string = ({ text }) => text) {
    this.#name = name;
    this.#textOf = textOf;
    for (const rule of rules) {
      if (rule.resource === undefined) this.#anywhere.push(rule);
      for (const { type, id } of rule.resource ?? []) {
        const key = `${type} ${id}`;
        const known = this.#byResource.get(key);
        if (known === undefined) this.#byResource.set(key, [rule]);
        else known.push(rule);
      }
    }
  }

  /** The rules whose heads match a request, or may match it. */
  applicable(subject: RuleSubject): ApplicableRules {
    const key = JSON.stringify(Object.values(subject));
    const known = this.#applicable.get(key);
    if (known !== undefined) return known;
    const rules = this.#select(subject);
    const parts = ["principal", "resource", ...PARTS] as Part[];
    const needs = Object.fromEntries(parts.map((part) => [part, rules.some((rule) => rule.needs[part])]));
    const applicable: ApplicableRules = {
      texts: new Map(rules.map((rule) => [rule.id, this.#textOf(rule)])),
      key: `${this.#name} ${rules.map(({ id }) => id).join()}`,
      needs: needs as RuleNeeds,
      likeChars: rules.reduce((chars, rule) => chars + rule.likeChars, 0),
    };
    this.#applicable.set(key, applicable);
    return applicable;
  }

  #select({ action, principal, groups, tool, server }: RuleSubject): Rule[] {
    const who = new Set([`User ${principal}`, ...groups.map((group) => `Group ${group}`)]);
    const what = new Set([`Action ${action}`]);
    return [
      ...this.#anywhere,
      ...(this.#byResource.get(`Tool ${tool}`) ?? []),
      ...(this.#byResource.get(`Server ${server}`) ?? []),
    ].filter((rule) => holds(rule.principal, who) && holds(rule.action, what));
  }
}

function holds(named: Named, those: ReadonlySet<string>): boolean {
  return named === undefined || named.some(({ type, id }) => those.has(`${type} ${id}`));
}

/**
 * The text of a rule for a call of which only the caller and the tool are known: a permission without the clauses that depend on
 * the context, or `undefined` for a prohibition that depends on it.
 */
export function withoutContext(rule: Rule): string | undefined {
  const known = rule.clauses.filter(({ usesContext }) => !usesContext);
  if (rule.effect !== "permit" && known.length < rule.clauses.length) return undefined;
  return `${[rule.head, ...known.map(({ text }) => text)].join(" ")};`;
}

/**
 * Reads the text of Cedar policies: where each begins, and what its head names. Cedar itself parses and validates them. This only
 * selects the rules for a decision, so a head that is not understood counts as naming everything.
 */

/** An entity that a head names, as in `Tool::"mcp__x__y"`. */
interface NamedEntity {
  readonly type: string;
  readonly id: string;
}

/** The entities that one part of a head names; `undefined` if it names none and therefore applies to all. */
type Named = readonly NamedEntity[] | undefined;

interface RuleClause {
  readonly text: string;
  /** Whether it may look at the context of a request. */
  readonly usesContext: boolean;
}

/** One policy of a file. */
interface RuleText {
  readonly text: string;
  /** Of its first character, from 1. */
  readonly line: number;
  /** Annotations and head, without the clauses and the semicolon. */
  readonly head: string;
  readonly clauses: readonly RuleClause[];
  /** `undefined` if this is not a Cedar rule. */
  readonly effect: "permit" | "forbid" | undefined;
  /** By name; `""` for one without a value. */
  readonly annotations: ReadonlyMap<string, string>;
  readonly principal: Named;
  readonly action: Named;
  readonly resource: Named;
  /** The type that its head wants of the resource, as in `resource is User`. */
  readonly resourceType: string | undefined;
  /** Every word of its clauses, with those that are texts. */
  readonly words: ReadonlySet<string>;
  /** The characters of its patterns (`like`), each of which Cedar may compare with every character of a text. */
  readonly likeChars: number;
}

interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const TOKEN = /\/\/[^\n]*|"(?:[^"\\]|\\[\s\S])*"|[A-Za-z_][A-Za-z_0-9]*|::|==|[^\s]/g;

/** Splits the text of a file into its policies. Text after the last semicolon counts as one, too. */
export function splitRules(source: string): RuleText[] {
  const rules: RuleText[] = [];
  let tokens: Token[] = [];
  for (const match of source.matchAll(TOKEN)) {
    const [text] = match;
    if (text.startsWith("//")) continue;
    tokens.push({ text, start: match.index, end: match.index + text.length });
    if (text !== ";") continue;
    rules.push(readRule(source, tokens));
    tokens = [];
  }
  if (tokens.length > 0) rules.push(readRule(source, tokens));
  return rules;
}

function readRule(source: string, tokens: readonly Token[]): RuleText {
  const start = tokens[0]?.start ?? 0;
  const reader = new HeadReader(tokens);
  const head = reader.read();
  const rest = tokens.slice(reader.position).filter(({ text }) => text !== ";");
  const end = tokens.at(-1)?.end ?? start;
  return {
    text: source.slice(start, end),
    line: source.slice(0, start).split("\n").length,
    head: source.slice(start, tokens[reader.position - 1]?.end ?? end),
    clauses: splitClauses(source, rest),
    ...head,
    words: new Set(rest.map(({ text }) => unquoted(text) ?? text)),
    likeChars: rest.reduce(
      (chars, { text }, index) => chars + (rest[index - 1]?.text === "like" ? text.length : 0),
      0,
    ),
  };
}

/** Splits the text after a head into its `when` and `unless` clauses. */
function splitClauses(source: string, tokens: readonly Token[]): RuleClause[] {
  const clauses: RuleClause[] = [];
  let depth = 0;
  let first = 0;
  for (const [index, { text }] of tokens.entries()) {
    if (text === "{") depth++;
    if (text === "}") depth--;
    if (depth !== 0 || text !== "}") continue;
    const own = tokens.slice(first, index + 1);
    clauses.push(clauseOf(source, own));
    first = index + 1;
  }
  const left = tokens.slice(first);
  return left.length === 0 ? clauses : [...clauses, clauseOf(source, left)];
}

function clauseOf(source: string, tokens: readonly Token[]): RuleClause {
  const text = source.slice(tokens[0]?.start ?? 0, tokens.at(-1)?.end ?? 0);
  return { text, usesContext: tokens.some((token) => token.text === "context") };
}

type RuleHead = Pick<
  RuleText,
  "effect" | "annotations" | "principal" | "action" | "resource" | "resourceType"
>;

/** Reads annotations and the head. */
class HeadReader {
  readonly #tokens: readonly Token[];
  position = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  read(): RuleHead {
    const annotations = new Map<string, string>();
    while (this.#take("@")) {
      const name = this.#next();
      const value = this.#take("(") ? (unquoted(this.#next()) ?? "") : "";
      this.#take(")");
      annotations.set(name, value);
    }
    const word = this.#next();
    const effect = word === "permit" || word === "forbid" ? word : undefined;
    const parts: (readonly string[])[] = [];
    let part: string[] = [];
    let depth = 0;
    while (this.position < this.#tokens.length) {
      const text = this.#next();
      if (text === "(") depth++;
      else if (text === ")" && --depth === 0) break;
      else if (text === "," && !part.includes("[")) {
        parts.push(part);
        part = [];
      } else if (text === "]") part = [...part.filter((each) => each !== "["), "]"];
      else part.push(text);
    }
    if (part.length > 0) parts.push(part);
    const [principal = [], action = [], resource = []] = parts;
    const resourceType = resource[1] === "is" ? resource[2] : undefined;
    return {
      effect,
      annotations,
      resourceType,
      principal: namedIn(principal),
      action: namedIn(action),
      resource: namedIn(resource),
    };
  }

  #next(): string {
    return this.#tokens[this.position++]?.text ?? "";
  }

  #take(text: string): boolean {
    const isNext = this.#tokens[this.position]?.text === text;
    if (isNext) this.position++;
    return isNext;
  }
}

/** The entities that one part of a head names. */
function namedIn(words: readonly string[]): Named {
  const named: NamedEntity[] = [];
  for (const [index, word] of words.entries()) {
    if (!word.startsWith('"')) continue;
    const id = unquoted(word);
    const type = words[index - 2];
    const isPlain = words[index - 1] === "::" && type !== undefined && words[index - 3] !== "::";
    if (id === undefined || !isPlain) return undefined;
    named.push({ type, id });
  }
  return named.length === 0 ? undefined : named;
}

/** The content of a quoted word; `undefined` for a word without quotes, or with escapes. */
function unquoted(word: string): string | undefined {
  return word.startsWith('"') && !word.includes("\\") ? word.slice(1, -1) : undefined;
}
