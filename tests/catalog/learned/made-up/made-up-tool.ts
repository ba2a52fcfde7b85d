import { isPathOf } from "../declared-members.ts";
import type { Dice } from "./dice.ts";

/**
 * A tool that nobody has: what its results are, and which members they have by its author's word. The members are paths: `.name`
 * is a member, `[]` what is in an array, and `{}` what a map has at keys that are data.
 */
export interface MadeUpTool {
  name: string;
  /**
   * `plain`: has no map. `data`: keys of its maps can be told from names by how they look. `words`: they look like names, and
   * only many results can tell.
   */
  keys: "plain" | "data" | "words";
  members: readonly string[];
  /** Paths, as regular expressions, that lead to themselves: what is below them is what is below their first step. */
  recursive?: RegExp;
  answer(dice: Dice, call: number): unknown;
}

/** Whether a learned path is one that the tool has. */
export function isMember({ members, recursive }: MadeUpTool, path: string): boolean {
  const folded = recursive === undefined ? path : path.replace(recursive, "$1");
  return isPathOf(new Set(members), folded);
}
