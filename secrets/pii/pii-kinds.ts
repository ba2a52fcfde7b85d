/** Kinds of personal data that can be redacted, by the names that settings and marks have for them. */
export const PII_KINDS = ["email", "phone", "card", "iban", "national_id", "ip"] as const;
export type PiiKind = (typeof PII_KINDS)[number];

/** What is redacted of personal data. */
export interface PiiSettings {
  readonly kinds: readonly PiiKind[];
  /** ISO 3166-1 codes: whose phone numbers are known without a `+`, and whose national ids are looked for. */
  readonly countries: readonly string[];
}

/** A part of a text that is personal data. */
export interface PiiRange {
  start: number;
  end: number;
  kind: PiiKind;
}

/**
 * A text in which a recogniser looks, and what decides beside it. Recognisers look at no more than `CONTEXT_CHARS` before a
 * range, so a text can come in pieces.
 */
export interface Excerpt {
  readonly text: string;
  /** Where ranges may begin. The text before is only context. */
  readonly from: number;
  /** The name of the member of which the text is the value; empty without one. */
  readonly name: string;
}

/** Finds personal data of one kind, in the order of the text. Takes time in proportion to the text's length, whatever it says. */
export type Recogniser = (excerpt: Excerpt) => PiiRange[];
