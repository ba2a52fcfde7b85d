/**
 * Patterns over namespaced tool names: `*` stands for any characters, none included; everything else for itself. Linear
 * in the name for each `*`-free piece: names come from servers that nobody has audited, so nothing here backtracks.
 */

/** Whether a pattern matches the whole of a name. Case counts. */
export function matchesPattern(pattern: string, name: string): boolean {
  const pieces = pattern.split("*");
  const first = pieces[0] ?? "";
  if (pieces.length === 1) return pattern === name;
  const last = pieces[pieces.length - 1] ?? "";
  if (name.length < first.length + last.length) return false;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  // The leftmost place for each piece in between leaves the most room for those after it, so no other need be tried.
  let position = first.length;
  const end = name.length - last.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = name.indexOf(piece, position);
    if (found < 0 || found + piece.length > end) return false;
    position = found + piece.length;
  }
  return position <= end;
}
