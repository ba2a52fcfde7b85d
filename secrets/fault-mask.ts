import { MASKED } from "./marks.ts";
import { urlCredentialsIn } from "./redaction-secrets.ts";

/** Shorter values are not masked, because they are parts of ordinary words. */
const MIN_MASKED_CHARS = 4;

/**
 * Masks a server's configuration in the errors of that server, which quote its address and its stderr.
 *
 * It is stricter than a `Redactor` and uses another mark: every configured value is masked, even a short or ordinary one,
 * because an error is not data of a program that could be garbled. An error that is passed on to a program is also redacted.
 */
export class FaultMask {
  readonly #texts: readonly string[];

  /**
   * @param configured values of the configuration and of the server's own credentials; each word of a value is masked too.
   * @param places the server's arguments or its URL, of which only passwords are masked.
   */
  constructor(configured: readonly string[], places: readonly string[]) {
    const words = configured.flatMap((value) => [value, ...value.split(/\s+/)]);
    const inUrls = [...configured, ...places].flatMap(urlCredentialsIn);
    this.#texts = [...new Set([...words, ...inUrls])]
      .filter(({ length }) => length >= MIN_MASKED_CHARS)
      .sort((a, b) => b.length - a.length);
  }

  mask(text: string): string {
    return this.#texts.reduce((masked, secret) => masked.replaceAll(secret, MASKED), text);
  }
}
