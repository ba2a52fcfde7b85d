import { placeForms } from "../../base/place-forms.ts";
import { canonicalJson } from "../../protocol/canonical-json.ts";

/** The maximum number of arguments that a pattern may name, and the maximum length of the pattern for one. */
export const MAX_PATTERN_MEMBERS = 20;
export const MAX_PATTERN_CHARS = 1_000;

/**
 * Describes calls that are like one that a person has seen: the same arguments, except for those in `except`, each of which may be
 * anything that its pattern matches. `*` stands for any characters. A value that is not a text is matched as JSON.
 */
export interface ArgumentPattern {
  /** The arguments of the call that was seen. */
  like: unknown;
  except: Readonly<Record<string, string>>;
}

/** Whether a call's arguments match the pattern. An additional or missing argument makes them differ. */
export function matchesArguments({ like, except }: ArgumentPattern, args: unknown): boolean {
  if (!isMembers(like) || !isMembers(args))
    return canonicalJson(like ?? null) === canonicalJson(args ?? null);
  const names = Object.keys(args);
  if (names.length !== Object.keys(like).length) return false;
  return names.every((name) => {
    if (!Object.hasOwn(like, name)) return false;
    const pattern = Object.hasOwn(except, name) ? except[name] : undefined;
    return pattern === undefined
      ? canonicalJson(args[name] ?? null) === canonicalJson(like[name] ?? null)
      : matchesText(pattern, args[name]);
  });
}

function matchesText(pattern: string, value: unknown): boolean {
  const text = typeof value === "string" ? value : canonicalJson(value ?? null);
  const pieces = pattern.split("*");
  if (pieces.length === 1) return text === pattern;
  if (climbs(pattern)) return matchesPieces(pieces, text);
  // A person who writes `/tmp/*` does not mean `/tmp/../etc`, however it is written.
  const { forms, isWhole } = placeForms(text);
  return isWhole && !climbs(text) && forms.every((form) => matchesPieces(pieces, form));
}

/** Linear in the text for each piece, where a regular expression could take exponential time. */
function matchesPieces(pieces: readonly string[], text: string): boolean {
  const first = pieces[0] ?? "";
  if (pieces.length === 1) return text === first;
  const last = pieces.at(-1) ?? "";
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last))
    return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}

function climbs(text: string): boolean {
  return text.split(/[/\\]/).includes("..");
}

function isMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
