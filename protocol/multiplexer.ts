/**
 * Many streams over one connection between ptc and the launcher in the sandbox of a server (runner-image/server). Both ends use this
 * file. Neither end believes the other: every number is bounded before it is used, and a violation ends the connection.
 *
 *     frame    a letter, the number of a stream and a number (4 bytes each, big-endian), and for some letters that many bytes
 *     open     opens a stream; its bytes are a label that says what it is for
 *     data     bytes of a stream, no more than the other end has granted
 *     grant    the receiver has passed on so many bytes, so the sender may send as many more
 *     end      the sender sends no more bytes on this stream
 *     reset    the stream is over in both directions
 *
 * ptc opens streams with even numbers, the launcher those with odd ones. Each stream has its own window, so that one that nobody
 * reads holds up no other.
 */

import { Duplex } from "node:stream";

const FRAME = { open: "o", data: "d", grant: "w", end: "e", reset: "r" } as const;
const LETTERS: ReadonlySet<string> = new Set(Object.values(FRAME));
const HEADER_BYTES = 9;
/** Bytes of a stream that may be sent before the other end grants more. */
const WINDOW_BYTES = 256 * 1024;
const PIECE_BYTES = 64 * 1024;
const MAX_LABEL_BYTES = 4_096;
/** The most streams that the other end may have open at a time. A further one is reset. */
export const MAX_STREAMS = 256;
/** The most streams that the other end may open in a second. More end the connection. */
const MAX_OPENED_PER_SECOND = 1_000;

/** The other end does not keep to the protocol. */
class MultiplexerError extends Error {
  override readonly name = "MultiplexerError";
}

export interface MultiplexerOptions {
  /** Which end this is. */
  end: "ptc" | "launcher";
  /** Receives a stream that the other end has opened, with its unchecked label. A stream that it does not use, it destroys. */
  onStream(stream: Duplex, label: string): void;
  /** Called once when the connection has ended; with an error if the other end did not keep to the protocol. */
  onEnd(error?: Error): void;
}

/** One end of a connection with many streams. */
export class Multiplexer {
  readonly #connection: Duplex;
  readonly #options: MultiplexerOptions;
  readonly #streams = new Map<number, MultiplexedStream>();
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  #payloadBytes = 0;
  #label: Buffer[] = [];
  #next: number;
  #othersOpen = 0;
  #openedSince = 0;
  #opened = 0;
  #isEnded = false;

