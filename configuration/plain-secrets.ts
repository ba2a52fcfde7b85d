import { SecretMatcher } from "../secrets/redaction-matcher.ts";
import { whyNotRedacted } from "../secrets/redaction-secrets.ts";
import type { ServerEntry } from "./settings/server-settings.ts";

/*
 * Secrets that a server's entry writes out. A value of `env` or `headers` can name another source, such as the keyring. Arguments, the
 * URL and the folder can only name a variable. ptc recognises a secret by its form (tokens), by the name beside it
 * (`--api-key`, `X-API-Token:`, `password=`, a member of JSON) and by its place (the password of a URL).
 */

/** A value of `env` or `headers` that is most likely a secret and is written out. */
export interface PlainSecret {
  server: string;
  /** The variable or the header. */
  key: string;
  /** The text before the secret, such as `Bearer `. */
  prefix: string;
  secret: string;
}

/** Names of values that are secrets even if they look like a word or a number. */
const SECRET_NAME =
  /api[-_]?key|(?:access|account|private|signing|encryption|master|shared|license)[-_]?key|secret|passw(?:or)?d|passphrase|pwd$|^pass$|[-_]pass$/i;
/** The same among flags, where no other value follows such a name. */
const SECRET_FLAG = /token$|credentials?$|^pat$|[-_]pat$|bearer$|jwt$|^sig$|signature$/i;
/** Names that suggest a secret, if the value does not look like a setting. */
const MAYBE_NAME =
  /auth|cookie|credential|dsn|jwt|[-_]key$|^key$|pass(word|wd|phrase)?|private|pwd|secret|token|x-api|[-_]pin$|^pin$|session/i;
/** Names in camelCase that end with a key: `accountKey`. */
const CAMEL_KEY = /[a-z]Key$/;

/** Matches values of settings whose name only sounds like a secret. */
const SETTING =
  /^(?:|true|false|yes|no|on|off|none|null|[0-9]{1,5}|[a-z]{1,8}|(?:https?|file):\/\/[^@\s]*|~?\.{0,2}\/.*)$/i;
/** Matches values that are no secret whatever their name is: switches, and paths and addresses of what holds the secret. */
const NO_SECRET =
  /^(?:|true|false|yes|no|on|off|none|null|(?:https?|file):\/\/[^@\s]*|\/(?:[a-z0-9._-]+\/)+[\w.-]+|\/[\w.-]+\.\w+|(?:~|\.{1,2})\/.*)$/;
const SCHEME = /^((?:Bearer|Basic|Token|ApiKey|Api-Key|Bot|Digest) +)(\S.*)$/is;

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) || CAMEL_KEY.test(name);
}

/** Whether a value that stands under a name is a secret. */
function isSecret(name: string, value: string): boolean {
  if (isSecretName(name)) return !NO_SECRET.test(value);
  return MAYBE_NAME.test(name) && !SETTING.test(value) && whyNotRedacted(value, true) === undefined;
}

/**
 * The secrets of `env` and `headers` that the entry holds in plain text.
 *
 * @param known variables and headers that are known to hold one, whatever it looks like.
 */
