import { readBoundedBody } from "../../base/http/bounded-body.ts";
import { isObject } from "../../base/json/is-object.ts";
import { parseForeignJson } from "../../base/json/parse-json.ts";
import { oneLine } from "../../base/text/one-line.ts";
import { outgoingFetch } from "../../network/outgoing.ts";
import { MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import { UpstreamError } from "../upstream-error.ts";

/** The most bytes of a response, and of one that says why there is none. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_REASON_BYTES = 16 * 1024;
const MAX_REASON_CHARS = 300;

/** Too many requests, and faults that pass. */
const PASSING = new Set([408, 409, 425, 429]);

/**
 * Sends one question to the endpoint of a model and resolves with the body of its answer. A redirect is not followed: what was
 * asked goes to the configured address and nowhere else.
 *
 * @throws UpstreamError whose message holds nothing of the question.
 */
export async function askEndpoint(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const host = new URL(url).host;
  try {
    const response = await outgoingFetch(url, {
      method: "POST",
      redirect: "manual",
      headers: { ...headers, "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify(body),
      signal,
    });
    if (!response.ok) throw await faultOf(response, host);
    const answer = await readBoundedBody(response, MAX_BYTES);
    if (answer === undefined)
      throw new UpstreamError(
        "protocol_error",
        `the model at ${host} answered with more than ${MAX_BYTES} bytes`,
      );
    return parseAnswer(answer.toString("utf8"), host);
  } catch (error) {
    if (error instanceof UpstreamError) throw error;
    if (signal.aborted) throw signal.reason;
    throw new UpstreamError("disconnected", `the model at ${host} could not be asked: ${reasonOf(error)}`, {
      cause: error,
      retryable: true,
    });
  }
}

async function faultOf(response: Response, host: string): Promise<UpstreamError> {
  const { status } = response;
  if (status >= 300 && status < 400) {
    await response.body?.cancel();
    return new UpstreamError(
      "remote_error",
      `the model at ${host} sent ptc to another address (HTTP ${status}), which is not followed; write that address as extract.url`,
    );
  }
  const text = await readBoundedBody(response, MAX_REASON_BYTES).catch(() => undefined);
  const reason = oneLine(messageIn(text?.toString("utf8") ?? ""), MAX_REASON_CHARS);
  return new UpstreamError(
    "remote_error",
    `the model at ${host} refused (HTTP ${status})${reason === "" ? "" : `: ${reason}`}${waitOf(response)}`,
    { retryable: status >= 500 || PASSING.has(status) },
  );
}

/** How long the endpoint wants nobody to ask again (RFC 9110, "Retry-After"). A call is not repeated by itself. */
function waitOf(response: Response): string {
  const said = response.headers.get("retry-after") ?? "";
  const seconds = /^\d{1,6}$/.test(said) ? Number(said) : Math.ceil((Date.parse(said) - Date.now()) / 1_000);
  return seconds > 0 && seconds < 1_000_000 ? `; it can be asked again in ${seconds} s` : "";
}

/** What the body of a refusal says, in the form that the APIs share. */
function messageIn(text: string): string {
  try {
    const body = parseForeignJson(text, { maxBytes: MAX_REASON_BYTES, maxDepth: MAX_NESTING_DEPTH });
    const error = isObject(body) ? body.error : undefined;
    return isObject(error) && typeof error.message === "string" ? error.message : "";
  } catch {
    return "";
  }
}

function parseAnswer(text: string, host: string): unknown {
  try {
    return parseForeignJson(text, { maxBytes: MAX_BYTES, maxDepth: MAX_NESTING_DEPTH });
  } catch {
    throw new UpstreamError("protocol_error", `the model at ${host} answered with something that is no JSON`);
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const code = isObject(cause) && typeof cause.code === "string" ? cause.code : undefined;
  return code ?? oneLine(String(cause instanceof Error ? cause.message : cause), MAX_REASON_CHARS);
}
