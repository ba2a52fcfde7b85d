/** One unchecked JSON-RPC message. */
export type JsonRpcMessage = Record<string, unknown>;

export interface SendOptions {
  /** Called when the stream for the request's answer has ended. */
  onRequestStreamEnd?: (() => void) | undefined;
  /** Aborts when the answer is no longer wanted. */
  requestSignal?: AbortSignal | undefined;
}

/** Carries messages to and from one server: the part of the MCP client's transport interface that is used here. */
export interface MessageTransport {
  readonly hasPerRequestStream?: boolean | undefined;
  readonly sessionId?: string | undefined;
  start(): Promise<void>;
  send(message: JsonRpcMessage, options?: SendOptions): Promise<void>;
  close(): Promise<void>;
  setProtocolVersion?: ((version: string) => void) | undefined;
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onclose?: (() => void) | undefined;
}
