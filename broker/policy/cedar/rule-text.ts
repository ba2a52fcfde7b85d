/**
 * Cedar policies as text: where each begins, and what its head names. Cedar itself parses and validates them. What is read here
 * only chooses the rules that a decision looks at, so whatever is not understood counts as naming everything.
 */

/** An entity that a head names, as in `Tool::"mcp__x__y"`. */
interface NamedEntity {
  readonly type: string;
  readonly id: string;
}

/** The entities that one part of a head names; `undefined` where it names none, and so holds for all. */
export type Named = readonly NamedEntity[] | undefined;

interface RuleClause {
  readonly text: string;
  /** Whether it may look at the context of a request. */
  readonly usesContext: boolean;
}

/** One policy of a file. */
export interface RuleText {
  readonly text: string;
  /** Of its first character, from 1. */
  readonly line: number;
  /** Annotations and head, without the clauses and the semicolon. */
  readonly head: string;
  readonly clauses: readonly RuleClause[];
  /** `undefined` for what is no rule of Cedar's. */
  readonly effect: "permit" | "forbid" | undefined;
  /** By name; `""` for one without a value. */
  readonly annotations: ReadonlyMap<string, string>;
  readonly principal: Named;
  readonly action: Named;
  readonly resource: Named;
  /** Every word of its clauses, with those that are texts. */
  readonly words: ReadonlySet<string>;
}

interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const TOKEN = /\/\/[^\n]*|"(?:[^"\\]|\\[\s\S])*"|[A-Za-z_][A-Za-z_0-9]*|::|==|[^\s]/g;

/** Splits the text of a file into its policies. What follows the last semicolon is one too. */
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
  };
}

/** Splits what follows a head into its `when` and `unless` clauses. */
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

type RuleHead = Pick<RuleText, "effect" | "annotations" | "principal" | "action" | "resource">;

/** Reads annotations and head. */
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
    const parts: Named[] = [];
    let part: string[] = [];
    let depth = 0;
    while (this.position < this.#tokens.length) {
      const text = this.#next();
      if (text === "(") depth++;
      else if (text === ")" && --depth === 0) break;
      else if (text === "," && !part.includes("[")) {
        parts.push(namedIn(part));
        part = [];
      } else if (text === "]") part = [...part.filter((each) => each !== "["), "]"];
      else part.push(text);
    }
    if (part.length > 0) parts.push(namedIn(part));
    const [principal, action, resource] = parts;
    return { effect, annotations, principal, action, resource };
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

/** The entities of one part of a head, whose words they are. */
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

/** What stands in quotes; `undefined` for what does not, and for a text with escapes. */
function unquoted(word: string): string | undefined {
  return word.startsWith('"') && !word.includes("\\") ? word.slice(1, -1) : undefined;
}
