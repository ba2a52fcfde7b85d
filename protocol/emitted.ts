import * as z from "zod/mini";

/**
 * Content blocks that a program emits for the client in addition to its text, in the form of MCP (2025-11-25, "Tool Result").
 * Members that ptc does not know are refused. The blocks are unverified claims of the program.
 */

/** Maximum number of blocks that a program may emit. */
export const MAX_EMITTED_BLOCKS = 64;

/** Maximum size of all blocks of a program together, in bytes of JSON. Base64 is a third larger than the bytes it encodes. */
export const MAX_EMITTED_BYTES = 8 * 1024 * 1024;

const MAX_URI_CHARS = 2_048;
const MAX_NAME_CHARS = 256;

const Base64 = z.string().check(z.regex(/^[A-Za-z0-9+/]*={0,2}$/), z.minLength(4));
const MimeType = z
  .string()
  .check(z.regex(/^[\w.+-]{1,64}\/[\w.+-]{1,128}(?:; ?[\w.+-]{1,32}=[\w.+-]{1,64})?$/));
const ofKind = (kind: "image" | "audio") =>
  z.string().check(z.regex(new RegExp(`^${kind}/[\\w.+-]{1,128}(?:; ?[\\w.+-]{1,32}=[\\w.+-]{1,64})?$`)));
const Uri = z.string().check(z.minLength(1), z.maxLength(MAX_URI_CHARS));
const Name = z.string().check(z.maxLength(MAX_NAME_CHARS));

const Resource = z.union([
  z.strictObject({ uri: Uri, mimeType: z.optional(MimeType), text: z.string() }),
  z.strictObject({ uri: Uri, mimeType: z.optional(MimeType), blob: Base64 }),
]);

export const EmittedBlock = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({ type: z.literal("image"), data: Base64, mimeType: ofKind("image") }),
  z.strictObject({ type: z.literal("audio"), data: Base64, mimeType: ofKind("audio") }),
  z.strictObject({ type: z.literal("resource"), resource: Resource }),
  z.strictObject({
    type: z.literal("resource_link"),
    uri: Uri,
    name: Name,
    title: z.optional(Name),
    description: z.optional(z.string()),
    mimeType: z.optional(MimeType),
  }),
]);
export type EmittedBlock = z.infer<typeof EmittedBlock>;

/** The blocks of a run, as the archive stores them. */
export const EmittedBlocks = z.array(EmittedBlock).check(z.maxLength(MAX_EMITTED_BLOCKS));
