export interface PauseBounds {
  firstMs: number;
  longestMs: number;
}

/** Milliseconds of a pause that doubles each time, up to a longest one. @param doublings 0 for the first pause. */
export function doublingPause({ firstMs, longestMs }: PauseBounds, doublings: number): number {
  return Math.min(longestMs, firstMs * 2 ** doublings);
}
