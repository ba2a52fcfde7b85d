import * as z from "zod/mini";

/** A SHA-256 digest, in the form that ptc writes everywhere. */
export const Digest = z.string().check(z.regex(/^sha256:[0-9a-f]{64}$/));
