/** How many values a parsed JSON value holds, those in arrays and objects and the value itself included. */
export function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  let values = 1;
  for (const part of Object.values(value)) values += countValues(part);
  return values;
}
