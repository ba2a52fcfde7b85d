import { isObject } from "../../base/json.ts";

const MAX_PAGES = 1_000;
const MAX_ITEMS = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** What is listed, and how messages call it. */
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
 * Follows `nextCursor` to the last page (MCP 2025-11-25, "Pagination") and returns the items as they came, never only a
 * part.
 *
 * @throws ToolListingError for an invalid page, a repeated cursor, and beyond the limits.
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
      bytes += JSON.stringify(item)?.length ?? 0;
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
