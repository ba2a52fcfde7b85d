/** Something without its secrets, and how many were replaced. */
export interface Redacted<T> {
  value: T;
  count: number;
}

/** Redacts a text that comes in pieces, with the same result as for the complete text. */
export interface TextStream {
  /** How much has been replaced in the released text. */
  readonly count: number;
  /** Takes the next piece and returns the text that can be released. */
  push(piece: string): string;
  /** Ends the text and returns the rest. */
  end(): string;
  /**
   * The text was cut off here, maybe inside something to redact. Returns the held text without what could be the beginning of
   * that. The next piece starts a new text.
   */
  cutOff(): string;
}

/** Redacts more than secrets. */
export interface TextMask {
  /** @param name of the member of which the text is the value. */
  redactText(text: string, name?: string): Redacted<string>;
  stream(name?: string): TextStream;
}

/** One stream after another. */
export function chainStreams(first: TextStream, second: TextStream): TextStream {
  return {
    get count() {
      return first.count + second.count;
    },
    push: (piece) => second.push(first.push(piece)),
    end: () => second.push(first.end()) + second.end(),
    cutOff: () => second.push(first.cutOff()) + second.cutOff(),
  };
}

/** The marks that replace secrets. None needs an escape in JSON, and none is itself recognised as a secret. */

/** Replaces a secret that was configured or added. */
export const REDACTED = "[REDACTED]";

/** Replaces a token that is recognised by its form. */
export function redactedToken(kind: string): string {
  return `[REDACTED:${kind}]`;
}

/** Replaces a part of a value that exceeds the allowed nesting. */
export const TOO_DEEP = "[REDACTED:too-deep]";

/** Replaces a configured value in an error of a server (redaction-secrets.ts). */
export const MASKED = "[redacted]";
