const MAX_PAGES = 1_000;
const MAX_TOOLS = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** Thrown for a listing that violates the protocol or a limit. */
export class ToolListingError extends Error {
  override readonly name = "ToolListingError";
}

/**
 * Follows `nextCursor` to the last page (MCP 2025-11-25, "Pagination") and returns the tools as they came, never only a
 * part.
 *
 * @throws ToolListingError for an invalid page, a repeated cursor, and beyond the limits.
 */
export async function listAllPages(
  requestPage: (cursor: string | undefined) => Promise<unknown>,
  limits = { pages: MAX_PAGES, tools: MAX_TOOLS, bytes: MAX_BYTES },
): Promise<unknown[]> {
  const tools: unknown[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    if (pages > limits.pages)
      throw new ToolListingError(`lists its tools on more than ${limits.pages} pages`);
    const page = await requestPage(cursor);
    if (!isPage(page))
      throw new ToolListingError("answered tools/list with something that is no list of tools");
    for (const tool of page.tools) {
      tools.push(tool);
      bytes += JSON.stringify(tool)?.length ?? 0;
    }
    if (tools.length > limits.tools) throw new ToolListingError(`lists more than ${limits.tools} tools`);
    if (bytes > limits.bytes) throw new ToolListingError(`lists tools of more than ${limits.bytes} bytes`);
    const next = page.nextCursor;
    // Some servers send an empty cursor on the last page, so it counts as none.
    if (next === undefined || next === null || next === "") return tools;
    if (typeof next !== "string") throw new ToolListingError("sent a cursor in tools/list that is no text");
    if (seen.has(next))
      throw new ToolListingError("sent the same cursor twice in tools/list, which would never end");
    seen.add(next);
    cursor = next;
  }
}

function isPage(page: unknown): page is { tools: unknown[]; nextCursor?: unknown } {
  return typeof page === "object" && page !== null && "tools" in page && Array.isArray(page.tools);
}
