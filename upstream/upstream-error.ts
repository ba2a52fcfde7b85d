export type UpstreamErrorCode =
  | "start_failed"
  | "handshake_failed"
  /** A person has to log in. */
  | "login_required"
  | "connect_timeout"
  /** It failed recently, so it was not tried. */
  | "backing_off"
  /** The maximum number of concurrent uses is reached. */
  | "busy"
  /** It is turned off in the configuration, so it is not tried. */
  | "off"
  | "call_timeout"
  | "disconnected"
  /** The server no longer knows the session, and did not begin what it was sent. */
  | "session_ended"
  | "protocol_error"
  | "remote_error"
  /** During a call it asked for something that nobody can answer, or that ptc does not offer. */
  | "input_refused"
  | "cancelled";

/** Errors that may be temporary. A call that failed with one may have had its effect. */
const RETRYABLE: ReadonlySet<UpstreamErrorCode> = new Set([
  "connect_timeout",
  "busy",
  "call_timeout",
  "disconnected",
  "session_ended",
]);

/** A server could not be reached, or violated MCP. The message is one line, without values of env or headers. */
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