export function findPlainSecrets(entry: ServerEntry, known: readonly string[] = []): PlainSecret[] {
  return (["env", "headers"] as const).flatMap((place) =>
    Object.entries(entry[place] ?? {}).flatMap(([key, value]): PlainSecret[] => {
      if (typeof value !== "string" || value.includes("${")) return [];
      const [, prefix = "", secret = value] = SCHEME.exec(value) ?? [];
      const isKept =
        known.includes(key) ||
        (prefix !== "" && place === "headers") ||
        isSecret(key, secret) ||
        holdsSecret(value);
      return isKept ? [{ server: entry.name, key, prefix, secret }] : [];
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

/**
 * Names of variables for secrets. Equal secrets of one server share a name, and two different secrets never do, so that no server gets
 * the secret of another.
 */
export class SecretVariables {
  readonly #secrets = new Map<string, string>();

  /**
   * @param name what the secret is called where it stands.
   * @param isVariable whether that is the name of a variable, which is kept if it can be.
   */
  nameFor(server: string, name: string, secret: string, isVariable = false): string {
    const own = variableName(name);
    const prefix = variableName(server);
    const whole = own.startsWith(`${prefix}_`) ? own : `${prefix}_${own}`;
    const first = isVariable ? own : whole;
    for (let count = 0; ; count++) {
      const candidate = count === 0 ? first : count === 1 ? whole : `${whole}${count}`;
      const taken = this.#secrets.get(candidate);
      if (taken !== undefined && taken !== secret) continue;
      this.#secrets.set(candidate, secret);
      return candidate;
    }
  }
}

function variableName(name: string): string {
  const upper = name
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .toUpperCase();
  return /^[0-9]/.test(upper) ? `_${upper}` : upper || "SECRET";
}

/** The value that takes the secret from the environment. */
export function fromVariable({ prefix }: Pick<PlainSecret, "prefix">, variable: string): string {
  return `${prefix}\${${variable}}`;
}

/** A variable that stands for a secret in an argument, the URL or the folder of a server. */
export interface ArgumentSecret {
  variable: string;
  secret: string;
}

/**
 * The entry with a variable instead of each secret in its arguments, its URL, its commands and its folder, which allow no other source.
 *
 * @param names gives the variables their names.
 */
export function withoutArgumentSecrets(
  entry: ServerEntry,
  names = new SecretVariables(),
): { entry: ServerEntry; variables: ArgumentSecret[] } {
  const variables: ArgumentSecret[] = [];
  const instead: Instead = (secret, name) => {
    const variable = names.nameFor(entry.name, name, secret);
    if (!variables.some((each) => each.variable === variable)) variables.push({ variable, secret });
    return `\${${variable}}`;
  };
  const inWords = (words: readonly string[]) =>
    words.map((word, index, all) => inArgument(word, all[index - 1], instead));
  const args = entry.args && inWords(entry.args);
  /** Commands that print a value are written out too. */
  const inCommands = (values: ServerEntry["env"]) =>
    values &&
    Object.fromEntries(
      Object.entries(values).map(([key, value]) =>
        typeof value === "string" || value.command === undefined
          ? [key, value]
          : [key, { ...value, command: inWords(value.command) as [string, ...string[]] }],
      ),
    );
  const inText = (text: string | undefined) => (text === undefined ? undefined : replaceIn(text, instead));
  const changed = {
    command: inText(entry.command),
    args,
    cwd: inText(entry.cwd),
    url: entry.url === undefined ? undefined : replaceInUrl(entry.url, instead),
    env: inCommands(entry.env),
    headers: inCommands(entry.headers),
  };
  const given = Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== undefined));
  return { entry: { ...entry, ...given }, variables };
}

/** Returns the text that stands instead of a secret. @param name what the secret is called where it stands. */
type Instead = (secret: string, name: string) => string;

/** Whether a part of a text is a secret: a token, the password of a URL, a value under a secret name. */
function holdsSecret(text: string): boolean {
  let isFound = false;
  replaceIn(text, (secret) => {
    isFound = true;
    return secret;
  });
  return isFound;
}

const FLAG = /^--?[\w-]+$/;
const USER_FLAG = /^(?:-u|--user|--userpwd|--proxy-user)$/;

function inArgument(argument: string, before: string | undefined, instead: Instead): string {
  if (before !== undefined && FLAG.test(before) && !argument.startsWith("-")) {
    if (isSecretInFlag(nameOfFlag(before), argument) && !isReplaced(argument))
      return withScheme(argument, (secret) => instead(secret, nameOfFlag(before)));
    const [, user, password = ""] = /^([^:\s]+):(\S+)$/s.exec(argument) ?? [];
    if (USER_FLAG.test(before) && user !== undefined && !isReplaced(password))
      return `${user}:${instead(password, "password")}`;
  }
  // `--header=Name: value` is a header too.
  const [, flag = "", rest = argument] = /^(--?(?:header|headers|H)=)(.+)$/is.exec(argument) ?? [];
  const [, head, name = "", value = ""] = /^((["']?[A-Za-z][\w-]*)\s*:(?!\/\/)\s*)(\S.*)$/s.exec(rest) ?? [];
  if (head !== undefined && !isReplaced(value) && !rest.trimStart().startsWith("{")) {
    const isNamed = isSecret(name.replace(/^["']/, ""), SCHEME.exec(value)?.[2] ?? value);
    if (isNamed || SCHEME.test(value))
      return `${flag}${head}${withScheme(value, (secret) => instead(secret, name))}`;
  }
  // A long word of letters and digits alone is a key.
  const isKey = /^[A-Za-z0-9_]{24,}={0,2}$/.test(argument) && (argument.match(/[0-9]/g)?.length ?? 0) >= 4;
  if (isKey && /[A-Za-z]/.test(argument)) return instead(argument, "secret");
  return replaceIn(argument, instead);
}

function isSecretInFlag(name: string, value: string): boolean {
  return isSecret(name, value) || (SECRET_FLAG.test(name) && !NO_SECRET.test(value));
}

function isSecretInQuery(name: string, value: string): boolean {
  return isSecretInFlag(name, value) || (/key$|^auth|^code$|session/i.test(name) && !NO_SECRET.test(value));
}

function nameOfFlag(flag: string): string {
  return flag.replace(/^-+/, "");
}

/** Replaces the secret of `Bearer secret`, or the whole text. */
function withScheme(value: string, change: (secret: string) => string): string {
  const [, scheme = "", secret = value] = SCHEME.exec(value) ?? [];
  return scheme + change(secret);
}

/** Whether a secret already has a reference instead. */
function isReplaced(secret: string): boolean {
  return secret === "" || /\$\{[A-Za-z_]|^%\w+%$/.test(secret);
}

/** Finds tokens by their form. */
const TOKENS = new SecretMatcher([]);
/** The user and the password of a URL. The last `@` before the next space or quotation mark ends a password, which may hold others. */
const URL_USER =
  /([a-z][a-z0-9+.-]*:\/\/)([^\s/?#:@"'<>]*)(?::((?!\d+[/?#])[^\s"'<>]*?))?@(?![^\s"'<>?#]*@)/gi;
const QUERY = /([?&#;]([\w.-]+)=)([^&#;\s"'<>]+)/g;
const JSON_MEMBER = /(\\?"([\w.-]+)\\?"\s*:\s*\\?")((?:[^"\\]|\\[^"])+)(?=\\?")/g;
/** A part of a connection string: `Server=x;User Id=a;Password=b c`. */
const CONNECTION = /((?:^|;)\s*([A-Za-z][\w ]*)=)([^;]+)(?=;|$)/g;
const NOTHING = /(?!)/g;
/** `NAME=value` in a list of assignments: variables of a shell, and flags. */
const ASSIGNED = /((?:^|[\s"';,|])(?:--?)?([A-Za-z_][\w.-]*(?: [A-Za-z]+)?)=)("[^"]*"|'[^']*'|[^\s"';,|]+)/g;
const FLAG_IN_TEXT = /((?:^|\s)--?([A-Za-z][\w-]*)\s+)("[^"]*"|'[^']*'|[^\s"'-][^\s"']*)/g;
const SCHEME_IN_TEXT = /(\b(?:Bearer|Basic|Token)\s+)((?=[^\s"']*\d)[A-Za-z0-9._~+/=-]{8,})/g;

/** Replaces the secrets within a text. */
function replaceIn(text: string, instead: Instead): string {
  const byName = (isNamed: (name: string, value: string) => boolean) => {
    return (whole: string, before: string, name: string, secret: string) =>
      isReplaced(secret) || !isNamed(name, unquoted(secret))
        ? whole
        : before + withQuotes(secret, (inner) => withScheme(inner, (each) => instead(each, name)));
  };
  const assigned = (within: string): string =>
    within.replaceAll(ASSIGNED, (whole, before: string, name: string, value: string) => {
      const isNamed = isFlag(before) ? isSecretInFlag : isSecret;
      const replaced = byName(isNamed)(whole, before, name, value);
      // The value of a flag can be an assignment: `--env=NAME=value`.
      return replaced === whole && value.includes("=") ? before + assigned(value) : replaced;
    });
  const withoutUsers = text.replaceAll(URL_USER, (whole, before: string, user: string, password?: string) => {
    if (password !== undefined)
      return isReplaced(password) ? whole : `${before}${user}:${instead(password, "password")}@`;
    const isPlain = isReplaced(user) || SETTING.test(user) || !/\d/.test(user) || user.length < 12;
    return isPlain ? whole : `${before}${instead(user, "token")}@`;
  });
  const named = assigned(
    withoutTokens(withoutUsers, instead)
      .replaceAll(text.includes(";") ? CONNECTION : NOTHING, byName(isSecretInFlag))
      .replaceAll(QUERY, byName(isSecretInQuery))
      .replaceAll(JSON_MEMBER, byName(isSecretInFlag)),
  );
  return named
    .replaceAll(FLAG_IN_TEXT, byName(isSecretInFlag))
    .replaceAll(SCHEME_IN_TEXT, (whole, before: string, secret: string) =>
      isReplaced(secret) ? whole : before + instead(secret, "token"),
    );
}

function withoutTokens(text: string, instead: Instead): string {
  return TOKENS.find(text).reduceRight((whole, { start, end }) => {
    const token = text.slice(start, end);
    return isReplaced(token) ? whole : whole.slice(0, start) + instead(token, "secret") + whole.slice(end);
  }, text);
}

function isFlag(before: string): boolean {
  return /^\s*--?\w/.test(before);
}

function unquoted(text: string): string {
  return /^(["']).*\1$/s.test(text) ? text.slice(1, -1) : text;
}

function withQuotes(text: string, change: (inner: string) => string): string {
  return unquoted(text) === text ? change(text) : text[0] + change(unquoted(text)) + text.at(-1);
}

/** A long part of a path with letters and digits is a key, such as that of a hosted server: `/s/NWQx.../mcp`. */
const KEY_IN_PATH =
  /(?<=\/)(?=[^/?#]*\d[^/?#]*\d[^/?#]*\d)(?=[^/?#]*[A-Za-z])[A-Za-z0-9_=-]{20,}(?=[/?#]|$)/g;

function replaceInUrl(url: string, instead: Instead): string {
  const replaced = replaceIn(url, instead);
  const [, origin = "", path = "", rest = ""] =
    /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)([^?#]*)(.*)$/is.exec(replaced) ?? [];
  if (origin === "") return replaced;
  return origin + path.replaceAll(KEY_IN_PATH, (key) => instead(key, "secret")) + rest;
}
