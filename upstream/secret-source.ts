import { decodeFile } from "../base/file-text.ts";

/** Where to read a value of `env`, `headers` or `auth` when its server starts, or when a token is needed. */
export type SecretSource = {
  /** File, line and key of the value, for messages. */
  readonly place: string;
  /** What to put before the secret, such as `Bearer `. */
  readonly prefix: string;
  /** Of `ALL_HEADERS`: the headers, in lower case, that stay as they are given elsewhere, whatever the source names. */
  readonly except?: readonly string[] | undefined;
} & (
  | {
      readonly from: "file";
      /** Absolute. */
      readonly path: string;
    }
  | {
      readonly from: "command";
      /** The program and its arguments. */
      readonly argv: readonly [string, ...string[]];
      /** Absolute. */
      readonly cwd: string;
      /** Whether it is run each time, because what it prints ends with time. By default it is run once. */
      readonly isFresh?: boolean;
    }
  | { readonly from: "keyring"; readonly name: string }
);

/** The name among `headers` for headers that a source names itself, as a JSON object. */
export const ALL_HEADERS = "*";

/** A text that two values of a server share when one takes the place of the other: names of headers ignore case (RFC 9110, 5.1). */
export function valueKey(name: string, areHeaders: boolean): string {
  // What an API needs besides headers has names with a slash, in which case counts.
  return areHeaders && !name.includes("/") ? name.toLowerCase() : name;
}

/** A secret in the configuration: its text, or where to read it. */
export type ConfiguredSecret = string | SecretSource;

/** The secrets in the user's keyring. */
export interface SecretKeyring {
  /** @throws Error whose message is one line without any secret. */
  get(name: string): Promise<string | undefined>;
}

/** The maximum size of one secret in bytes. */
export const MAX_SECRET_BYTES = 64 * 1024;

/** A secret cannot be read. The message continues a sentence and contains nothing of the secret. */
export class SecretSourceError extends Error {
  override readonly name = "SecretSourceError";
}

/** The text of a secret written by a person or a program, without a trailing line feed. */
export function parseSecret(bytes: Buffer, what: string): string {
  if (bytes.length > MAX_SECRET_BYTES) throw tooLarge(what);
  let text: string;
  try {
    text = decodeFile(bytes).replace(/\r?\n$/, "");
  } catch {
    throw new SecretSourceError(`${what} bytes that are not text in UTF-8`);
  }
  if (text === "") throw new SecretSourceError(`${what} nothing`);
  if (text.includes("\0")) throw new SecretSourceError(`${what} a NUL character`);
  return text;
}

/** @param what begins the message, such as `the file x holds`. */
export function tooLarge(what: string): SecretSourceError {
  return new SecretSourceError(`${what} more than ${MAX_SECRET_BYTES} bytes, which is too much for a secret`);
}
