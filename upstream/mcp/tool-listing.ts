import { messageOf } from "../../base/faults.ts";
import {
  countValues,
  ForeignJsonError,
  isObject,
  type JsonLimits,
  MAX_JSON_VALUES,
  parseForeignJson,
  writeJson,
} from "../../base/json.ts";
import { itemsIn, type Member, membersIn, parseText, type Span } from "../../base/json-spans.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import type { ToolProblem } from "../upstream.ts";

const MAX_PAGES = 1_000;
const MAX_ITEMS = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** A list, and its name in messages. */
export interface Listed {
  method: string;
  /** The member of a page that has its items. */
  member: string;
  noun: string;
}

const TOOLS: Listed = { method: "tools/list", member: "tools", noun: "tools" };

/** Thrown for a listing that violates the protocol or a limit. */
export class ToolListingError extends Error {
  override readonly name = "ToolListingError";
}

/**
 * Follows `nextCursor` to the last page (MCP 2025-11-25, "Pagination") and returns all items unchanged, never only some.
 *
 * @throws ToolListingError for an invalid page, a repeated cursor, or an exceeded limit.
 */
export async function listAllPages(
  requestPage: (cursor: string | undefined) => Promise<unknown>,
  { method, member, noun }: Listed = TOOLS,
  limits = { pages: MAX_PAGES, items: MAX_ITEMS, bytes: MAX_BYTES },
): Promise<unknown[]> {
  const items: unknown[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    if (pages > limits.pages)
      throw new ToolListingError(`lists its ${noun} on more than ${limits.pages} pages`);
    const page = await requestPage(cursor);
    const listed = isObject(page) ? page[member] : undefined;
    if (!isObject(page) || !Array.isArray(listed))
      throw new ToolListingError(`answered ${method} with something that is no list of ${noun}`);
    for (const item of listed as unknown[]) {
      items.push(item);
      bytes += writeJson(item)?.length ?? 0;
    }
    if (items.length > limits.items) throw new ToolListingError(`lists more than ${limits.items} ${noun}`);
    if (bytes > limits.bytes) throw new ToolListingError(`lists ${noun} of more than ${limits.bytes} bytes`);
    const next = page.nextCursor;
    // Some servers send an empty cursor on the last page, so it counts as none.
    if (next === undefined || next === null || next === "") return items;
    if (typeof next !== "string") throw new ToolListingError(`sent a cursor in ${method} that is no text`);
    if (seen.has(next))
      throw new ToolListingError(`sent the same cursor twice in ${method}, which would never end`);
    seen.add(next);
    cursor = next;
  }
}

/**
 * Reads a page of `tools/list` so that an unreadable definition affects no other. The tool is still listed; its unreadable
 * parts are replaced by neutral ones.
 */

/** Deeper values would overflow the stack of later recursive code. */
const MAX_LISTING_DEPTH = 1_000;

const MAX_TOOLS = 10_000;
const MAX_FIELDS = 100;
const MAX_NAME_CHARS = 4_096;
/** The maximum number of problems of one page, because finding one costs ptc much more than causing it costs the server. */
const MAX_PROBLEMS = 1_000;

const PROBLEMS = Symbol("problems of a listing");

/** The problems of a page that `parseListingPage` returned. */
export function problemsOf(page: unknown): readonly ToolProblem[] {
  if (typeof page !== "object" || page === null || !(PROBLEMS in page)) return [];
  return page[PROBLEMS] as ToolProblem[];
}

/**
 * Parses the result of one `tools/list`.
 *
 * @throws ForeignJsonError if the problem is not limited to single tools.
 */
export function parseListingPage(json: string): unknown {
  const limits = { maxBytes: json.length, maxDepth: MAX_LISTING_DEPTH };
  try {
    return parseForeignJson(json, limits);
  } catch (error) {
    if (!(error instanceof ForeignJsonError)) throw error;
    const page = parseByTool(json, limits);
    if (page === undefined) throw error;
    return page;
  }
}

function parseByTool(json: string, limits: JsonLimits): object | undefined {
  const members = membersIn(json, MAX_FIELDS);
  const tools = only(members, "tools");
  if (members === undefined || tools === undefined) return undefined;
  const list = slice(json, tools);
  const items = itemsIn(list, MAX_TOOLS);
  if (items === undefined) return undefined;
  const cursor = only(members, "nextCursor");
  const hasCursor = members.some(({ name }) => name === "nextCursor");
  if (hasCursor && cursor === undefined) return undefined;
  const problems: ToolProblem[] = [];
  const reader = new BoundedReader(limits);
  const read: unknown[] = [];
  for (const item of items) {
    if (problems.length > MAX_PROBLEMS) return undefined;
    read.push(...reader.readTool(slice(list, item), problems));
  }
  return {
    tools: read,
    ...(cursor === undefined ? {} : { nextCursor: parseForeignJson(slice(json, cursor), limits) }),
    [PROBLEMS]: problems,
  };
}

/** Parses the parts of one page, with the bound on values of a whole page for all parts together. */
class BoundedReader {
  readonly #limits: JsonLimits;
  #valuesLeft = MAX_JSON_VALUES;

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  /** The tool, or its readable part, in a list; an empty list for a tool without a readable name. */
  readTool(json: string, problems: ToolProblem[]): unknown[] {
    try {
      return [this.#parse(json)];
    } catch (error) {
      const fields = membersIn(json, MAX_FIELDS);
      const name = only(fields, "name");
      const tool = name === undefined ? undefined : parseText(json, name, MAX_NAME_CHARS);
      if (fields === undefined || tool === undefined) {
        problems.push({ message: `a tool without a readable name is left out: it ${messageOf(error)}` });
        return [];
      }
      return [this.#readFields(tool, json, fields, problems)];
    }
  }

  #readFields(tool: string, json: string, fields: readonly Member[], problems: ToolProblem[]): object {
    const definition: [string, unknown][] = [["name", tool]];
    for (const field of new Set(fields.map(({ name }) => name))) {
      if (field === "name") continue;
      const one = only(fields, field);
      try {
        if (one === undefined) throw new ForeignJsonError("duplicate_key", "is there twice");
        definition.push([field, this.#parse(slice(json, one))]);
      } catch (error) {
        const text = fields
          .filter(({ name }) => name === field)
          .map((each) => slice(json, each))
          .join(",");
        definition.push(...replacementOf(field, text, messageOf(error)));
        problems.push({ tool, message: `its ${field} ${messageOf(error)}, and is left out` });
      }
    }
    return Object.fromEntries(definition);
  }

  #parse(json: string): unknown {
    const value = parseForeignJson(json, { ...this.#limits, maxValues: Math.max(this.#valuesLeft, 0) });
    this.#valuesLeft -= countValues(value);
    return value;
  }
}

/** A neutral replacement for a field. Its digest changes whenever the server's text changes. */
function replacementOf(field: string, json: string, why: string): [string, unknown][] {
  switch (field) {
    case "inputSchema":
    case "outputSchema":
      return [[field, { $comment: `left out by ptc: ${why}, ${digestOf(json)}` }]];
    case "annotations":
      // Unreadable hints count as the most restrictive ones.
      return [[field, { destructiveHint: true }]];
    default:
      return [];
  }
}

function only(members: readonly Member[] | undefined, name: string): Member | undefined {
  const found = members?.filter((member) => member.name === name);
  return found?.length === 1 ? found[0] : undefined;
}

function slice(text: string, { start, end }: Span): string {
  return text.slice(start, end);
}
