/** A run that was suspended, as its client is told of it. */
export interface Suspended {
  ticket: string;
  tool: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}
