import { doublingPause } from "../../base/backoff.ts";
import { ForeignJsonError, parseForeignJson } from "../../base/json.ts";
import { readBoundedBody } from "../../base/streams.ts";
import { outgoingFetch } from "../../system/outgoing.ts";

/** Room for the vectors of a batch of the largest models. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const MAX_ANSWER_DEPTH = 16;

/** A model behind an OpenAI-compatible API. */
export interface ModelEndpoint {
  /** The base of the API, such as `http://127.0.0.1:11434/v1`, or the whole address of its method. */
  readonly url: string;
  readonly model: string;
  /** Reads the key that is sent as a bearer token; `undefined` when none is sent. Rejects with a message of one line. */
  readonly key: ((signal: AbortSignal) => Promise<string>) | undefined;
}

/** An endpoint failed or gave an invalid answer. The message follows its name, and quotes nothing from the answer. */
export class EndpointError extends Error {
  override readonly name = "EndpointError";
  /** Whether the endpoint works but refuses the request, for example because a text is too long for its model. */
  readonly refusesRequest: boolean;

  constructor(message: string, refusesRequest = false) {
    super(message);
    this.refusesRequest = refusesRequest;
  }
}

/** The statuses (RFC 9110) with which endpoints refuse texts. */
const REFUSALS = [400, 413, 422];

/**
 * Posts JSON to a method of an endpoint, and returns its unchecked JSON answer. Redirects are not followed, so that neither key nor
 * text goes anywhere else. The size of the answer is bounded.
 *
 * @param method such as `embeddings`.
 * @throws EndpointError, also when the signal aborts.
 */
export async function askModel(
  { url, model, key }: ModelEndpoint,
  method: string,
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<unknown> {
  const secret = await readKey(key, signal);
  try {
    const response = await outgoingFetch(addressOf(url, method), {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        "user-agent": "ptc",
        ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
      },
      body: JSON.stringify({ model, ...body }),
      redirect: "manual",
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new EndpointError(`answers with status ${response.status}`, REFUSALS.includes(response.status));
    }
    const answer = await readBoundedBody(response, MAX_ANSWER_BYTES);
    if (answer === undefined) throw new EndpointError(`answers with more than ${MAX_ANSWER_BYTES} bytes`);
    return parseForeignJson(answer, {
      maxBytes: MAX_ANSWER_BYTES,
      maxDepth: MAX_ANSWER_DEPTH,
    });
  } catch (error) {
    throw toEndpointError(error, signal);
  }
}

async function readKey(key: ModelEndpoint["key"], signal: AbortSignal): Promise<string | undefined> {
  try {
    return await key?.(signal);
  } catch (error) {
    throw new EndpointError(
      `cannot be used: ${error instanceof Error ? error.message : "its key cannot be read"}`,
    );
  }
}

function addressOf(base: string, method: string): URL {
  const url = new URL(base);
  const path = url.pathname.replace(/\/+$/, "");
  if (!path.endsWith(`/${method}`)) url.pathname = `${path}/${method}`;
  return url;
}

function toEndpointError(error: unknown, signal: AbortSignal): EndpointError {
  if (error instanceof EndpointError) return error;
  if (signal.aborted) return new EndpointError("did not answer in time");
  if (error instanceof ForeignJsonError) return new EndpointError(`answers what ${error.message}`);
  const { code } = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
  return new EndpointError(`cannot be reached${code === undefined ? "" : ` (${code})`}`);
}

const PAUSE = { firstMs: 5_000, longestMs: 300_000 };

/**
 * Tracks whether to ask an endpoint. After each failure in a row the endpoint is left alone for a longer time, so that searches do
 * not wait for it. Only the first of a series of failures is reported.
 */
export class EndpointHealth {
  readonly #onFirstFailure: (reason: string) => void;
  readonly #now: () => number;
  #failures = 0;
  #until = 0;
  #reason: string | undefined;

  constructor(onFirstFailure: (reason: string) => void, now: () => number = () => performance.now()) {
    this.#onFirstFailure = onFirstFailure;
    this.#now = now;
  }

  /** Why the endpoint should not be asked now; `undefined` if it may be. */
  get problem(): string | undefined {
    return this.#now() < this.#until ? this.#reason : undefined;
  }

  /** Milliseconds until it may be asked. */
  get pauseMs(): number {
    return Math.max(0, this.#until - this.#now());
  }

  succeeded(): void {
    this.#failures = 0;
    this.#until = 0;
    this.#reason = undefined;
  }

  failed(reason: string): void {
    this.#until = this.#now() + doublingPause(PAUSE, this.#failures);
    this.#failures++;
    this.#reason = reason;
    if (this.#failures === 1) this.#onFirstFailure(reason);
  }
}
