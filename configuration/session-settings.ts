import * as z from "zod";

function wholeNumber(from: number, to: number): z.ZodInt {
  const error = `must be a whole number from ${from} to ${to}`;
  return z.int({ error }).min(from, { error }).max(to, { error });
}

/** The key `sessions` of ptc.yaml: off without it, and on with the defaults where it is `true` or an empty mapping. */
export const SessionSettings = z.preprocess(
  (value) => {
    if (value === "off" || value === false) return undefined;
    return value === true || value === null ? {} : value;
  },
  z
    .strictObject(
      { max: wholeNumber(1, 64).default(4), idle_minutes: wholeNumber(1, 1_440).default(10) },
      {
        error: ({ code }) =>
          code === "invalid_type" ? "must be true, off, or a mapping with max and idle_minutes" : undefined,
      },
    )
    .optional(),
);
