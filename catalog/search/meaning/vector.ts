/** A direction in a model's space, of length 1, so that a product of two is their likeness. */
export type Vector = Float32Array;

/** Models have up to a few thousand. */
const MAX_DIMENSIONS = 16_384;

/** What somebody else says is an embedding, scaled to length 1; `undefined` when it is none. */
export function parseVector(value: unknown): Vector | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_DIMENSIONS) return undefined;
  let squares = 0;
  for (const each of value) {
    if (typeof each !== "number" || !Number.isFinite(each)) return undefined;
    squares += each * each;
  }
  const length = Math.sqrt(squares);
  if (length === 0 || !Number.isFinite(length)) return undefined;
  return Float32Array.from(value as number[], (each) => each / length);
}

/** The cosine of the angle between two vectors of as many dimensions. */
export function likeness(a: Vector, b: Vector): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] as number) * (b[index] as number);
  return sum;
}