  constructor(connection: Duplex, options: MultiplexerOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#next = options.end === "ptc" ? 2 : 1;
    connection.on("data", (chunk: Buffer) => this.#read(chunk));
    connection.on("error", () => this.#end());
    connection.on("end", () => this.#end());
    connection.on("close", () => this.#end());
  }

  /** Opens a stream. @param label says what it is for, in at most 4,096 bytes. */
  open(label: string): Duplex {
    const number = this.#next;
    this.#next += 2;
    const stream = this.#add(number);
    const bytes = Buffer.from(label);
    this.send(FRAME.open, number, bytes.length, bytes);
    return stream;
  }

  /** Ends the connection and all streams. */
  close(): void {
    this.#end();
  }

  /** Sends a frame; `done` is called when it has been passed to the connection. */
  send(letter: string, stream: number, number: number, payload?: Uint8Array, done?: () => void): void {
    if (this.#isEnded || !this.#connection.writable) {
      done?.();
      return;
    }
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    header.write(letter, 0, "latin1");
    header.writeUInt32BE(stream, 1);
    header.writeUInt32BE(number, 5);
    if (payload === undefined || payload.length === 0) {
      this.#connection.write(header, done && (() => done()));
      return;
    }
    this.#connection.cork();
    this.#connection.write(header);
    this.#connection.write(payload, done && (() => done()));
    this.#connection.uncork();
  }

  /** A stream is over at this end. */
  forget(number: number): void {
    if (this.#streams.delete(number) && this.#isOthers(number)) this.#othersOpen--;
  }

  #isOthers(number: number): boolean {
    return (number % 2 === 1) === (this.#options.end === "ptc");
  }

  #add(number: number): MultiplexedStream {
    const stream = new MultiplexedStream(this, number);
    this.#streams.set(number, stream);
    return stream;
  }

  #end(error?: Error): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    for (const stream of this.#streams.values()) stream.cut();
    this.#streams.clear();
    this.#connection.destroy();
    this.#options.onEnd(error);
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    try {
      while (rest.length > 0 && !this.#isEnded)
        rest = rest.subarray(this.#payloadBytes > 0 ? this.#takePayload(rest) : this.#takeHeader(rest));
    } catch (error) {
      this.#end(error as Error);
    }
  }

  get #letter(): string {
    return String.fromCharCode(this.#header[0] as number);
  }

  get #number(): number {
    return this.#header.readUInt32BE(1);
  }

  #takeHeader(bytes: Buffer): number {
    const taken = bytes.copy(this.#header, this.#headerBytes);
    this.#headerBytes += taken;
    if (this.#headerBytes < HEADER_BYTES) return taken;
    this.#headerBytes = 0;
    const number = this.#header.readUInt32BE(5);
    const letter = this.#letter;
    if (!LETTERS.has(letter)) throw new MultiplexerError("sent what is no frame");
    if (letter === FRAME.open || letter === FRAME.data) {
      const most = letter === FRAME.open ? MAX_LABEL_BYTES : WINDOW_BYTES;
      if (number > most) throw new MultiplexerError("sent a frame that is too large");
      this.#payloadBytes = number;
      if (letter === FRAME.open && number === 0) this.#accept("");
      return taken;
    }
    const stream = this.#streams.get(this.#number);
    // A stream may have ended here while the frame was on its way.
    if (letter === FRAME.grant) stream?.grant(number);
    else if (letter === FRAME.end) stream?.receiveEnd();
    else stream?.cut();
    return taken;
  }

  #takePayload(bytes: Buffer): number {
    const payload = bytes.subarray(0, this.#payloadBytes);
    this.#payloadBytes -= payload.length;
    if (this.#letter === FRAME.data) this.#streams.get(this.#number)?.receive(payload);
    else {
      this.#label.push(Buffer.from(payload));
      if (this.#payloadBytes === 0) {
        const label = Buffer.concat(this.#label).toString("utf8");
        this.#label = [];
        this.#accept(label);
      }
    }
    return payload.length;
  }

  #accept(label: string): void {
    const number = this.#number;
    if (!this.#isOthers(number) || this.#streams.has(number))
      throw new MultiplexerError("opened a stream with a number that it may not use");
    const now = Math.floor(performance.now() / 1_000);
    if (now !== this.#openedSince) {
      this.#openedSince = now;
      this.#opened = 0;
    }
    if (++this.#opened > MAX_OPENED_PER_SECOND) throw new MultiplexerError("opened too many streams");
    if (this.#othersOpen >= MAX_STREAMS) {
      this.send(FRAME.reset, number, 0);
      return;
    }
    this.#othersOpen++;
    this.#options.onStream(this.#add(number), label);
  }
}

/** A stream of a {@link Multiplexer}. */
class MultiplexedStream extends Duplex {
  readonly #multiplexer: Multiplexer;
  readonly #number: number;
  /** Bytes that may be sent. */
  #granted = WINDOW_BYTES;
  /** Bytes that were received and for which nothing was granted yet. */
  #received = 0;
  #isReading = true;
  #waiting: { rest: Buffer; done: () => void } | undefined;
  #isCut = false;
  #hasEnded = false;

  constructor(multiplexer: Multiplexer, number: number) {
    super({ allowHalfOpen: true, emitClose: true });
    this.#multiplexer = multiplexer;
    this.#number = number;
    // An error before anything reads must not end the process. The reader notices the end by `close`.
    this.on("error", () => {});
  }

  override _read(): void {
    this.#isReading = true;
    this.#grantMore();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#waiting = { rest: chunk, done };
    this.#sendWaiting();
  }

  override _final(done: () => void): void {
    this.#multiplexer.send(FRAME.end, this.#number, 0);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#waiting = undefined;
    const isOver = this.#hasEnded && this.writableFinished;
    this.#multiplexer.forget(this.#number);
    if (!this.#isCut && !isOver) this.#multiplexer.send(FRAME.reset, this.#number, 0);
    done(error);
  }

  /** The other end has reset the stream, or the connection has ended. */
  cut(): void {
    this.#isCut = true;
    this.#multiplexer.forget(this.#number);
    this.destroy();
  }

  grant(number: number): void {
    this.#granted = Math.min(this.#granted + number, WINDOW_BYTES);
    this.#sendWaiting();
  }

  receive(payload: Buffer): void {
    this.#received += payload.length;
    if (this.#received > WINDOW_BYTES || this.#hasEnded)
      throw new MultiplexerError("sent more than it was granted");
    this.#isReading = this.push(Buffer.from(payload));
    this.#grantMore();
  }

  receiveEnd(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.push(null);
  }

  #grantMore(): void {
    if (!this.#isReading || this.#hasEnded || this.#received < WINDOW_BYTES / 4) return;
    this.#multiplexer.send(FRAME.grant, this.#number, this.#received);
    this.#received = 0;
  }

  #sendWaiting(): void {
    while (this.#waiting !== undefined && this.#granted > 0) {
      const { rest, done } = this.#waiting;
      const piece = rest.subarray(0, Math.min(this.#granted, PIECE_BYTES));
      this.#granted -= piece.length;
      const isLast = piece.length === rest.length;
      this.#waiting = isLast ? undefined : { rest: rest.subarray(piece.length), done };
      this.#multiplexer.send(FRAME.data, this.#number, piece.length, piece, isLast ? done : undefined);
    }
  }
}
