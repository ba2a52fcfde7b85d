import { SdkHttpError } from "@modelcontextprotocol/client";
import { isObject } from "../../base/json.ts";

/** The server no longer knows the session of a request, and has therefore done nothing with the request. */
export class SessionEndedError extends Error {
  override readonly name = "SessionEndedError";

  constructor(cause: unknown) {
    super("the session has ended", { cause });
  }
}

/** JSON-RPC 2.0, section 5.1 */
const INVALID_REQUEST = -32600;

const SAYS_UNKNOWN =
  /session[\s\S]*(?:not (?:been )?(?:found|exist|initiali[sz]ed|valid|known)|does not exist|invalid|unknown|expired|terminated|closed)|(?:no valid|no such|invalid|unknown|unrecogni[sz]ed|expired)[\s\S]{0,40}session|server not initiali[sz]ed/i;

/**
 * Whether a server answered a request that named a session with "I do not know that session": HTTP 404 (MCP 2025-11-25, "Session
 * Management"), or what servers of the TypeScript, Python, Rust and Go SDKs answer instead, HTTP 400 or 401 with a text about the session.
 *
 * @param id the JSON-RPC id of the request.
 */
export function isUnknownSession(error: unknown, id: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  if (error.status === 404) return true;
  if (error.status !== 400 && error.status !== 401) return false;
  const { text } = error.data as { text?: unknown };
  if (typeof text !== "string") return false;
  const rejection = rejectionIn(text);
  // A JSON-RPC error with the id of the request may come from a tool that has begun, unless its code says that there is no request.
  if (rejection?.id !== undefined && rejection.id === id && rejection.code !== INVALID_REQUEST) return false;
  return SAYS_UNKNOWN.test(rejection?.message ?? text.slice(0, 1_000));
}

/** The JSON-RPC error in the body of a response with an HTTP error; `undefined` if it is something else. */
function rejectionIn(text: string): { id: unknown; code: unknown; message: string } | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(body) || !isObject(body.error) || typeof body.error.message !== "string") return undefined;
  return { id: body.id, code: body.error.code, message: body.error.message.slice(0, 1_000) };
}
