/** The setting that names tools. */
import { list, text } from "./declare.ts";

/** Patterns of tools' names. */
export function toolPatterns() {
  return list(
    text(512).regex(/^[!-~]+$/, {
      error: "must be a tool's name without spaces; `*` stands for any characters",
    }),
  );
}
