import * as z from "zod";
import { isObject } from "../base/json/is-object.ts";

/** A value of `env` or `headers`, or a secret of `auth`, that is not written out: where it comes from. Exactly one of the first three is set. */
export interface SecretValueEntry {
  file?: string;
  command?: [string, ...string[]];
  keyring?: string;
  /** Stands before the secret, such as `Bearer `. */
  prefix?: string;
}

/** The sources that a value can name. A variable is expanded before values are checked. */
const SECRET_KINDS = ["env", "file", "command", "keyring"] as const;

/** The names under which secrets can be put into the keyring. */
export const KEYRING_NAME = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/;
export const KEYRING_NAME_RULE =
  "1 to 128 letters, digits, `.`, `_`, `/` or `-`, and begin with a letter or digit";

const MAX_WORDS = 64;
const MAX_WORD_CHARS = 4_096;

/** A text, or a mapping that says where the text is read from when the server starts. */
export function secretValue(text: z.ZodString) {
  return z.unknown().transform((value, context): string | SecretValueEntry => {
    const problem = (message: string, path: PropertyKey[] = []): typeof z.NEVER => {
      context.addIssue({ code: "custom", message, path });
      return z.NEVER;
    };
    if (typeof value === "string") {
      const checked = text.safeParse(value);
      return checked.success ? value : problem(checked.error.issues[0]?.message ?? "cannot be used");
    }
    if (!isObject(value))
      return problem("must be a text in quotes, or a mapping with env, file, command or keyring");
    const kinds = SECRET_KINDS.filter((kind) => Object.hasOwn(value, kind));
    const unknown = Object.keys(value).find(
      (key) => key !== "prefix" && !(SECRET_KINDS as readonly string[]).includes(key),
    );
    if (unknown !== undefined)
      return problem("is not a known key; write env, file, command or keyring, and prefix", [unknown]);
    const [kind] = kinds;
    if (kind === undefined || kinds.length > 1)
      return problem("must have exactly one of env, file, command and keyring");
    const { prefix, file, command, keyring } = value;
    if (prefix !== undefined && !(typeof prefix === "string" && text.safeParse(prefix).success))
      return problem("must be a text in quotes that can stand before the secret", ["prefix"]);
    const before = prefix === undefined ? {} : { prefix };
    switch (kind) {
      case "env":
        return problem("must be the name of an environment variable", ["env"]);
      case "file":
        return isWord(file) ? { file, ...before } : problem("must be the path of a file", ["file"]);
      case "command": {
        if (!Array.isArray(command) || command.length === 0 || command.length > MAX_WORDS)
          return problem('must be a list of a program and its arguments: ["op", "read", "..."]', ["command"]);
        const wrong = command.findIndex((word, index) => !(index === 0 ? isWord(word) : isArgument(word)));
        if (wrong >= 0) return problem("must be a text; put it in quotes", ["command", wrong]);
        return { command: command as [string, ...string[]], ...before };
      }
      case "keyring":
        return typeof keyring === "string" && KEYRING_NAME.test(keyring)
          ? { keyring, ...before }
          : problem(`must be a name of ${KEYRING_NAME_RULE}`, ["keyring"]);
    }
  });
}

function isArgument(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_WORD_CHARS && !value.includes("\0");
}

function isWord(value: unknown): value is string {
  return isArgument(value) && value.trim() !== "";
}
