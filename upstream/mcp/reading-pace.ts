/** From this many unrequested messages in one chunk on, a server counts as flooding. */
const MANY = 100;

/**
 * How long to stop reading from a server after a chunk with unrequested messages, in milliseconds: as long as the chunk took
 * to process, so that a flood leaves half of the thread's time to others. 0 when there were few.
 */
export function pauseAfter(unasked: number, busyMs: number): number {
  return unasked < MANY ? 0 : Math.ceil(busyMs);
}
