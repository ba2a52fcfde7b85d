/**
 * Every way in which common encoders write a text: as it is, escaped in JSON (once and twice), in a URL, in HTML, in
 * base64 and base64url wherever it stands in what was encoded, and in hexadecimal. Most secrets look the same in most of them.
 */
export function encodedForms(secret: string): string[] {
  const bytes = Buffer.from(secret, "utf8");
  const forms = new Set([
    secret,
    ...jsonForms(secret),
    ...percentForms(bytes),
    ...htmlForms(secret),
    ...base64Forms(bytes),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
  ]);
  return [...forms];
}

/** What each family of JSON writers escapes beyond what JSON demands, and in which case it writes hexadecimal digits. */
const JSON_WRITERS: readonly { escapes: RegExp; upper?: true }[] = [
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is "all but ASCII"
  { escapes: /[^\x00-\x7f]/g }, // Python, PHP
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
  { escapes: /[^\x00-\x7f]/g, upper: true },
  { escapes: /[<>&\u2028\u2029]/g }, // Go
  { escapes: /[<>&']/g, upper: true }, // PHP with JSON_HEX_*
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
  { escapes: /[^\x00-\x7e]|["&'+<>`]/g, upper: true }, // .NET
];

function jsonForms(secret: string): string[] {
  const plain = jsonBody(secret);
  const once = [
    plain,
    ...JSON_WRITERS.map(({ escapes, upper }) => writeJson(secret, escapes, upper === true)),
  ];
  const withSlashes = once.map((form) => form.replaceAll("/", "\\/"));
  return [...once, ...withSlashes, ...[...once, ...withSlashes].map(jsonBody)];
}

function writeJson(secret: string, escapes: RegExp, upper: boolean): string {
  // Each character by itself, so that what one step has escaped is not escaped again by the next.
  return secret.replace(/[\s\S]/g, (character) => {
    if (character.search(escapes) < 0) return jsonBody(character);
    const digits = character.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${upper ? digits.toUpperCase() : digits}`;
  });
}

function jsonBody(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** What each family of URL encoders leaves as it is, beside letters and digits. */
const PERCENT_WRITERS = [
  "-_.~", // RFC 3986, Go, Python with safe=''
  "-_.!~*'()", // encodeURIComponent
  "-_.*", // application/x-www-form-urlencoded
  "-_.~/", // Python
  "-_.~$&+=:@", // Go's path segments
  "-_.!~*'();,/?:@&=+$#", // encodeURI
];

function percentForms(bytes: Buffer): string[] {
  return PERCENT_WRITERS.flatMap((kept) => {
    const upper = Array.from(bytes, (byte) => {
      const character = String.fromCharCode(byte);
      if (/[A-Za-z0-9]/.test(character) || kept.includes(character)) return character;
      return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    }).join("");
    const lower = upper.replace(/%[0-9A-F]{2}/g, (escaped) => escaped.toLowerCase());
    return [upper, lower, upper.replaceAll("%20", "+"), lower.replaceAll("%20", "+")];
  });
}

/** How HTML writers write quotes; `&`, `<` and `>` have one way. */
const HTML_QUOTES = [
  ['"', "'"],
  ["&quot;", "'"],
  ["&quot;", "&#39;"],
  ["&quot;", "&#x27;"],
  ["&quot;", "&#039;"],
  ["&quot;", "&apos;"],
  ["&#34;", "&#39;"],
] as const;

function htmlForms(secret: string): string[] {
  const base = secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return HTML_QUOTES.map(([double, single]) => base.replaceAll('"', double).replaceAll("'", single));
}

/**
 * The base64 of the bytes wherever they begin within a group of three, less the characters at both ends that depend on what
 * stands around them.
 */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const own = [Math.ceil((before * 8) / 6), Math.floor((padded.length * 8) / 6)];
    return [padded.toString("base64").slice(...own), padded.toString("base64url").slice(...own)];
  });
}
