import type { Writable } from "node:stream";

const gathering = new WeakSet<Writable>();

/** Has a stream send what is written to it until the end of this turn of the event loop in one piece. */
export function writeTogether(stream: Writable): void {
  if (gathering.has(stream)) return;
  gathering.add(stream);
  stream.cork();
  process.nextTick(() => {
    gathering.delete(stream);
    stream.uncork();
  });
}
