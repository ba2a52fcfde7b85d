interface Outcome {
  ok: boolean;
  data?: unknown;
  error?: unknown;
  raw?: { _meta?: Record<string, unknown> };
}

/** Where a result of a tool has the arguments of the call that gives the next page. */
const NEXT_PAGE = "ptc/next";

/**
 * Gives the result of a tool's call, and those of the calls that follow from it, as long as each names the next one. Makes each call when
 * its page is asked for. Throws the error of a call that fails.
 */
export async function* pages(fn: { result(args?: unknown): Promise<unknown> }, args?: unknown) {
  if (typeof fn?.result !== "function")
    throw new TypeError(
      "pages: the first argument must be a tool's function; pass getX, args, not getX(args)",
    );
  let next = args;
  do {
    const { ok, data, error, raw } = (await fn.result(next)) as Outcome;
    if (!ok) throw error;
    yield data;
    next = raw?._meta?.[NEXT_PAGE];
  } while (next !== undefined);
}
