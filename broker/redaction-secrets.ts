/** Shorter texts occur by chance: to replace them would garble what a program returns. */
const MIN_SECRET_CHARS = 8;
/** The same for what is known to be a credential. */
export const MIN_CREDENTIAL_CHARS = 6;

/** A letters-only word of one case that is shorter than this is a name (`production`, `inventory`), not a secret. */
const MIN_WORD_CHARS = 12;
const MIN_NUMBER_CHARS = 12;
/** Lines of a key are 64 characters; the short last one says nothing by itself. */
const MIN_LINE_CHARS = 16;

/** Words that are values of settings, also of those that a secret's name is given to by mistake. */
const SETTINGS = new Set(
  `default development disabled enabled localhost master message postgres private production public readonly release
   sandbox sqlite staging standard testing verbose warning`.split(/\s+/),
);

/**
 * Why a configured value is not redacted, as a message goes on after its name, or `undefined` if it is. Values of
 * `env` are secrets unless their form says otherwise: too short, a word, a number, a path, an address. Of a credential (a
 * header, a variable, what is named like a secret) a word is one too.
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
 * The texts to look for on account of one configured value: itself, or what in it is secret by itself: the credential after
 * `Bearer`, the password of a URL, `name=value` pairs, the lines of a key, the texts in a JSON document.
 */
export function secretsIn(value: string, isCredential = false): string[] {
  const isSecret = isCredential ? isCredentialText : isSecretText;
  const whole = value.trim();
  const json = parseDocument(whole);
  const parts = [
    ...(json === undefined ? [] : textsIn(json)),
    ...credentialParts(whole),
    ...urlParts(whole),
    ...assignedParts(whole),
    ...lineParts(json === undefined ? whole : ""),
  ].filter(isSecret);
  // `Bearer abc...` is found by its credential; the word before it is everywhere.
  const covered = SCHEME.exec(whole)?.[1];
  if (isSecret(whole) && (covered === undefined || !parts.includes(covered))) parts.push(whole);
  return [...new Set(parts)];
}

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
  const parts = [url.password, ...url.searchParams.values()];
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
  // What a redaction leaves behind.
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

/** A token can begin with a slash, and a webhook's secret is a segment of its address. */
function looksRandom(segment: string): boolean {
  return segment.length >= 16 && /[a-z]/.test(segment) && /[A-Z]/.test(segment) && /[0-9]/.test(segment);
}

function parseUrl(text: string): URL | undefined {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
