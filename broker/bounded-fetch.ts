type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * `fetch` whose responses break off when one message in them grows beyond a limit: the whole body, or in an event stream
 * one event, which a blank line ends. `onOversize` is called in the asynchronous context of the request.
 */
export function buildBoundedFetch(maxMessageBytes: number, onOversize: () => void): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null || response.status < 200) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const body = response.body.pipeThrough(buildLimit(maxMessageBytes, isStream, onOversize));
    return new Response(body, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  };
}

function buildLimit(maxBytes: number, isStream: boolean, onOversize: () => void) {
  let bytes = 0;
  let lineIsEmpty = true;
  let last = 0;
  const count = (chunk: Uint8Array): boolean => {
    if (!isStream) {
      bytes += chunk.length;
      return bytes <= maxBytes;
    }
    for (const byte of chunk) {
      bytes++;
      if (bytes > maxBytes) return false;
      const endsLine = byte === LINE_FEED || byte === CARRIAGE_RETURN;
      const sameBreak = byte === LINE_FEED && last === CARRIAGE_RETURN;
      if (endsLine && !sameBreak && lineIsEmpty) bytes = 0;
      if (!sameBreak) lineIsEmpty = endsLine;
      last = byte;
    }
    return true;
  };
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (count(chunk)) {
        controller.enqueue(chunk);
        return;
      }
      onOversize();
      controller.error(new Error(`a message is larger than ${maxBytes} bytes`));
    },
  });
}
