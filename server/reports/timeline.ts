/** The times of calls, drawn so that calls which overlap in time are in different lanes. */
export interface Timeline {
  /** The end of the time axis, which begins at 0. */
  endMs: number;
  /** The number of lanes: the most calls that ran at the same time. */
  lanes: number;
  /** One bar for each call, in the given order. */
  bars: readonly TimelineBar[];
}

/** Where the bar of one call is. */
export interface TimelineBar {
  lane: number;
  /** Start and width as fractions of the time axis, from 0 to 1. */
  start: number;
  length: number;
}

interface Timed {
  started_ms: number;
  duration_ms: number;
}

/** The most lanes. Further overlapping calls share the last one, because finding a free lane takes time for each call. */
const MAX_LANES = 500;

/** Assigns the bars of calls to lanes. @param runMs how long the program took; the axis is at least as long. */
export function layOutCalls(calls: readonly Timed[], runMs: number): Timeline {
  const endMs = calls.reduce(
    (end, call) => Math.max(end, call.started_ms + call.duration_ms),
    Math.max(runMs, 1),
  );
  const order = calls
    .map((call, index) => ({ ...call, index }))
    .sort((a, b) => a.started_ms - b.started_ms || a.index - b.index);
  const bars: TimelineBar[] = calls.map(() => ({ lane: 0, start: 0, length: 0 }));
  const freeAt: number[] = [];
  for (const { index, started_ms, duration_ms } of order) {
    const free = freeAt.findIndex((end) => end <= started_ms);
    const lane = free < 0 ? Math.min(freeAt.length, MAX_LANES - 1) : free;
    freeAt[lane] = started_ms + duration_ms;
    bars[index] = { lane, start: started_ms / endMs, length: duration_ms / endMs };
  }
  return { endMs, lanes: freeAt.length, bars };
}
