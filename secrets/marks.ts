/** The marks that replace secrets. None needs an escape in JSON, and none is itself recognised as a secret. */

/** Replaces a secret that was configured or added. */
export const REDACTED = "[REDACTED]";

/** Replaces a token that is recognised by its form. */
export function redactedToken(kind: string): string {
  return `[REDACTED:${kind}]`;
}

/** Replaces a part of a value that exceeds the allowed nesting. */
export const TOO_DEEP = "[REDACTED:too-deep]";

/** Replaces a configured value in an error of a server (fault-mask.ts). */
export const MASKED = "[redacted]";
