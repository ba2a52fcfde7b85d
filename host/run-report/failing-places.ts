/** A place in the program that an error message names. */
export interface FailingPlace {
  /** Line and column count from 1. */
  line: number;
  column: number;
  /** `failed`: the place of the error. `caller`: a place that called it. */
  role: "failed" | "caller";
}

/**
 * The places that the message of a failure names, at most one for each line: stack frames (`    at [name (]FILE:L:C`),
 * innermost first, or mistakes in the program (`FILE:L:C: what`).
 */
export function findFailingPlaces(message: string, fileName: string): FailingPlace[] {
  const places = new Map<number, FailingPlace>();
  let frames = 0;
  for (const text of message.split("\n")) {
    const isFrame = text.startsWith("    at ");
    const place = isFrame ? placeAtEnd(text, fileName) : placeAtStart(text, fileName);
    if (place === undefined) continue;
    const role = isFrame && frames++ > 0 ? "caller" : "failed";
    if (!places.has(place.line)) places.set(place.line, { ...place, role });
  }
  return [...places.values()];
}

function placeAtEnd(frame: string, fileName: string): { line: number; column: number } | undefined {
  const [, file = "", line, column] = /^(.*):(\d{1,7}):(\d{1,7})\)?$/.exec(frame) ?? [];
  const named = file.endsWith(` ${fileName}`) || file.endsWith(`(${fileName}`);
  return named ? { line: Number(line), column: Number(column) } : undefined;
}

function placeAtStart(text: string, fileName: string): { line: number; column: number } | undefined {
  if (!text.startsWith(`${fileName}:`)) return undefined;
  const [, line, column] = /^(\d{1,7}):(\d{1,7}):/.exec(text.slice(fileName.length + 1)) ?? [];
  return line === undefined ? undefined : { line: Number(line), column: Number(column) };
}
