import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from "yaml";

/**
 * Reads YAML as untrusted text, with bounds on size, nesting, aliases and time. Messages never quote the file, because a quoted value
 * could be a secret.
 */

/** Above this size the parser takes seconds for some malformed texts. */
export const MAX_CONFIGURATION_BYTES = 256 * 1024;

const MAX_ALIASES = 100;

/** A problem in the text: its line, what is wrong, and what to do about it. */
export interface SourceProblem {
  line: number;
  message: string;
}

const SYNTAX: Readonly<Record<string, string>> = {
  BAD_DQ_ESCAPE: "has an escape sequence that YAML does not know; double the backslash, or use single quotes",
  BAD_INDENT: "is indented wrongly, or has a bracket that is not closed; compare it with the lines around it",
  BAD_SCALAR_START: "has a value that starts with a reserved character; put it in quotes",
  BLOCK_AS_IMPLICIT_KEY: "has a second `: ` on one line; put the value in quotes",
  MISSING_CHAR: "lacks a closing quote, bracket, colon or comma",
  MULTILINE_IMPLICIT_KEY: "has a line without a colon; write `key: value`, or put the text in quotes",
  MULTIPLE_DOCS: "has more than one document; remove the `---` line",
  RESOURCE_EXHAUSTION: "is nested too deeply",
  TAB_AS_INDENT: "is indented with a tab; use spaces",
  TAG_RESOLVE_FAILED: "has a tag that is not supported; put a value that starts with `!` in quotes",
  UNEXPECTED_TOKEN:
    "has something after the end of a value; put the value in quotes, or check the indentation",
};

/** A parsed text that knows the line of each value. */
export class YamlSource {
  readonly value: unknown;
  readonly #document: Document;
  readonly #lines: LineCounter;

  private constructor(document: Document, lines: LineCounter, value: unknown) {
    this.#document = document;
    this.#lines = lines;
    this.value = value;
  }

  static parse(text: string): YamlSource | SourceProblem {
    const lines = new LineCounter();
    // Both options keep the time linear: excerpts in messages and the check for unique keys are quadratic.
    const document: Document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      uniqueKeys: false,
      stringKeys: true,
    });
    const fault = document.errors[0] ?? document.warnings[0];
    if (fault !== undefined) {
      return {
        line: lineAt(lines, fault.pos[0]),
        message: `not valid YAML: this line ${SYNTAX[fault.code] ?? "cannot be read; check its quotes, colons and indentation"}`,
      };
    }
    const problem = findUnsafe(document, lines);
    if (problem !== undefined) return problem;
    try {
      return new YamlSource(document, lines, document.toJS({ maxAliasCount: MAX_ALIASES }));
    } catch {
      return { line: 1, message: "aliases multiply beyond any use; write the values out" };
    }
  }

  /** The line of the value at a path: of its key in a mapping, of its entry in a list, otherwise of the enclosing value. */
  lineOf(path: readonly PropertyKey[]): number {
    return lineAt(this.#lines, this.#find(path).offset);
  }

  /** The source text of the scalar at a path, for a number or boolean where text is expected. */
  writtenAt(path: readonly PropertyKey[]): string | undefined {
    const { node } = this.#find(path);
    return isScalar(node) ? node.source : undefined;
  }

  #find(path: readonly PropertyKey[]): { node: unknown; offset: number } {
    let node: unknown = this.#document.contents;
    let offset = offsetOf(node) ?? 0;
    for (const step of path) {
      const container = isAlias(node) ? node.resolve(this.#document) : node;
      let found: unknown;
      if (isMap(container)) {
        const pair = container.items.find(
          (item) => isScalar(item.key) && String(item.key.value) === String(step),
        );
        offset = offsetOf(pair?.key) ?? offset;
        found = pair?.value;
      } else if (isSeq(container) && typeof step === "number") {
        found = container.items[step];
        offset = offsetOf(found) ?? offset;
      }
      if (found === undefined) return { node: undefined, offset };
      node = found;
    }
    return { node: isAlias(node) ? node.resolve(this.#document) : node, offset };
  }
}

/** Renders a path as `servers[0].env.API_KEY`. */
export function renderPath(path: readonly PropertyKey[]): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      const name = String(step).slice(0, 64);
      return index === 0 ? name : `.${name}`;
    })
    .join("");
}

function findUnsafe(document: Document, lines: LineCounter): SourceProblem | undefined {
  let problem: SourceProblem | undefined;
  let aliases = 0;
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        const name = isScalar(key) ? key.value : key;
        if (seen.has(name)) {
          problem = {
            line: lineAt(lines, offsetOf(key) ?? 0),
            message: `the key '${String(name).slice(0, 64)}' stands twice; remove one`,
          };
          return visit.BREAK;
        }
        seen.add(name);
      }
      return undefined;
    },
    Alias(_, alias) {
      const line = lineAt(lines, offsetOf(alias) ?? 0);
      aliases++;
      if (aliases > MAX_ALIASES)
        problem = { line, message: `more than ${MAX_ALIASES} aliases; write the values out` };
      else if (alias.resolve(document) === undefined) {
        problem = { line, message: "an alias without an anchor; put a value that starts with `*` in quotes" };
      }
      return problem === undefined ? undefined : visit.BREAK;
    },
  });
  return problem;
}

function offsetOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}

function lineAt(lines: LineCounter, offset: number): number {
  return Math.max(1, lines.linePos(offset).line);
}
