/**
 * Images and sound are of no use as text: their base64 costs a model thousands of tokens and tells it nothing. In what leaves
 * a program a short note stands for them. The program itself, and the archived results of its calls, hold the data.
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
/** Shorter texts are left as they are: by accident they may begin like a file. */
const MIN_CHARS = 64;
/** What stands before a data URI's base64; and how a file's begins, unless more of it stands before that. */
const DATA_URI = /data:((?:image|audio|video)\/[\w.+-]{1,60})(?:;[\w=.+-]{1,60}){0,3};base64,/g;
const FILE = new RegExp(BEGINNINGS.map(([beginning]) => beginning).join("|"), "g");
const OF_BASE64 = /[A-Za-z0-9+/]/;
/**
 * The next characters of base64, in the alphabet of files or also in that of URLs. Bounded, because V8 keeps each place of a
 * longer repeat to go back to where it has stopped to optimize regular expressions, as it does in a process that has many, and
 * then overflows its stack.
 */
const PIECE = /[A-Za-z0-9+/]{1,10000}/y;
const URL_PIECE = /[A-Za-z0-9+/_-]{1,10000}/y;
const MEDIA_TYPE = /^(?:image|audio|video)\/[\w.+-]{1,60}$/;

/** The text with a note such as `[image/png, 34 KB]` for each image and sound in it. */
export function noteMedia(text: string): string {
  if (text.length < MIN_CHARS) return text;
  const noted = text.includes(";base64,")
    ? replaceRuns(text, DATA_URI, ({ 0: { length }, 1: mimeType = "", index }) => {
        const end = endOfRun(text, index + length, URL_PIECE);
        return end === index + length ? undefined : { end, note: note(mimeType, end - index - length) };
      })
    : text;
  return replaceRuns(noted, FILE, ({ index }) => {
    if (OF_BASE64.test(noted.charAt(index - 1))) return undefined;
    const end = endOfRun(noted, index, PIECE);
    const mimeType = end - index < MIN_CHARS ? undefined : mimeTypeOf(noted.slice(index, index + MIN_CHARS));
    return mimeType === undefined ? undefined : { end, note: note(mimeType, end - index) };
  });
}

/**
 * Replaces what begins where a pattern matches. The padding at the end of its base64 goes with it.
 *
 * @param replace the end of the base64, without padding, and the note for it; `undefined` to leave the text as it is.
 */
function replaceRuns(
  text: string,
  pattern: RegExp,
  replace: (found: RegExpExecArray) => { end: number; note: string } | undefined,
): string {
  const parts: string[] = [];
  let from = 0;
  for (const found of text.matchAll(pattern)) {
    const replaced = found.index < from ? undefined : replace(found);
    if (replaced === undefined) continue;
    parts.push(text.slice(from, found.index), replaced.note);
    from = replaced.end;
    for (let padding = 0; padding < 2 && text[from] === "="; padding++) from++;
  }
  return from === 0 ? text : parts.join("") + text.slice(from);
}

function endOfRun(text: string, start: number, piece: RegExp): number {
  piece.lastIndex = start;
  let end = start;
  while (piece.test(text)) end = piece.lastIndex;
  return end;
}

/** A JSON value with notes for its images and sounds: in any of its texts, and in content blocks, which name their type. */
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
      isData && isBase64(member) ? note(mimeType, endOfRun(member, 0, URL_PIECE)) : noteMediaIn(member),
    ];
  });
  // `fromEntries` defines members, so that one named `__proto__` stays a member.
  return Object.fromEntries(entries);
}

function mimeTypeOf(base64: string): string | undefined {
  const known = BEGINNINGS.find(([beginning]) => base64.startsWith(beginning))?.[1];
  if (known !== "image/webp") return known;
  return Buffer.from(base64.slice(0, 16), "base64").subarray(8, 12).equals(WAVE) ? "audio/wav" : known;
}

function isBase64(text: string): boolean {
  const end = endOfRun(text, 0, URL_PIECE);
  return end > 0 && /^={0,2}$/.test(text.slice(end, end + 3));
}

/** @param chars of base64, without padding. */
function note(mimeType: string, chars: number): string {
  const bytes = Math.floor((chars * 3) / 4);
  return `[${mimeType}, ${bytes < 1_000 ? `${bytes} B` : `${Math.round(bytes / 1_000)} KB`}]`;
}
