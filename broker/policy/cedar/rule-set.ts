import { RecentlyUsed } from "../../../base/recently-used.ts";
import type { RuleAction } from "./rule-schema.ts";
import { type Named, type RuleText, splitRules } from "./rule-text.ts";

/** A file of rules, as it was read. */
export interface RuleFile {
  /** As messages name it. */
  readonly file: string;
  readonly text: string;
}

/** One rule. */
export interface Rule extends RuleText {
  /** Unique among all rules. */
  readonly id: string;
  /** How people find it: its `@id` and its place, or its place alone. */
  readonly name: string;
  readonly file: string;
  /** Whether a person may lift what it forbids: it has the annotation `@ask`. */
  readonly isAsk: boolean;
  readonly needs: RuleNeeds;
}

/** What of a request a rule looks at. What no rule looks at is not told to Cedar. */
export type RuleNeeds = Readonly<
  Record<"principal" | "resource" | "arguments" | "numbers" | "lists" | "run" | "source" | "now", boolean>
>;

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

function needsOf({ head, words, principal, resource }: RuleText): RuleNeeds {
  const names = (named: Named, type: string) =>
    head.includes("\\") || (named?.some((entity) => entity.type !== type) ?? false);
  const context = words.has("context");
  const looksAt = (member: string) => context && words.has(member);
  const own = {
    arguments: looksAt("arguments"),
    numbers: looksAt("numbers"),
    lists: looksAt("lists"),
    run: looksAt("run"),
    source: looksAt("source"),
    now: looksAt("now"),
  };
  // A context whose members are named in no way that is known here is needed whole.
  const isWhole = context && !Object.values(own).includes(true);
  return {
    principal: words.has("principal") || names(principal, "User"),
    resource: words.has("resource") || names(resource, "Tool"),
    arguments: own.arguments || isWhole,
    numbers: own.numbers || isWhole,
    lists: own.lists || isWhole,
    run: own.run || isWhole,
    source: own.source || isWhole,
    now: own.now || isWhole,
  };
}

/** What the heads of rules are held against. */
export interface RuleSubject {
  readonly action: RuleAction;
  readonly principal: string;
  readonly groups: readonly string[];
  /** Namespaced name. */
  readonly tool: string;
  /** Configured name of its server. */
  readonly server: string;
}

/** The rules that can apply to a request, ready to be decided by. */
export interface ApplicableRules {
  readonly texts: ReadonlyMap<string, string>;
  /** The same for the same rules. */
  readonly key: string;
  readonly needs: RuleNeeds;
}

/** Rules by what their heads name, so that a decision looks at those alone that can apply. */
export class RuleIndex {
  readonly #byResource = new Map<string, Rule[]>();
  readonly #anywhere: Rule[] = [];
  readonly #applicable = new RecentlyUsed<string, ApplicableRules>({ maxEntries: 4_096 });
  readonly #name: string;
  readonly #textOf: (rule: Rule) => string;

  /**
   * @param name tells its sets from those of other indexes.
   * @param textOf what stands for a rule in the sets.
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

  /** The rules whose heads hold for a request, or may. */
  applicable(subject: RuleSubject): ApplicableRules {
    const key = JSON.stringify(Object.values(subject));
    const known = this.#applicable.get(key);
    if (known !== undefined) return known;
    const rules = this.#select(subject);
    const needs = (part: keyof RuleNeeds) => rules.some((rule) => rule.needs[part]);
    const applicable: ApplicableRules = {
      texts: new Map(rules.map((rule) => [rule.id, this.#textOf(rule)])),
      key: `${this.#name} ${rules.map(({ id }) => id).join()}`,
      needs: {
        principal: needs("principal"),
        resource: needs("resource"),
        arguments: needs("arguments"),
        numbers: needs("numbers"),
        lists: needs("lists"),
        run: needs("run"),
        source: needs("source"),
        now: needs("now"),
      },
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
 * What a rule says about a call of which nothing is known but who makes it and of which tool: without what depends on the context,
 * as a permission that may hold, and `undefined` for a prohibition that may not.
 */
export function withoutContext(rule: Rule): string | undefined {
  const known = rule.clauses.filter(({ usesContext }) => !usesContext);
  if (rule.effect !== "permit" && known.length < rule.clauses.length) return undefined;
  return `${[rule.head, ...known.map(({ text }) => text)].join(" ")};`;
}
