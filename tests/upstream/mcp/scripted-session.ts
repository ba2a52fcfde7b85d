import { CallSender } from "../../../upstream/mcp/call-sender.ts";
import { type JsonRpcMessage, MessageGate } from "../../../upstream/mcp/message-gate.ts";
import {
  type MessageTransport,
  type SendOptions,
  ServerSession,
} from "../../../upstream/mcp/server-session.ts";
import { factsOf, UpstreamFaults } from "../../../upstream/mcp/upstream-faults.ts";
import { fixture } from "../upstream-fixtures.ts";

/** A session over a transport that keeps what it is given to send. `answer` is what the server sends back. */
export function openSession(transport: Partial<MessageTransport> = {}) {
  const sent: { message: JsonRpcMessage; options: SendOptions | undefined }[] = [];
  const seen: JsonRpcMessage[] = [];
  const inner: MessageTransport = {
    start: async () => {},
    send: async (message, options) => void sent.push({ message, options }),
    close: async () => inner.onclose?.(),
    ...transport,
  };
  const gate = new MessageGate();
  const session = new ServerSession(inner, gate);
  session.onmessage = (message) => void seen.push(message);
  const say = (text: string) => {
    for (const message of gate.admit(text).messages) inner.onmessage?.(message);
  };
  const answer = (members: object) => say(JSON.stringify({ jsonrpc: "2.0", ...members }));
  return { session, sent, seen, say, answer, idOf: (index: number) => sent[index]?.message.id };
}

/** Such a session with what sends calls in it. */
export function openCalls() {
  const opened = openSession();
  const faults = new UpstreamFaults(fixture(""), () => []);
  const calls = new CallSender(
    opened.session,
    faults,
    { roots: [], samples: false },
    (error, timeoutMs, signal, spentMs) =>
      faults.ofRequest(factsOf(error), timeoutMs, signal, undefined, spentMs),
  );
  return { ...opened, calls };
}
