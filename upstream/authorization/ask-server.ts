import { outgoingFetch } from "../../system/outgoing.ts";
import type { Challenge } from "./authorization.ts";
import { challengeOf } from "./authorized-fetch.ts";

const PATIENCE_MS = 20_000;
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "ptc", version: "0" } },
};

/**
 * Sends a server a first request without a token, and returns its challenge; `undefined` when it does not challenge, or cannot be
 * reached.
 */
export async function askForChallenge(
  {
    transport,
    url,
    headers,
  }: { transport: "http" | "sse"; url: string; headers: Readonly<Record<string, string>> },
  signal?: AbortSignal,
): Promise<Challenge | undefined> {
  const limit = AbortSignal.timeout(PATIENCE_MS);
  const isStream = transport === "sse";
  try {
    const response = await outgoingFetch(url, {
      method: isStream ? "GET" : "POST",
      headers: {
        ...headers,
        accept: isStream ? "text/event-stream" : "application/json, text/event-stream",
        ...(isStream ? {} : { "content-type": "application/json" }),
      },
      ...(isStream ? {} : { body: JSON.stringify(INITIALIZE) }),
      redirect: "manual",
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
    });
    const challenge = challengeOf(response);
    await response.body?.cancel().catch(() => {});
    return challenge;
  } catch {
    return undefined;
  }
}
