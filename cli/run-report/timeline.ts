/** When calls ran, drawn so that calls which ran at the same time lie in different lanes. */
export interface Timeline {
  /** Where the time axis ends; it begins at 0. */
  endMs: number;
  /** As many as calls ran at the same time at most. */
  lanes: number;
  /** One for each call, in the order in which they were given. */
  bars: readonly TimelineBar[];
}

export interface TimelineBar {
  lane: number;
  /** Parts of the whole axis, from 0 to 1. */
  start: number;
  length: number;
}

interface Timed {
  started_ms: number;
  duration_ms: number;
}

/** @param runMs how long the program took; the axis is at least as long. */
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
    const lane = free < 0 ? freeAt.length : free;
    freeAt[lane] = started_ms + duration_ms;
    bars[index] = { lane, start: started_ms / endMs, length: duration_ms / endMs };
  }
  return { endMs, lanes: freeAt.length, bars };
}
