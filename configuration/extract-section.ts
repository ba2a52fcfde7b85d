import * as z from "zod";
import { ServerPii } from "./pii-section.ts";
import { flow, notAMapping, oneOf, text, wholeNumber } from "./schema-parts.ts";
import { secretValue } from "./secret-value.ts";

/** The model that `extract` of programs asks. */
const Extract = z.strictObject(
  {
    url: text(2_048),
    model: text(256),
    key: secretValue(
      z.string().regex(/^[\x21-\x7e]+$/, { error: "holds a character that no HTTP header may; remove it" }),
    ).optional(),
    /** Without it, the URL tells. */
    api: oneOf(["openai", "anthropic"]).optional(),
    max_calls: wholeNumber(1, 10_000).default(100),
    max_input_bytes: wholeNumber(1_000, 4_194_304).default(262_144),
    timeout_seconds: wholeNumber(1, 600).default(60),
    ...flow,
    /** Kinds of personal data that may be sent to the model. */
    pii: ServerPii,
  },
  { error: notAMapping },
);
export type ExtractEntry = z.infer<typeof Extract>;

/** Without any key below it, there is none. */
export const ExtractSection = z.preprocess((value) => value ?? undefined, Extract.optional());
