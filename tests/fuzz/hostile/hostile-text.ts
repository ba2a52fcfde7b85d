import type { Random } from "../random.ts";
import { LISTS } from "./words.ts";

/** Pieces of text that something once stumbled over, or may. */
const PIECES = [...LISTS.texts, "a".repeat(64), "x".repeat(300), "y".repeat(1_000)];

export const MARKS: readonly string[] = PIECES.filter((piece) => piece !== "");

/** Text of a person who means harm. */
export function hostileText(random: Random, maxPieces = 6): string {
  let text = "";
  for (let count = random.size(maxPieces); count >= 0; count--) {
    if (random.chance(0.7)) text += random.pick(PIECES);
    else if (random.chance(0.5)) text += String.fromCharCode(random.below(0x1_0000));
    else text += random.list(random.size(12), () => String.fromCharCode(random.between(32, 126))).join("");
  }
  return text;
}
