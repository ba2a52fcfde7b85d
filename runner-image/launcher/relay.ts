import type { Duplex } from "node:stream";
import { GUARD_FRAMES, GUARD_WINDOW_BYTES, GuardFrameReader, guardFrame } from "../../protocol/guard.ts";

/** The streams that a launcher relays between. */
export interface Relayed {
  /** Leads to ptc. */
  stream: Duplex;
  /** Leads to the runner. */
  channel: Duplex;
  /** Leads to the guard. */
  control: Duplex;
}

export interface Relay {
  /** Resolves with the exit code when the guard says it. Never, where the guard is killed. */
  exitCode: Promise<number>;
  /** Resolves when the runner has closed its channel, all of which is written. */
  drained: Promise<void>;
}

/**
 * Relays between ptc and a sandbox: the runner's channel in frames, of which neither side sends more than the other has granted, and
 * the frames of the guard as they are. It reads no more while ptc reads nothing.
 */
export function relay({ stream, channel, control }: Relayed): Relay {
  const exited = Promise.withResolvers<number>();
  let granted = GUARD_WINDOW_BYTES;
  let delivered = 0;
  const write = (frame: Buffer) => {
    if (stream.write(frame)) return;
    for (const source of [channel, control]) source.pause();
  };
  const read = () => {
    control.resume();
    if (granted > 0) channel.resume();
  };
  stream.on("drain", read);

  const fromPtc = new GuardFrameReader({
    onMark(letter, number) {
      if (letter === GUARD_FRAMES.grant) {
        granted += number;
        if (!stream.writableNeedDrain) read();
      } else control.write(guardFrame(letter, number));
    },
    onPayload(_, piece) {
      channel.write(piece, () => {
        delivered += piece.length;
        if (delivered < GUARD_WINDOW_BYTES / 4) return;
        write(guardFrame(GUARD_FRAMES.grant, delivered));
        delivered = 0;
      });
    },
  });
  stream.on("data", (chunk: Buffer) => fromPtc.read(chunk));

  channel.on("data", (chunk: Buffer) => {
    const piece = chunk.subarray(0, granted);
    granted -= piece.length;
    if (granted === 0) channel.pause();
    // Paused, because a flowing stream would give it back at once.
    if (piece.length < chunk.length) channel.unshift(chunk.subarray(piece.length));
    if (piece.length > 0) write(guardFrame(GUARD_FRAMES.data, piece.length, piece));
  });
  const fromGuard = new GuardFrameReader({
    onMark(letter, number) {
      if (letter === GUARD_FRAMES.exited) exited.resolve(number);
      else write(guardFrame(letter, number));
    },
    onPayload: (letter, piece) => write(guardFrame(letter, piece.length, piece)),
  });
  control.on("data", (chunk: Buffer) => fromGuard.read(chunk));

  const drained = new Promise<void>((resolve) => {
    channel.once("close", () => {
      write(guardFrame(GUARD_FRAMES.end, 0));
      resolve();
    });
  });
  return { exitCode: exited.promise, drained };
}
