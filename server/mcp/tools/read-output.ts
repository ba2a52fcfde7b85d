import { ArchiveError } from "../../../archive/archive-error.ts";
import { oneLine } from "../../../base/visible-text.ts";
import type { Viewer } from "../../../broker/policy/authorizer.ts";
import type { ReadOutputArguments } from "./own-tools.ts";
import { errorReply, type ToolReply, textReply } from "./reply.ts";

const MAX_SHOWN_CHARS = 80;
/** How many characters of the line are shown before and after a match. */
const AROUND_CHARS = 200;

/** Provides the whole outputs of runs. */
export interface OutputSource {
  /** The output of a run that somebody may read; `undefined` for any other. @throws ArchiveError */
  read(runId: string, viewer: Viewer): Promise<string | undefined>;
}

/**
 * Answers `read_output`: a page of a run's whole output, or the places where it contains a text. Offsets are in UTF-16 code units, as
 * the lengths of texts are in JavaScript.
 *
 * @param maxReplyBytes the most bytes of UTF-8 of the output in one reply.
 */
export async function answerReadOutput(
  { run, offset, grep }: ReadOutputArguments,
  outputs: OutputSource,
  viewer: Viewer,
  maxReplyBytes: number,
): Promise<ToolReply> {
  let text: string | undefined;
  try {
    text = await outputs.read(run, viewer);
  } catch (error) {
    if (error instanceof ArchiveError) return errorReply(oneLine(error.message));
    throw error;
  }
  if (text === undefined)
    return errorReply(`there is no run ${oneLine(run, MAX_SHOWN_CHARS)}; give the id that a reply named`);
  if (offset > text.length) return errorReply(`the output has only ${text.length} characters`);
  return textReply(
    grep === undefined
      ? renderOutputPage(text, offset, maxReplyBytes)
      : renderMatches(text, offset, grep, maxReplyBytes),
  );
}

function renderOutputPage(text: string, offset: number, maxBytes: number): string {
  const end = endWithin(text, offset, maxBytes);
  const what = `characters ${offset} to ${end} of ${text.length}`;
  return `${text.slice(offset, end)}\n[${what}; ${end === text.length ? "the end" : `next offset ${end}`}]`;
}

/** The lines that contain a text, whatever its case, each with its offset. Long lines are cut around the match. */
function renderMatches(text: string, offset: number, grep: string, maxBytes: number): string {
  // The pattern is plain text, so it takes no more time than the text is long.
  const pattern = new RegExp(grep.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"), "gi");
  const places: string[] = [];
  let bytes = 0;
  pattern.lastIndex = offset;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const { start, end } = excerptAt(text, match.index, match.index + match[0].length);
    const place = `${start}: ${text.slice(start, end)}`;
    bytes += Buffer.byteLength(place) + 1;
    if (bytes > maxBytes && places.length > 0)
      return `${places.join("\n")}\n[more from offset ${match.index}]`;
    places.push(place);
    pattern.lastIndex = Math.max(end, match.index + match[0].length);
  }
  if (places.length === 0) return `[nothing from offset ${offset} has this text]`;
  return `${places.join("\n")}\n[the end]`;
}

function excerptAt(text: string, from: number, to: number): { start: number; end: number } {
  const lineStart = text.lastIndexOf("\n", from - 1) + 1;
  const lineFeed = text.indexOf("\n", to);
  return {
    start: wholeCharacterAt(text, Math.max(from === 0 ? 0 : lineStart, from - AROUND_CHARS)),
    end: wholeCharacterAt(text, Math.min(lineFeed === -1 ? text.length : lineFeed, to + AROUND_CHARS)),
  };
}

/** The end of a page that begins at an offset. A page has whole characters, and at least one. */
function endWithin(text: string, offset: number, maxBytes: number): number {
  const page = Buffer.from(text.slice(offset, offset + maxBytes));
  if (page.length <= maxBytes) return wholeCharacterAt(text, offset + maxBytes);
  let cut = maxBytes;
  // Bytes after the first of a character begin with the bits 10.
  while (cut > 0 && ((page[cut] ?? 0) & 0xc0) === 0x80) cut--;
  return offset + Math.max(1, page.subarray(0, cut).toString().length);
}

/** The place, or the one before it in the middle of a surrogate pair. */
function wholeCharacterAt(text: string, place: number): number {
  if (place >= text.length) return text.length;
  return /[\ud800-\udbff]/.test(text[place - 1] ?? "") ? place - 1 : place;
}
