import * as z from "zod";
import { isObject } from "../base/json/is-object.ts";
import { flow, list, notAMapping, oneOf, text, wholeNumber } from "./schema-parts.ts";
import { secretValue } from "./secret-value.ts";

const MAX_TOOLS = 256;
const MAX_ELEMENTS = 256;

const aSchema = { error: "must be a JSON Schema, as a mapping" };
const hint = z.boolean({ error: "must be true or false" }).optional();

/** A command that is called as a tool. */
const LocalTool = z.strictObject(
  {
    name: z.string({ error: "must be a text; give the tool a name" }).regex(/^[A-Za-z0-9._-]{1,64}$/, {
      error: "must be 1 to 64 letters, digits, `.`, `_` or `-`",
    }),
    title: text(256).optional(),
    description: text(16_384).optional(),
    command: z
      .array(z.string({ error: "must be a text; put it in quotes" }), {
        error: 'must be a list of a program and its arguments: ["wc", "-w"]',
      })
      .min(1, { error: 'must be a list of a program and its arguments: ["wc", "-w"]' })
      .max(MAX_ELEMENTS, { error: `must have at most ${MAX_ELEMENTS} elements` }),
    stdin: z.string({ error: 'must be a text, such as "{text}"' }).max(65_536).optional(),
    inputSchema: z.custom<Record<string, unknown>>(isObject, aSchema),
    output: oneOf(["text", "json"]).default("text"),
    exit_codes: z
      .array(wholeNumber(0, 255), {
        error: "must be a list of exit codes that mean no failure, such as [0, 1]",
      })
      .min(1, { error: "must have at least one exit code, such as [0, 1]" })
      .max(256, { error: "must have at most 256 exit codes" })
      .default([0]),
    outputSchema: z.custom<Record<string, unknown>>(isObject, aSchema).optional(),
    annotations: z
      .strictObject(
        { readOnlyHint: hint, destructiveHint: hint, idempotentHint: hint, openWorldHint: hint },
        { error: notAMapping },
      )
      .optional(),
    timeout_seconds: wholeNumber(1, 86_400).optional(),
    max_output_bytes: wholeNumber(1, 33_554_432).default(1_048_576),
    cwd: text(4_096).optional(),
    env: z
      .record(
        z.string().regex(/^[^=\0]+$/, { error: "is not a name for an environment variable" }),
        secretValue(z.string()),
        { error: "must be a mapping of names to values" },
      )
      .optional(),
    ...flow,
  },
  { error: notAMapping },
);
export type LocalToolEntry = z.infer<typeof LocalTool>;

export const LocalTools = z.preprocess(
  (value) => value ?? [],
  z.array(LocalTool, list).max(MAX_TOOLS, { error: `must be at most ${MAX_TOOLS} tools` }),
);
