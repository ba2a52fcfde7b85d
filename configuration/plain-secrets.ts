import { Redactor } from "../secrets/redaction.ts";
import { whyNotRedacted } from "../secrets/redaction-secrets.ts";
import type { ServerEntry } from "./settings/server-settings.ts";

/** A value of `env` or `headers` that is most likely a secret and is written out. */
export interface PlainSecret {
  server: string;
  /** The variable or the header. */
  key: string;
  /** The text before the secret, such as `Bearer `. */
  prefix: string;
  secret: string;
}

const NAME =
  /auth|cookie|credential|dsn|jwt|api_?key|_key$|^key$|pass(word|wd|phrase)?|_pat$|private|pwd|secret|token|x-api/i;
/** Matches values of settings whose name only sounds like a secret. */
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

/** The entry with other values instead of those secrets. */
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
/** The name of the variable that stands for the secret of a header or a variable. */
export function variableOf({ server, key }: PlainSecret): string {
  const name = /^[A-Za-z_][A-Za-z0-9_]*$/.test(key) ? key : `${server}_${key}`;
  const upper = name.replaceAll(/[^A-Za-z0-9]+/g, "_").toUpperCase();
  return /^[0-9]/.test(upper) ? `_${upper}` : upper;
}

/** The value that takes the secret from the environment. */
export function fromVariable(secret: PlainSecret): string {
  return `${secret.prefix}\${${variableOf(secret)}}`;
}

const SECRET_FLAG = /^--?[\w-]*(?:api-?key|token|secret|passw(?:or)?d)$/i;
const SECRET_QUERY = /([?&][\w-]*(?:key|token|secret|sig(?:nature)?)=)([^&#\s]+)/gi;
const MARK = /\[REDACTED[^\]]*\]/g;

/**
 * The entry with a variable instead of each secret in its arguments and its URL, which allow no other source. Secrets are tokens by
 * their form, values after a flag such as `--api-key`, and passwords and keys in URLs.
 */
export function withoutArgumentSecrets(entry: ServerEntry): { entry: ServerEntry; variables: string[] } {
  const variables: string[] = [];
  const instead = () => {
    const base = `${entry.name.replaceAll(/[^A-Za-z0-9]+/g, "_").toUpperCase()}_SECRET`;
    const name = `${/^[0-9]/.test(base) ? "_" : ""}${base}${variables.length === 0 ? "" : variables.length + 1}`;
    variables.push(name);
    return `\${${name}}`;
  };
  const tokens = new Redactor([]);
  const clean = (text: string) => {
    if (text.includes("${")) return text;
    const { value, count } = tokens.redactText(text);
    const named = (count === 0 ? text : value.replaceAll(MARK, instead))
      .replaceAll(
        SECRET_QUERY,
        (_, before: string, secret: string) => before + (secret.includes("${") ? secret : instead()),
      )
      .replace(
        /^([a-z][a-z0-9+.-]*:\/\/[^\s/?#:@]*:)([^\s/?#@]+)@/i,
        (_, before: string) => `${before}${instead()}@`,
      );
    return named;
  };
  const args = entry.args?.map((argument, index, all) => {
    if (SECRET_FLAG.test(all[index - 1] ?? "") && !argument.includes("${") && !argument.startsWith("-"))
      return instead();
    const [, flag, value = ""] = /^(--?[\w-]+)=(.+)$/s.exec(argument) ?? [];
    if (flag !== undefined && SECRET_FLAG.test(flag) && !value.includes("${")) return `${flag}=${instead()}`;
    const [, header, secret = ""] =
      /^((?:x-[\w-]*key|authorization) *: *(?:Bearer +)?)(\S.*)$/is.exec(argument) ?? [];
    if (header !== undefined && !secret.includes("${")) return header + instead();
    return clean(argument);
  });
  const url = entry.url === undefined ? undefined : clean(entry.url);
  return {
    entry: { ...entry, ...(args !== undefined && { args }), ...(url !== undefined && { url }) },
    variables,
  };
}
