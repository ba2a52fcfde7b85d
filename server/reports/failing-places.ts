/** A place in the program that an error message names. */
export interface FailingPlace {
  /** Line and column count from 1. */
  line: number;
  column: number;
  /** `failed`: the place of the error. `caller`: a place that called it. */
  role: "failed" | "caller";
}

interface FailedProgram {
  fileName: string;
  lines: readonly string[];
}

type Place = Omit<FailingPlace, "role">;

/**
 * The places that the message of a failure names, at most one for each line: stack frames, innermost first, or mistakes in the
 * program (`FILE:L:C: what`). Frames are those of JavaScript (`    at [name (]FILE:L:C`), or of Python's tracebacks
 * (`  File "FILE", line L`), whose order is the other way round.
 */
export function findFailingPlaces(message: string, program: FailedProgram): FailingPlace[] {
  const texts = message.split("\n");
  const mistakes: Place[] = [];
  const frames: Place[] = [];
  const tracebacks: Place[] = [];
  for (const [index, text] of texts.entries()) {
    if (text.startsWith("    at ")) frames.push(...placeAtEnd(text, program.fileName));
    else if (TRACEBACK_FRAME.test(text)) tracebacks.push(...placeInTraceback(texts, index, program));
    else mistakes.push(...placeAtStart(text, program.fileName));
  }
  const inwards = [...frames, ...tracebacks.reverse()];
  const places = new Map<number, FailingPlace>();
  const note = (place: Place, role: FailingPlace["role"]): void => {
    if (!places.has(place.line)) places.set(place.line, { ...place, role });
  };
  for (const place of mistakes) note(place, "failed");
  for (const [index, place] of inwards.entries()) note(place, index > 0 ? "caller" : "failed");
  return [...places.values()];
}

function placeAtEnd(frame: string, fileName: string): Place[] {
  const [, file = "", line, column] = /^(.*):(\d{1,7}):(\d{1,7})\)?$/.exec(frame) ?? [];
  const named = file.endsWith(` ${fileName}`) || file.endsWith(`(${fileName}`);
  return named ? [{ line: Number(line), column: Number(column) }] : [];
}

function placeAtStart(text: string, fileName: string): Place[] {
  if (!text.startsWith(`${fileName}:`)) return [];
  const [, line, column] = /^(\d{1,7}):(\d{1,7}):/.exec(text.slice(fileName.length + 1)) ?? [];
  return line === undefined ? [] : [{ line: Number(line), column: Number(column) }];
}

/** In a group of exceptions, after bars. */
const TRACEBACK_FRAME = /^[ |]* {2}File "(.*)", line (\d{1,7})(?:, in .*)?$/;
const CARETS = /^([ |]*)([~^]+)[ ~^]*$/;

/** A frame is followed by its line, without indentation, and by carets where less than the whole line is meant. */
function placeInTraceback(
  texts: readonly string[],
  index: number,
  { fileName, lines }: FailedProgram,
): Place[] {
  const frame = texts[index] ?? "";
  const [, file, line] = TRACEBACK_FRAME.exec(frame) ?? [];
  if (file !== fileName) return [];
  const [, before = ""] = CARETS.exec(texts[index + 2] ?? "") ?? [];
  const margin = frame.indexOf("File ") + "  ".length;
  const [indentation = ""] = /^\s*/.exec(lines[Number(line) - 1] ?? "") ?? [];
  return [{ line: Number(line), column: indentation.length + Math.max(0, before.length - margin) + 1 }];
}
