import type { FailureReason } from "./failure-reason.ts";
import { findLanguage, type LanguageFacts } from "./language.ts";

/** What to do about a program that looks like one in another language, as one line. */
export function adviseLanguage(
  reasons: readonly FailureReason[],
  languages: readonly LanguageFacts[],
): string[] {
  const reason = reasons.find(({ code }) => code === "other_language");
  if (reason?.code !== "other_language") return [];
  const known = findLanguage(languages, reason.language);
  if (known !== undefined)
    return [
      `this looks like ${known.title}: say so with the argument \`language\`, the file's suffix or --language`,
    ];
  const title = reason.language.charAt(0).toUpperCase() + reason.language.slice(1);
  return [`this looks like ${title}: programs are ${languages.map(({ offers }) => offers).join(" or ")}`];
}
