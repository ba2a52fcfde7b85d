interface Corkable {
  cork(): void;
  uncork(): void;
}

const gathering = new WeakSet<Corkable>();

/** Has a stream send what is written to it until the end of this turn of the event loop in one piece. */
export function writeTogether(stream: Corkable): void {
  if (gathering.has(stream)) return;
  gathering.add(stream);
  stream.cork();
  process.nextTick(() => {
    gathering.delete(stream);
    stream.uncork();
  });
}
