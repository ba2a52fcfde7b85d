import type { SandboxOutput } from "../sandbox.ts";

const HEADER_BYTES = 8;
const STDOUT = 1;
const STDERR = 2;

/**
 * Splits what an attached container writes into its stdout and stderr (Docker Engine API, `POST /containers/{id}/attach`,
 * "Stream format": a byte that names the stream, three zeros, the length as 4 bytes big-endian, the payload). Passes
 * payloads on as they come and holds at most one header, however small the pieces in which a container writes.
 */
export class AttachedOutput {
  readonly #output: SandboxOutput;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  #payloadBytes = 0;

  constructor(output: SandboxOutput) {
    this.#output = output;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      const taken = this.#payloadBytes > 0 ? this.#takePayload(rest) : this.#takeHeader(rest);
      rest = rest.subarray(taken);
    }
  }

  #takeHeader(bytes: Buffer): number {
    const taken = bytes.copy(this.#header, this.#headerBytes);
    this.#headerBytes += taken;
    if (this.#headerBytes === HEADER_BYTES) {
      this.#headerBytes = 0;
      this.#payloadBytes = this.#header.readUInt32BE(4);
    }
    return taken;
  }

  #takePayload(bytes: Buffer): number {
    const payload = bytes.subarray(0, this.#payloadBytes);
    this.#payloadBytes -= payload.length;
    if (this.#header[0] === STDOUT) this.#output.onStdout(payload);
    else if (this.#header[0] === STDERR) this.#output.onStderr(payload);
    return payload.length;
  }
}
