import type { IncomingMessage } from "node:http";

const forwarded = new WeakMap<IncomingMessage, string>();

/** Notes from where a request comes that a trusted proxy has passed on. */
export function noteClientAddress(request: IncomingMessage, address: string): void {
  forwarded.set(request, address);
}

/** From where a request comes: as a trusted proxy says, or the other end of its connection. */
export function clientAddressOf(request: IncomingMessage): string {
  return forwarded.get(request) ?? request.socket.remoteAddress ?? "";
}
