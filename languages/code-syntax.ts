/**
 * What has a colour in a language's text, as sources of regular expressions. Each matches at least one character and cannot
 * backtrack, so any text takes linear time.
 */
export interface CodeSyntax {
  readonly comment: string;
  readonly string: string;
  /** Words, with a space between two. */
  readonly keywords: string;
}
