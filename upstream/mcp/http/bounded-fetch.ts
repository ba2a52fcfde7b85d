import { setTimeout as delay } from "node:timers/promises";
import { answeredIdOf, type OversizeLine } from "../../../base/streams.ts";
import { outgoingFetch } from "../../../system/outgoing.ts";
import { type Admission, pauseAfter, type RequestId } from "../message-gate.ts";
import { EventStream } from "./event-stream.ts";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface FetchBounds {
  /** The largest message: a whole body, or one event of an event stream. */
  maxMessageBytes: number;
  /** Decides what of a message's text is read. */
  admit(text: string): Admission;
  /**
   * Is called for a message that is too large, with the id of the request that it answers, if known. Runs in the
   * asynchronous context of the request.
   */
  onOversize(id: RequestId | undefined): void;
}

/**
 * A `fetch` whose responses contain only the admitted messages. Streams stay streams. A body is cut off at the size limit;
 * of a stream, only the event that exceeds it is dropped.
 */
export function buildBoundedFetch(bounds: FetchBounds): Fetch {
  return async (url, init) => {
    const response = await outgoingFetch(url, init);
    if (response.body === null || response.status < 200) return response;
    return new Response(response.body.pipeThrough(buildFilter(response, bounds)), {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  };
}

function buildFilter(response: Response, bounds: FetchBounds): TransformStream<Uint8Array, Uint8Array> {
  const type = /^[^;\s]*/.exec(response.headers.get("content-type") ?? "")?.[0].toLowerCase();
  if (!response.ok) return buildLimit(bounds);
  if (type === "text/event-stream") return buildEventFilter(bounds);
  return type === "application/json" ? buildBodyFilter(bounds) : buildLimit(bounds);
}

function buildLimit({ maxMessageBytes, onOversize }: FetchBounds) {
  let bytes = 0;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes <= maxMessageBytes) return controller.enqueue(chunk);
      onOversize(undefined);
      controller.error(tooLarge(maxMessageBytes));
    },
  });
}

function buildBodyFilter({ maxMessageBytes, admit, onOversize }: FetchBounds) {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes <= maxMessageBytes) {
        chunks.push(chunk);
        return;
      }
      onOversize(undefined);
      controller.error(tooLarge(maxMessageBytes));
    },
    flush(controller) {
      const { messages } = admit(Buffer.concat(chunks).toString("utf8"));
      if (messages.length > 0) {
        const body = messages.length === 1 ? messages[0] : messages;
        controller.enqueue(Buffer.from(JSON.stringify(body)));
      } else controller.error(new SyntaxError("its response holds no answer to what it was asked"));
    },
  });
}

function buildEventFilter({ maxMessageBytes, admit, onOversize }: FetchBounds) {
  let unasked = 0;
  const events = new EventStream(maxMessageBytes, {
    rewrite(data) {
      const admission = admit(data);
      unasked += admission.unasked;
      return admission.messages.map((message) => JSON.stringify(message));
    },
    onOversize: (line: OversizeLine) => onOversize(answeredIdOf(line)),
  });
  return new TransformStream<Uint8Array, Uint8Array>({
    async transform(chunk, controller) {
      const began = performance.now();
      unasked = 0;
      let out: string;
      try {
        out = events.push(chunk);
      } catch (error) {
        controller.error(error);
        return;
      }
      if (out !== "") controller.enqueue(Buffer.from(out));
      const pauseMs = pauseAfter(unasked, performance.now() - began);
      if (pauseMs > 0) await delay(pauseMs);
    },
  });
}

function tooLarge(maxBytes: number): Error {
  return new Error(`a message is larger than ${maxBytes} bytes`);
}
