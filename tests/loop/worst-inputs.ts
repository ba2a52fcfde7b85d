/** Texts that cost parsers most for their size: repeats, depth, breadth, and near misses of patterns. */

/** Values of JSON in a text of about so many bytes. */
export function worstJson(bytes: number): Record<string, string> {
  const fill = (unit: string, around: readonly [string, string] = ["", ""]) =>
    around[0] + unit.repeat(Math.floor(bytes / unit.length)).slice(0, -1) + around[1];
  const members = Array.from({ length: Math.floor(bytes / 12) }, (_, i) => `"k${i}":1`).join(",");
  return {
    "one long text": JSON.stringify("x".repeat(bytes)),
    "one text of escapes": `"${"\\u001b".repeat(Math.floor(bytes / 6))}"`,
    "one text of quotes": JSON.stringify('"'.repeat(bytes / 2)),
    "many numbers": fill("1,", ["[", "]"]),
    "many texts": fill('"ab",', ["[", "]"]),
    "many lists": fill("[],", ["[", "]"]),
    "many members": `{${members.slice(0, bytes)}}`.replace(/,"[^"]*"?:?\}$/, "}"),
    "lists in lists": "[".repeat(bytes / 2) + "]".repeat(bytes / 2),
    "objects in objects": `${'{"a":'.repeat(bytes / 6)}1${"}".repeat(bytes / 6)}`,
    "a text that does not end": `"${"x".repeat(bytes)}`,
    backslashes: `"${"\\".repeat(bytes)}`,
    "long numbers": fill("1e300,", ["[", "]"]),
  };
}

/** Whether all inputs are tried, as `npm run fuzz -- --target loop` does. A run of all tests tries some. */
const isWhole = process.env.PTC_LOOP === "whole";
const SOME_TEXTS = new Set([
  "one letter",
  "line feeds",
  "quotes",
  "almost links",
  "many addresses",
  "other scripts",
]);

/** Some of what `worstTexts` makes, for a target that many are sent to. */
export function someTexts(chars: number): Record<string, string> {
  const all = Object.entries(worstTexts(chars));
  return Object.fromEntries(isWhole ? all : all.filter(([what]) => SOME_TEXTS.has(what)));
}

/** Texts of about so many characters. */
export function worstTexts(chars: number): Record<string, string> {
  const fill = (unit: string) => unit.repeat(Math.ceil(chars / unit.length)).slice(0, chars);
  return {
    "one letter": fill("a"),
    "one digit": fill("7"),
    spaces: `${fill(" ")}x`,
    "line feeds": fill("\n"),
    "CR LF": fill("\r\n"),
    quotes: fill('"'),
    backslashes: fill("\\"),
    "open brackets": fill("(["),
    "almost addresses": fill("a.b-c_d+"),
    "almost links": fill("http:/"),
    "many links": fill("https://a.test/ "),
    "many addresses": fill("ada@a.test "),
    "base64 without an end": fill("eyJhbGciOi"),
    "almost a key": fill("-----BEGIN "),
    "almost a token": fill("ghp_ sk- xoxb-"),
    assignments: fill("password="),
    words: fill("word "),
    "control characters": fill("\u001b[31m"),
    "marks on one letter": `a${fill("\u0301")}`,
    "other scripts": fill("Ж漢🦊"),
    "halves of characters": fill("\ud83d"),
    asterisks: fill("*a"),
    "digits in groups": fill("4111 1111 1111 1111 "),
    "digits with dots": fill("192.168.1."),
    colons: fill("a:"),
    "stars and slashes": fill("/*"),
    backticks: fill("`${"),
  };
}
