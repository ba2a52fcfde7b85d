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
const DATA_URI =
  /data:((?:image|audio|video)\/[\w.+-]{1,60})(?:;[\w=.+-]{1,60}){0,3};base64,([A-Za-z0-9+/_-]+={0,2})/g;
/** `+` needs no stack however long a run is, where `{64,}` keeps every place of the run to go back to. */
const BASE64 = new RegExp(`(?<![A-Za-z0-9+/])(?=[A-Za-z0-9+/]{${MIN_CHARS}})[A-Za-z0-9+/]+={0,2}`, "g");
const MEDIA_TYPE = /^(?:image|audio|video)\/[\w.+-]{1,60}$/;

/** The text with a note such as `[image/png, 34 KB]` for each image and sound in it. */
export function noteMedia(text: string): string {
  if (text.length < MIN_CHARS) return text;
  const noted = text.includes(";base64,")
    ? text.replace(DATA_URI, (_, mimeType: string, base64: string) => note(mimeType, base64))
    : text;
  return noted.replace(BASE64, (base64) => {
    const mimeType = mimeTypeOf(base64);
    return mimeType === undefined ? base64 : note(mimeType, base64);
  });
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
    return [key, isData && isBase64(member) ? note(mimeType, member) : noteMediaIn(member)];
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
  return text.length > 0 && /^[A-Za-z0-9+/_-]+={0,2}$/.test(text);
}

function note(mimeType: string, base64: string): string {
  const bytes = Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
  return `[${mimeType}, ${bytes < 1_000 ? `${bytes} B` : `${Math.round(bytes / 1_000)} KB`}]`;
}
