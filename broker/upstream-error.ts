export type UpstreamErrorCode =
  | "start_failed"
  | "handshake_failed"
  | "connect_timeout"
  /** It failed a short while ago, so it was not tried. */
  | "backing_off"
  | "call_timeout"
  | "disconnected"
  | "protocol_error"
  | "remote_error"
  | "cancelled";

/** The faults that may pass by themselves. A call that failed so may have had its effect all the same. */
const RETRYABLE: ReadonlySet<UpstreamErrorCode> = new Set([
  "connect_timeout",
  "call_timeout",
  "disconnected",
]);

/** A server could not be reached, or did not answer as an MCP server must. One line, without values of env or headers. */
export class UpstreamError extends Error {
  override readonly name = "UpstreamError";
  readonly code: UpstreamErrorCode;
  readonly retryable: boolean;

  constructor(
    code: UpstreamErrorCode,
    message: string,
    options: { cause?: unknown; retryable?: boolean } = {},
  ) {
    super(
      message.replace(/\s*[\r\n]+\s*/g, " "),
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.code = code;
    this.retryable = options.retryable ?? RETRYABLE.has(code);
  }
}
