import * as z from "zod";
import { countriesWith } from "../secrets/pii/countries.ts";
import { PII_KINDS } from "../secrets/pii/pii-kinds.ts";
import type { Problem } from "./configuration-error.ts";
import { list, oneOf, section } from "./schema-parts.ts";

const PiiKinds = z.array(oneOf(PII_KINDS), {
  error: `must be a list such as [email, phone], of ${PII_KINDS.join(", ")}`,
});

/** What is redacted of personal data. */
export const PiiSection = z.preprocess(
  // `pii: [email, phone]` is short for `pii: { redact: [email, phone] }`.
  (value) => (Array.isArray(value) ? { redact: value } : (value ?? {})),
  z.strictObject(
    {
      redact: z.preprocess((value) => value ?? [], PiiKinds),
      countries: z.preprocess(
        (value) => value ?? [],
        z
          .array(
            z
              .string({ error: "must be the code of a country; put it in quotes" })
              .refine((code) => countriesWith("phone").includes(code), {
                error: "must be the two capital letters of a country, such as DE or US (ISO 3166-1)",
              }),
            list,
          )
          .max(32, { error: "must be at most 32 countries" }),
      ),
    },
    {
      error: ({ code }) =>
        code === "invalid_type"
          ? "must be a list of kinds, or a mapping with redact and countries"
          : undefined,
    },
  ),
);

/** The kinds of personal data that a server's data may be shown with. */
export const ServerPii = section({ allow: z.preprocess((value) => value ?? [], PiiKinds) }).optional();

/** Problems of what is redacted, where its keys and types are valid. */
export function findPiiProblems({ redact, countries }: z.infer<typeof PiiSection>): Problem[] {
  if (redact.length === 0 && countries.length > 0)
    return [
      { path: ["pii", "countries"], message: "says nothing without `redact`; add the kinds to redact" },
    ];
  if (!redact.includes("national_id")) return [];
  if (countries.length === 0) {
    const message =
      "lists national_id, and `countries` does not say whose; add them, such as countries: [DE, US]";
    return [{ path: ["pii", "redact"], message }];
  }
  const known = countriesWith("national_id");
  return countries.flatMap((country, index) =>
    known.includes(country)
      ? []
      : {
          path: ["pii", "countries", index],
          message: `national ids of ${country} are not known; remove it, or national_id from \`redact\` (known: ${known.join(" ")})`,
        },
  );
}
