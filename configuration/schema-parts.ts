import * as z from "zod";

/** What the values of ptc.yaml are made of, each with the message of what it must be. */

export function wholeNumber(from: number, to: number): z.ZodInt {
  const error = `must be a whole number from ${from} to ${to}`;
  return z.int({ error }).min(from, { error }).max(to, { error });
}

export function numberBetween(from: number, to: number): z.ZodNumber {
  const error = `must be a number from ${from} to ${to}`;
  return z.number({ error }).min(from, { error }).max(to, { error });
}

export function text(maxLength: number): z.ZodString {
  const error = `must be a text of 1 to ${maxLength} characters`;
  const noNul = "must not contain a NUL character";
  return z
    .string({ error })
    .min(1, { error })
    .max(maxLength, { error })
    .refine((value) => !value.includes("\0"), { error: noNul });
}

export function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, { error: `must be one of ${values.join(", ")}` });
}

/** A mapping with known keys. An empty one, as when every key below it is commented out, gets the defaults. */
export function section<T extends z.ZodRawShape>(shape: T) {
  return z.preprocess((value) => value ?? {}, z.strictObject(shape, { error: notAMapping }));
}

/** The message for a value that is no mapping. Unknown keys are issues of their own and get no message here. */
export function notAMapping(issue: { code?: string | undefined }): string | undefined {
  return issue.code === "invalid_type" ? "must be a mapping of keys to values" : undefined;
}

export const list = { error: "must be a list, one `- ` entry a line" };

const Labels = z.array(
  z.string({ error: "must be a label, such as confidential" }).regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
    error: "must be 1 to 64 letters, digits, `.`, `_` or `-`",
  }),
  list,
);

/** What the data of a server or a tool carries, and what may flow into it. */
export const flow = { labels: Labels.optional(), accepts: Labels.optional() };
