import {
  IssuerMismatchError,
  OAuthError,
  OAuthErrorCode,
  RegistrationRejectedError,
} from "@modelcontextprotocol/client";
import { messageOf } from "../../../../base/faults.ts";
import { oneLine } from "../../../../base/visible-text.ts";
import { AuthorizationError } from "../../../authorization/authorization.ts";

const MAX_SHOWN_CHARS = 300;

/**
 * The error for what failed between ptc and an authorization server.
 *
 * @param what the beginning of the message, which goes on after the name of the server.
 */
export function explainFault(error: unknown, what: string): AuthorizationError {
  if (error instanceof AuthorizationError) return error;
  return new AuthorizationError(`${what}: ${oneLine(reasonOf(error), MAX_SHOWN_CHARS)}`);
}

/** Whether the authorization server says that what it is shown is valid no more (RFC 6749, section 5.2). */
export function isEndedGrant(error: unknown): boolean {
  return error instanceof OAuthError && error.code === OAuthErrorCode.InvalidGrant;
}

/** Whether the authorization server does not know the client, or not any more. */
export function isUnknownClient(error: unknown): boolean {
  return (
    error instanceof OAuthError &&
    (error.code === OAuthErrorCode.InvalidClient || error.code === OAuthErrorCode.UnauthorizedClient)
  );
}

function reasonOf(error: unknown): string {
  if (error instanceof IssuerMismatchError && error.kind === "authorization_response")
    return "the answer came from another authorization server than the one that was asked";
  if (error instanceof RegistrationRejectedError) return `HTTP ${error.status}: ${error.body}`;
  if (error instanceof OAuthError) {
    // What the client package could not read as an error of OAuth, it quotes whole.
    if (error.code === OAuthErrorCode.ServerError)
      return error.message.replace(/Invalid OAuth error response:.*Raw body: /s, "");
    return error.message === error.code ? error.code : `${error.code}: ${error.message}`;
  }
  if (error instanceof Error && error.name === "ZodError")
    return "it does not have the form of such an answer";
  if (error instanceof SyntaxError) return "it is not JSON";
  return messageOf(error);
}
