import { inTurns, isLight, StepRoom, type Steps } from "../../base/in-turns.ts";

/**
 * Images and sound are useless as text: their base64 costs a model thousands of tokens and tells it nothing. A short note replaces
 * them in everything that leaves a program. The program itself and the archived results of its calls keep the data.
 */

/** How the base64 of a file begins, by the kind of file. */
const BEGINNINGS: readonly [beginning: string, mimeType: string][] = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["UklGR", "image/webp"],
  ["SUkqA", "image/tiff"],
  ["TU0AK", "image/tiff"],
  ["T2dnUw", "audio/ogg"],
  ["ZkxhQw", "audio/flac"],
  ["SUQz", "audio/mpeg"],
];
const WAVE = Buffer.from("WAVE");
/** Shorter texts stay as they are, because they may begin like a file by accident. */
const MIN_CHARS = 64;
/** Matches where base64 begins: after the head of a data URI, or at a known beginning with no base64 character before it. */
const HEADS = new RegExp(
  String.raw`data:(?<mimeType>(?:image|audio|video)/[\w.+-]{1,60})(?:;[\w=.+-]{1,60}){0,3};base64,|` +
    `(?<![A-Za-z0-9+/])(?=${BEGINNINGS.map(([beginning]) => beginning.replaceAll("+", "\\+")).join("|")})`,
  "g",
);
const MEDIA_TYPE = /^(?:image|audio|video)\/[\w.+-]{1,60}$/;

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const BASE64_CHARACTER = ASCII.map((character) => /[A-Za-z0-9+/]/.test(character));
const URI_CHARACTER = ASCII.map((character) => /[A-Za-z0-9+/_-]/.test(character));

/** The text with a note such as `[image/png, 34 KB]` for each image and sound in it. */
export function noteMedia(text: string): string {
  if (text.length < MIN_CHARS) return text;
  const parts: string[] = [];
  let from = 0;
  for (const match of text.matchAll(HEADS)) {
    if (match.index < from) continue;
    const start = match.index + match[0].length;
    const named = match.groups?.mimeType;
    const end = endOfRun(text, start, named === undefined ? BASE64_CHARACTER : URI_CHARACTER);
    const chars = end - start;
    const mimeType =
      named ?? (chars < MIN_CHARS ? undefined : mimeTypeOf(text.slice(start, start + MIN_CHARS)));
    if (mimeType === undefined || chars === 0) continue;
    parts.push(text.slice(from, match.index), note(mimeType, chars));
    from = end;
    for (let padding = 0; padding < 2 && text[from] === "="; padding++) from++;
  }
  return from === 0 ? text : parts.join("") + text.slice(from);
}

/**
 * The end of the base64 that begins at `start`, without its padding. A regular expression would overflow the stack when V8 no longer
 * optimizes it, as in a process with many expressions, because V8 then keeps every position of a repetition for backtracking.
 */
function endOfRun(text: string, start: number, isPart: readonly boolean[]): number {
  let end = start;
  while (isPart[text.charCodeAt(end)] === true) end++;
  return end;
}

/** A JSON value with notes for the images and sounds in its texts and in its content blocks, which name their media type. */
export function noteMediaIn(value: unknown): unknown {
  if (typeof value === "string") return noteMedia(value);
  if (Array.isArray(value)) return value.map(noteMediaIn);
  if (typeof value !== "object" || value === null) return value;
  const { mimeType } = value as { mimeType?: unknown };
  const isMedia = typeof mimeType === "string" && MEDIA_TYPE.test(mimeType);
  const entries = Object.entries(value).map(([key, member]): [string, unknown] => {
    const isData = isMedia && (key === "data" || key === "blob") && typeof member === "string";
    return [
      key,
      isData && isBase64(member) ? note(mimeType, endOfRun(member, 0, URI_CHARACTER)) : noteMediaIn(member),
    ];
  });
  // `fromEntries` defines members, so that one named `__proto__` stays a member.
  return Object.fromEntries(entries);
}

/** As `noteMediaIn`, with turns of the event loop between the parts of a large value. */
export async function noteMediaInTurns(value: unknown): Promise<unknown> {
  return isLight(value) ? noteMediaIn(value) : inTurns(noteSteps(value));
}

function* noteSteps(value: unknown): Steps<unknown> {
  if (typeof value !== "object" || value === null || isLight(value)) return noteMediaIn(value);
  // What a member is may depend on its neighbour, and an object with so few members is no table.
  if (!Array.isArray(value) && "mimeType" in value) return noteMediaIn(value);
  const room = new StepRoom();
  const names = Object.keys(value);
  const noted: unknown[] = [];
  for (const name of names) {
    const part = (value as Record<string, unknown>)[name];
    const { isFull, isHeavy } = room.take(part);
    if (isFull) yield;
    noted.push(isHeavy ? yield* noteSteps(part) : noteMediaIn(part));
  }
  return Array.isArray(value) ? noted : Object.fromEntries(names.map((name, i) => [name, noted[i]]));
}

function mimeTypeOf(base64: string): string | undefined {
  const known = BEGINNINGS.find(([beginning]) => base64.startsWith(beginning))?.[1];
  if (known !== "image/webp") return known;
  return Buffer.from(base64.slice(0, 16), "base64").subarray(8, 12).equals(WAVE) ? "audio/wav" : known;
}

function isBase64(text: string): boolean {
  const end = endOfRun(text, 0, URI_CHARACTER);
  return end > 0 && /^={0,2}$/.test(text.slice(end, end + 3));
}

/** @param chars of base64, without padding. */
function note(mimeType: string, chars: number): string {
  const bytes = Math.floor((chars * 3) / 4);
  return `[${mimeType}, ${bytes < 1_000 ? `${bytes} B` : `${Math.round(bytes / 1_000)} KB`}]`;
}
