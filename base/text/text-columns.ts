/** The most columns that any terminal gives to a character. */
export function columnsOf(character: string): number {
  return character < "\u007f" ? 1 : 2;
}
