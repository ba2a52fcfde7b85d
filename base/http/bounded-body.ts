/**
 * Reads the body of a response (Fetch) into memory. Resolves with `undefined` for one of more bytes, whose rest is not read.
 * Rejects as the body does.
 */
export async function readBoundedBody(
  { body }: Pick<Response, "body">,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    // Leaving the loop cancels the body.
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
