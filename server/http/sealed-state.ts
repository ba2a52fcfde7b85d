import type { StateSealer } from "../mcp/mcp-server.ts";

/** Encrypts and authenticates bytes, for one purpose. Opening rejects what was not sealed for it, or with another key. */
export interface BytesSealer {
  seal(bytes: Uint8Array, purpose: string): Uint8Array;
  unseal(sealed: Uint8Array, purpose: string): Uint8Array;
}

const MAX_STATE_CHARS = 4_096;

/**
 * Seals the state of requests (MCP 2026-07-28, "Multi round-trip requests"), so that a client can neither read nor change it, nor
 * bring it back with another request or for somebody else. Any process with the same keys opens it.
 *
 * @param keys reads the keys, which may take the storage.
 * @param maxAgeMs how long a state counts.
 * @param maxChars the longest sealed state that is opened.
 */
export function sealedState(
  keys: () => Promise<BytesSealer>,
  {
    now,
    maxAgeMs,
    maxChars = MAX_STATE_CHARS,
  }: { now: () => number; maxAgeMs: () => number; maxChars?: number },
): StateSealer {
  const purposeOf = (purpose: string) => `ptc request state 1 ${purpose}`;
  return {
    async seal(text, purpose) {
      const state = JSON.stringify([text, now() + maxAgeMs()]);
      return Buffer.from((await keys()).seal(Buffer.from(state), purposeOf(purpose))).toString("base64url");
    },
    async opened(sealed, purpose) {
      if (sealed.length > maxChars || !/^[\w-]+$/.test(sealed)) return undefined;
      const given = Buffer.from(sealed, "base64url");
      // Bits of the last character that stand for nothing would give one state several texts.
      if (given.toString("base64url") !== sealed) return undefined;
      const opener = await keys();
      let bytes: Uint8Array;
      try {
        bytes = opener.unseal(given, purposeOf(purpose));
      } catch {
        return undefined;
      }
      const [text, until]: [string, number] = JSON.parse(Buffer.from(bytes).toString("utf8"));
      return now() < until ? text : undefined;
    },
  };
}
