import { visibleLine } from "../../base/text/visible-text.ts";

const MAX_CHARS = 80;

/** A name that a server gave, as it stands in a message: on one line, cut where it is long, with nothing unseen. */
export function shownName(name: string): string {
  return visibleLine(name.length <= MAX_CHARS ? name : `${name.slice(0, MAX_CHARS)}...`);
}
