/** As many items as fit, and how many more there are. */
export function listUpTo(items: readonly string[], maxChars: number, separator = ", "): string {
  let text = "";
  for (const [index, item] of items.entries()) {
    const next = text === "" ? item : text + separator + item;
    const rest = items.length - index - 1;
    if (next.length > maxChars) return `${text}${text === "" ? "" : separator}and ${rest + 1} more`;
    text = next;
  }
  return text;
}
