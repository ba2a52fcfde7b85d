import * as z from "zod/mini";

/** SHA-256 of a text, as ptc writes it everywhere. */
export const Digest = z.string().check(z.regex(/^sha256:[0-9a-f]{64}$/));
