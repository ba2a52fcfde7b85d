import { rawResultOf } from "../raw-results.ts";

/** A schema that accepts any result and returns what the server sent. */
export const RawResult = {
  "~standard": { version: 1, vendor: "ptc", validate: (value: unknown) => ({ value: rawResultOf(value) }) },
} as const;
