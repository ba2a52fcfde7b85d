import { MASKED } from "./text-redaction.ts";

/** Shorter texts occur by chance, so replacing them would garble results of programs. */
const MIN_SECRET_CHARS = 8;
/** The same bound for known credentials. */
export const MIN_CREDENTIAL_CHARS = 6;

/** A shorter word of letters of one case is a name (`production`, `inventory`), not a secret. */
const MIN_WORD_CHARS = 12;
const MIN_NUMBER_CHARS = 12;
/** Lines of a key have 64 characters. A short last line alone is not a secret. */
const MIN_LINE_CHARS = 16;

/** Common values of settings, which are not secrets even under a name that suggests one. */
const SETTINGS = new Set(
  `default development disabled enabled localhost master message postgres private production public readonly release
   sandbox sqlite staging standard testing verbose warning`.split(/\s+/),
);

/**
 * Why a configured value is not redacted, as a phrase that follows its name, or `undefined` if it is redacted. Values of `env`
 * are secrets unless their form suggests otherwise: too short, a word, a number, a path, an address. A credential (a header, a
 * variable, or a value whose name suggests a secret) may also be a word.
 */
export function whyNotRedacted(value: string, isCredential = false): string | undefined {
  if (secretsIn(value, isCredential).length > 0) return undefined;
  const { length } = value.trim();
  const least = isCredential ? MIN_CREDENTIAL_CHARS : MIN_SECRET_CHARS;
  return length < least
    ? `has ${length} characters, and values of fewer than ${least} are not redacted`
    : "looks like a plain setting (a word, a number, a path or an address) and is not redacted";
}

/**
 * The texts to redact for one configured value: the value itself, or the secret parts of it. These are the credential after
 * `Bearer`, the password of a URL, values of `name=value` pairs, the lines of a key, and the texts in a JSON document.
 */
export function secretsIn(value: string, isCredential = false): string[] {
  const isSecret = isCredential ? isCredentialText : isSecretText;
  const whole = value.trim();
  const json = parseDocument(whole);
  const inUrls = urlCredentialsIn(whole);
  const parts = [
    ...(json === undefined ? [] : textsIn(json)),
    ...credentialParts(whole),
    ...urlParts(whole),
    ...assignedParts(whole),
    ...lineParts(json === undefined ? whole : ""),
  ].filter(isSecret);
  // In `Bearer abc...` only the credential is redacted, because the word before it is common.
  const covered = SCHEME.exec(whole)?.[1];
  if (isSecret(whole) && (covered === undefined || !parts.includes(covered))) parts.push(whole);
  return [...new Set([...parts, ...inUrls])];
}

/**
 * The texts to redact for the URLs in a text. A password counts even if it looks like a word. A password that is too short or too
 * common to redact everywhere is redacted only together with its surroundings in the URL.
 */
export function urlCredentialsIn(text: string): string[] {
  return [...text.matchAll(URL_USER)].flatMap(([, user = "", password = ""]) => {
    if (password === "") return isSecretText(user) ? [user] : [];
    const inPlace = `${user}:${password}@`;
    const passwords = [password, decodePercent(password)].filter(isCredentialText);
    return [...passwords, inPlace.length < MIN_CREDENTIAL_CHARS ? `://${inPlace}` : inPlace];
  });
}

