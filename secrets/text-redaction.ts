/** A value without its secrets, and the number of replacements. */
export interface Redacted<T> {
  value: T;
  count: number;
}

/** Redacts a text that comes in pieces, with the same result as for the complete text. */
export interface TextStream {
  /** The number of replacements in the released text. */
  readonly count: number;
  /** Takes the next piece and returns the text that can be released. */
  push(piece: string): string;
  /** Ends the text and returns the rest. */
  end(): string;
  /**
   * Handles a text that was cut off here, maybe inside something to redact. Returns the held text without such a possible
   * beginning. The next piece starts a new text.
   */
  cutOff(): string;
}

/** Redacts more than secrets, such as personal data. */
export interface TextMask {
  /** @param name the name of the member whose value the text is. */
  redactText(text: string, name?: string): Redacted<string>;
  stream(name?: string): TextStream;
}

/** Passes the output of one stream to another. */
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

/** The marks that replace secrets. None needs an escape in JSON, and none is recognised as a secret. */

/** Replaces a secret that was configured or added. */
export const REDACTED = "[REDACTED]";

/** Replaces a token that is recognised by its form. */
export function redactedToken(kind: string): string {
  return `[REDACTED:${kind}]`;
}

/** Replaces a part of a value that exceeds the allowed nesting. */
export const TOO_DEEP = "[REDACTED:too-deep]";

const MARK = /\[REDACTED(?::[^\]\s"]*)?\]/g;

/** How often a text has each of these marks. */
export function countMarks(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [mark] of text.matchAll(MARK)) counts.set(mark, (counts.get(mark) ?? 0) + 1);
  return counts;
}

/** Replaces a configured value in an error of a server (redaction-secrets.ts). */
export const MASKED = "[redacted]";
