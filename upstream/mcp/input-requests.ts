import { isObject } from "../../base/json.ts";

/** The maximum number of requests in one round, and the maximum number of rounds in one call. */
const MAX_REQUESTS = 16;
export const MAX_ROUNDS = 10;

/** What a server wants before it continues a call (MCP 2026-07-28, "InputRequiredResult"). */
export interface WantedInput {
  requests: readonly { key: string; method: string; params: unknown }[];
  /** Sent back unchanged. */
  requestState: string | undefined;
}

/** Reads an `input_required` result; `undefined` if it violates the protocol or asks for too much at once. */
export function parseWantedInput(result: Record<string, unknown>): WantedInput | undefined {
  const { inputRequests = {}, requestState } = result;
  if (!isObject(inputRequests)) return undefined;
  if (requestState !== undefined && typeof requestState !== "string") return undefined;
  const entries = Object.entries(inputRequests);
  if (entries.length > MAX_REQUESTS || (entries.length === 0 && requestState === undefined)) return undefined;
  const requests: WantedInput["requests"][number][] = [];
  for (const [key, request] of entries) {
    if (!isObject(request) || typeof request.method !== "string") return undefined;
    requests.push({ key, method: request.method, params: request.params });
  }
  return { requests, requestState };
}

/** The URLs that a person has to visit before a call (MCP 2025-11-25, "URL Elicitation Required Error"). */
export function parseNeededVisits(data: unknown): { elicitationId: string; params: unknown }[] | undefined {
  const elicitations = isObject(data) ? data.elicitations : undefined;
  if (!Array.isArray(elicitations) || elicitations.length === 0 || elicitations.length > MAX_REQUESTS)
    return undefined;
  const visits = elicitations.flatMap((params: unknown) =>
    isObject(params) && params.mode === "url" && typeof params.elicitationId === "string"
      ? [{ elicitationId: params.elicitationId, params }]
      : [],
  );
  return visits.length === elicitations.length ? visits : undefined;
}