/** The user, and the password if there is one, of a URL (RFC 3986, section 3.2.1). The last `@` of an authority ends them. */
const URL_USER = /:\/\/([^\s/?#:@"'<>]{0,256})(?::([^\s/?#"'<>]{0,1024}))?@/g;

const SCHEME = /^[A-Za-z][A-Za-z-]*\s+(\S+)$/;

function credentialParts(value: string): string[] {
  const credential = SCHEME.exec(value)?.[1];
  if (credential === undefined) return [];
  if (!/^basic\s/i.test(value)) return [credential];
  const pair = Buffer.from(credential, "base64").toString("utf8");
  return [credential, pair.slice(pair.indexOf(":") + 1)];
}

function urlParts(value: string): string[] {
  const url = parseUrl(value);
  if (url === undefined) return [];
  const parts = [...url.searchParams.values()];
  return parts.flatMap((part) => [part, decodePercent(part)]);
}

function assignedParts(value: string): string[] {
  return value.split(/[;,&\s]+/).flatMap((pair) => /^[\w.-]+=(.+)$/.exec(pair)?.[1] ?? []);
}

function lineParts(value: string): string[] {
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  if (lines.length === 1) return [];
  return lines.filter((line) => line.length >= MIN_LINE_CHARS && !line.startsWith("-----"));
}

function parseDocument(value: string): unknown {
  if (!/^[[{]/.test(value)) return undefined;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

function textsIn(json: unknown): string[] {
  if (typeof json === "string") return [json, ...lineParts(json)];
  return typeof json === "object" && json !== null ? Object.values(json).flatMap(textsIn) : [];
}

function isSecretText(text: string): boolean {
  return text.length >= MIN_SECRET_CHARS && !WORD.test(text) && !isPlainSetting(text);
}

function isCredentialText(text: string): boolean {
  return text.length >= MIN_CREDENTIAL_CHARS && !SETTINGS.has(text.toLowerCase()) && !isPlainSetting(text);
}

const WORD = new RegExp(`^(?=.{1,${MIN_WORD_CHARS - 1}}$)(?:[a-z]+|[A-Z]+|[A-Z][a-z]+)$`);

const PLAIN: readonly RegExp[] = [
  new RegExp(`^(?=.{1,${MIN_NUMBER_CHARS - 1}}$)[\\d.,:+-]+$`),
  /^\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?$/,
  /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-][\d:]+)?)?$/,
  // Host names.
  /^(?=.{1,120}$)(?:[a-z0-9-]{1,40}\.)+[a-z]{2,10}(?::\d+)?$/,
  /^localhost:\d+$/,
  // Media types, locales, time zones, cloud regions.
  /^(?:application|audio|font|image|multipart|text|video|\*)\/[a-z0-9.+*-]+(?:[;,].*)?$/,
  /^[a-z]{2}[_-][A-Z]{2}\.(?:utf8|UTF-8)$/,
  /^(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Etc|Europe|Indian|Pacific)\/[A-Za-z/_+-]+$/,
  /^(?:af|ap|ca|cn|eu|il|me|mx|sa|us|africa|asia|australia|europe|northamerica|southamerica)(?:-[a-z]+){1,3}-?\d{1,2}[a-z]?$/,
  // The marks of redaction.
  /^\[?REDACTED\]?$/,
];

function isPlainSetting(text: string): boolean {
  if (PLAIN.some((pattern) => pattern.test(text))) return true;
  const url = parseUrl(text);
  const path = url === undefined ? filePath(text) : url.pathname;
  if (path === undefined || path.split(/[\\/]/).some(looksRandom)) return false;
  return url === undefined || (url.password === "" && url.search === "");
}

function filePath(text: string): string | undefined {
  return /^(?:~|\.{1,2})?\/|^[A-Za-z]:[\\/]/.test(text) ? text : undefined;
}

/** Whether a segment looks random. A token can begin with a slash, and a webhook's secret is a segment of its URL. */
function looksRandom(segment: string): boolean {
  return segment.length >= 16 && /[a-z]/.test(segment) && /[A-Z]/.test(segment) && /[0-9]/.test(segment);
}

function parseUrl(text: string): URL | undefined {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
}

/** Decodes percent-encoded text. Returns invalid encodings unchanged. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Shorter values are not masked, because they occur in ordinary words. */
const MIN_MASKED_CHARS = 4;

/**
 * Masks a server's configuration in the errors of that server, which quote its address and its stderr.
 *
 * It is stricter than a `Redactor` and uses another mark. It masks every configured value, even a short or ordinary one, because
 * an error is not a program's data that could be garbled. ptc also redacts an error that it passes on to a program.
 */
export class FaultMask {
  readonly #texts: readonly string[];

  /**
   * @param configured values of the configuration and of the server's credentials. Each word of a value is masked too.
   * @param places the server's arguments or its URL, where only passwords are masked.
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
