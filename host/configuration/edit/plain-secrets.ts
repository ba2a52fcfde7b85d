import { Redactor } from "../../../secrets/redaction.ts";
import { whyNotRedacted } from "../../../secrets/redaction-secrets.ts";
import type { ServerEntry } from "../schema.ts";

/** A value of `env` or `headers` that is most likely a secret and is written out. */
export interface PlainSecret {
  server: string;
  /** The variable or the header. */
  key: string;
  /** What stands before the secret, such as `Bearer `. */
  prefix: string;
  secret: string;
}

const NAME =
  /auth|cookie|credential|dsn|jwt|api_?key|_key$|^key$|pass(word|wd|phrase)?|_pat$|private|pwd|secret|token|x-api/i;
/** Values of settings whose name only sounds like a secret's. */
const SETTING =
  /^(?:|true|false|yes|no|on|off|none|null|[0-9]{1,5}|[a-z]{1,8}|(?:https?|file):\/\/[^@\s]*|~?\.{0,2}\/.*)$/i;
const SCHEME = /^((?:Bearer|Token|ApiKey|Api-Key) +)(\S.*)$/i;

/** The secrets that the entry holds in plain text: tokens by their form, and values whose name says that they are secret. */
export function findPlainSecrets(entry: ServerEntry): PlainSecret[] {
  const tokens = new Redactor([]);
  return (["env", "headers"] as const).flatMap((place) =>
    Object.entries(entry[place] ?? {}).flatMap(([key, value]): PlainSecret[] => {
      if (typeof value !== "string" || value.includes("${")) return [];
      const [, prefix = "", secret = value] = SCHEME.exec(value) ?? [];
      const isToken = tokens.redactText(value).count > 0;
      const isNamed = NAME.test(key) && !SETTING.test(secret) && whyNotRedacted(secret, true) === undefined;
      return isToken || isNamed ? [{ server: entry.name, key, prefix, secret }] : [];
    }),
  );
}

/** The entry with other values in the place of those secrets. */
export function replaceSecrets(
  entry: ServerEntry,
  secrets: readonly PlainSecret[],
  instead: (secret: PlainSecret) => NonNullable<ServerEntry["env"]>[string],
): ServerEntry {
  const replaced = { ...entry };
  for (const place of ["env", "headers"] as const) {
    const values = entry[place];
    if (values === undefined) continue;
    replaced[place] = Object.fromEntries(
      Object.entries(values).map(([key, value]) => {
        const secret = secrets.find((each) => each.server === entry.name && each.key === key);
        return [key, secret === undefined ? value : instead(secret)];
      }),
    );
  }
  return replaced;
}

/** The name of a secret in the keyring. */
export function keyringNameOf({ server, key }: PlainSecret): string {
  return `${server.replace(/^[^A-Za-z0-9]+/, "") || "server"}/${key.replaceAll(/[^A-Za-z0-9._-]+/g, "-")}`;
}

/** The value that reads the secret from the keyring. */
export function fromKeyring(secret: PlainSecret): { keyring: string; prefix?: string } {
  const { prefix } = secret;
  return { keyring: keyringNameOf(secret), ...(prefix === "" ? {} : { prefix }) };
}
