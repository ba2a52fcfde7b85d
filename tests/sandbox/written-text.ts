/**
 * Texts that a grammar and a seed decide. Between « and » stands what is chosen: one of some texts (`«a|b»`), a number
 * (`«0..9»`), one text of a rule (`«RULE»`) or several of them, each on a line (`«1-4 RULE»`). Chosen texts are written in
 * the same way.
 */

import type { Random } from "../fuzz/random.ts";

export type Rules = Readonly<Record<string, readonly string[]>>;

/** @throws Error for a rule that is not there. */
export function writeText(random: Random, text: string, rules: Rules): string {
  const choose = (what: string): string => {
    if (what.includes("|")) return random.pick(what.split("|"));
    const number = /^(\d+)\.\.(\d+)$/.exec(what);
    if (number !== null) return String(random.between(Number(number[1]), Number(number[2])));
    const [, least, most, name = what] = /^(\d+)-(\d+) (.+)$/.exec(what) ?? [];
    const count = least === undefined ? 1 : random.between(Number(least), Number(most));
    const encoding = /^(hex|base64) bytes$/.exec(name)?.[1];
    if (encoding !== undefined) return random.bytes(count).toString(encoding as BufferEncoding);
    const texts = rules[name];
    if (texts === undefined) throw new Error(`the grammar has no rule '${name}'`);
    return random.list(count, () => writeText(random, random.pick(texts), rules)).join("\n");
  };
  return text.replace(/«([^»]*)»/g, (_, what: string) => choose(what));
}
