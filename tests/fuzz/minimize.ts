/** An input that fails as `input` does, with as much as possible left out. Tries for `patienceMs` at most. */
export async function minimize(
  input: Buffer,
  failsAlike: (candidate: Buffer) => Promise<boolean>,
  patienceMs = 20_000,
): Promise<Buffer> {
  const until = performance.now() + patienceMs;
  let smallest = input;
  for (let size = Math.ceil(input.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < smallest.length; ) {
      if (performance.now() > until) return smallest;
      const candidate = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)]);
      if (candidate.length < smallest.length && (await failsAlike(candidate))) smallest = candidate;
      else at += size;
    }
  }
  return smallest;
}
