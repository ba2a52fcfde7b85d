/** How ptc and the guard of a sandbox (runner-image/guard.pl) speak to each other. */

/**
 * What ptc says on the guard's stdin. It answers `clear` on its stdout, with the same letter, when it is done. The first `clear`
 * comes before the first program: what the runner is then, it has to be after each program, or the guard ends the sandbox.
 */
export const GUARD_COMMANDS = {
  pause: "p",
  clear: "k",
  resume: "r",
  /** The life of the sandbox begins now: it was restored from a snapshot. */
  start: "s",
  /** Asks for the same letter as an answer, which shows that the guard is there. */
  beat: "b",
} as const;

/** The argument with which the guard relays the runner's channel over its own stdin and stdout. */
export const GUARD_ATTACHED = "--attached";

/** The argument with which the guard's stdin is the runner's channel, and its stdout is a socket that carries all other frames. */
export const GUARD_DIRECT = "--direct";

/**
 * The argument with which the guard itself keeps the runner from the network that it has, and from what the arguments after it
 * name.
 */
export const GUARD_ALONE = "--alone";

/** The arguments that may follow {@link GUARD_ALONE}. */
export const GUARD_WALLS = {
  /** A resource limit by its name in getrlimit(2). */
  limit: (name: string, limit: number) => `--limit=${name}:${limit}`,
  /** A folder in memory. */
  scratch: (path: string, megabytes: number) => `--scratch=${path}:${megabytes}`,
  /** A file or folder of which the runner sees nothing. */
  hide: (path: string) => `--hide=${path}`,
} as const;

/** Begins the argument that names the folder with the sockets for the runner's channel, stdout and stderr. */
export const GUARD_SOCKETS = "--sockets=";

/**
 * The argument after {@link GUARD_SOCKETS} or {@link GUARD_DIRECT} with which the runner has two sockets more, for the stdin and stdout of
 * the server that it starts.
 */
export const GUARD_STDIO = "--stdio";

/** The numbers under which a guard with {@link GUARD_DIRECT} and {@link GUARD_STDIO} has these sockets: that of stdin, that of stdout. */
export const GUARD_STDIO_FILES = [3, 4] as const;

/**
 * Frames between ptc and a guard that relays: a letter, a number (4 bytes, big-endian), and for `data`, `stdout` and
 * `stderr` as many bytes. Commands to the guard are frames too, with the number 0.
 */
export const GUARD_FRAMES = {
  /** Bytes of the channel. */
  data: "d",
  /** The receiver has passed on so many bytes of the channel: the sender may send as many more. */
  grant: "w",
  /** The runner has closed the channel. */
  end: "e",
  /** The command of the same letter is done. */
  cleared: "k",
  stdout: "1",
  stderr: "2",
  /** The guard ends the sandbox, and has sent all output. The number is the exit code. It is only sent with {@link GUARD_DIRECT}. */
  exited: "x",
} as const;

export const GUARD_HEADER_BYTES = 5;

/** The letters of frames with a payload. */
const WITH_PAYLOAD: ReadonlySet<string> = new Set([
  GUARD_FRAMES.data,
  GUARD_FRAMES.stdout,
  GUARD_FRAMES.stderr,
]);

/** A frame as bytes. */
export function guardFrame(letter: string, number: number, payload?: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(GUARD_HEADER_BYTES + (payload?.length ?? 0));
  frame.write(letter, 0, "latin1");
  frame.writeUInt32BE(number, 1);
  if (payload !== undefined) frame.set(payload, GUARD_HEADER_BYTES);
  return frame;
}

/** What a stream of frames has: frames without a payload, and the payloads of the others in pieces as they arrive. */
export interface GuardFrameHandlers {
  onMark(letter: string, number: number): void;
  onPayload(letter: string, piece: Buffer): void;
}

/** Reads frames from the chunks of a stream. */
export class GuardFrameReader {
  readonly #handlers: GuardFrameHandlers;
  readonly #header = Buffer.alloc(GUARD_HEADER_BYTES);
  #headerBytes = 0;
  #payloadBytes = 0;
  #isStopped = false;

  constructor(handlers: GuardFrameHandlers) {
    this.#handlers = handlers;
  }

  read(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0 && !this.#isStopped) {
      rest = rest.subarray(this.#payloadBytes > 0 ? this.#takePayload(rest) : this.#takeHeader(rest));
    }
  }

  /** Reads no more, not even the rest of the chunk. */
  stop(): void {
    this.#isStopped = true;
  }

  #takeHeader(bytes: Buffer): number {
    const taken = bytes.copy(this.#header, this.#headerBytes);
    this.#headerBytes += taken;
    if (this.#headerBytes === GUARD_HEADER_BYTES) {
      this.#headerBytes = 0;
      const number = this.#header.readUInt32BE(1);
      if (WITH_PAYLOAD.has(this.#letter)) this.#payloadBytes = number;
      else this.#handlers.onMark(this.#letter, number);
    }
    return taken;
  }

  #takePayload(bytes: Buffer): number {
    const payload = bytes.subarray(0, this.#payloadBytes);
    this.#payloadBytes -= payload.length;
    this.#handlers.onPayload(this.#letter, payload);
    return payload.length;
  }

  get #letter(): string {
    return String.fromCharCode(this.#header[0] as number);
  }
}

/** The most bytes of one frame that ptc sends. */
export const GUARD_PIECE_BYTES = 64 * 1024;

/** Bytes of the channel that either side may send before the other grants more. */
export const GUARD_WINDOW_BYTES = 1024 * 1024;

/** Exit codes with which the guard ends a sandbox. A program that exits with one of them gets the same message. */
export const GUARD_EXITS = {
  /** ptc was gone: the other end of the guard's stdin was closed. */
  unattended: 120,
  /** The sandbox lived for longer than any sandbox may. */
  overdue: 121,
  /** The program could not be paused, because it went on starting processes. */
  unheld: 122,
  /** A process of the program killed the runner. */
  selfKilled: 123,
  /** A program of a session left a thread of its runner running, which would have run on beside the next program. */
  leftThread: 124,
  /** A program of a session had put native code into its runner, which nobody can look into. */
  nativeCode: 125,
} as const;
