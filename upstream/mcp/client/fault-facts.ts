import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, SseError } from "@modelcontextprotocol/client";
import { AuthorizationError, LoginRequiredError } from "../../authorization/authorization.ts";
import { RequestError, type RequestFailure } from "../server-session.ts";
import { ToolListingError } from "../tool-listing.ts";
import type { FaultFacts } from "../upstream-faults.ts";

/** The facts of an error of the MCP client, independent of its classes. */
export function factsOf(error: unknown): FaultFacts {
  const facts: FaultFacts = { kind: "other", cause: error };
  const authorization = authorizationFaultOf(error);
  if (authorization instanceof LoginRequiredError) return { kind: "login", cause: authorization };
  if (authorization !== undefined) return { kind: "token", cause: authorization };
  if (error instanceof ToolListingError) return { ...facts, kind: "listing" };
  if (error instanceof RequestError) return { ...facts, ...factsOfRequest(error.failure) };
  if (error instanceof ProtocolError) return { ...facts, kind: "answer", rpcCode: error.code };
  if (error instanceof SdkHttpError) return { ...facts, kind: "http", status: error.status };
  if (error instanceof SseError && error.code !== undefined)
    return { ...facts, kind: "http", status: error.code };
  const networkReason = networkReasonOf(error);
  if (networkReason !== undefined) return { ...facts, kind: "network", networkReason };
  if (error instanceof SyntaxError || (error instanceof Error && error.name === "ZodError")) {
    return { ...facts, kind: "garbage" };
  }
  if (!(error instanceof SdkError)) return facts;
  switch (error.code) {
    case SdkErrorCode.RequestTimeout:
      return { ...facts, kind: "timeout" };
    case SdkErrorCode.ConnectionClosed:
    case SdkErrorCode.NotConnected:
      return { ...facts, kind: "closed" };
    case SdkErrorCode.EraNegotiationFailed:
      return { ...facts, kind: "negotiation" };
    default:
      return { ...facts, kind: "violation" };
  }
}

function factsOfRequest(failure: RequestFailure): Partial<FaultFacts> {
  switch (failure.kind) {
    case "rejected":
      return { kind: "answer", rpcCode: failure.code };
    case "unusable":
      return { kind: "answer", unusable: failure.fault };
    case "called_off":
      return { kind: "timeout" };
    case "closed":
      return { kind: "closed" };
  }
}

/** A fault of the login, from the error or its causes. */
function authorizationFaultOf(error: unknown): LoginRequiredError | AuthorizationError | undefined {
  for (
    let fault: unknown = error, depth = 0;
    fault instanceof Error && depth < 5;
    fault = fault.cause, depth++
  ) {
    if (fault instanceof LoginRequiredError || fault instanceof AuthorizationError) return fault;
  }
  return undefined;
}

/** Why the server could not be reached: a system error code such as ECONNREFUSED, from the error or its causes. */
function networkReasonOf(error: unknown): string | undefined {
  for (
    let fault: unknown = error, depth = 0;
    fault instanceof Error && depth < 5;
    fault = fault.cause, depth++
  ) {
    const code = (fault as NodeJS.ErrnoException).code;
    if (typeof code === "string" && /^(?:E[A-Z]{3,}|UND_ERR_\w+|CERT_\w+|\w+_CERT\w*)$/.test(code))
      return code;
    // `fetch` throws a TypeError, with the reason as its cause. The cause may have no code.
    if (fault instanceof TypeError && !(fault.cause instanceof Error && "code" in fault.cause)) {
      return fault.cause instanceof Error ? fault.cause.message : fault.message;
    }
    if (!(fault instanceof SseError) || fault.code !== undefined) continue;
    const named = /\bE[A-Z]{5,}\b/.exec(fault.message) ?? /fetch failed/.exec(fault.message);
    if (named !== null) return named[0];
  }
  return undefined;
}
