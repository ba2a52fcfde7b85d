import * as z from "zod";
import { isObject } from "../base/json/is-object.ts";
import { notAMapping, numberBetween, section, text } from "./schema-parts.ts";
import { secretValue } from "./secret-value.ts";

/** A model behind an OpenAI-compatible API. @param defaultSeconds how long a search waits for it. */
function modelEndpoint(defaultSeconds: number) {
  return z.strictObject(
    {
      url: text(2_048),
      model: text(256),
      key: z
        .preprocess(
          // Variables are expanded in texts.
          (value) => (isEnvReference(value) ? `\${${value.env}}` : value),
          secretValue(
            text(8_192).regex(/^[\x21-\x7e]+$/, { error: "must be a key, in ASCII and without spaces" }),
          ),
        )
        .optional(),
      timeout_seconds: numberBetween(0.05, 60).default(defaultSeconds),
    },
    { error: notAMapping },
  );
}

function isEnvReference(value: unknown): value is { env: string } {
  if (!isObject(value) || typeof value.env !== "string") return false;
  return /^[A-Za-z_]\w*$/.test(value.env) && Object.keys(value).length === 1;
}

/** What finds tools beside words. Names and descriptions of tools, and queries, are sent there. */
export const SearchSection = section({
  embedding: modelEndpoint(2).optional(),
  rerank: modelEndpoint(5).optional(),
});
export type SearchSection = z.infer<typeof SearchSection>;
