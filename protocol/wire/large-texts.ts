/**
 * A large text is most of the result that it stands in. To write it as JSON and to parse it again takes longer than its way into
 * the sandbox, so it goes as a frame of its own after the message, which has `null` in its place.
 */

import { isWellFormed } from "../../base/text/is-well-formed.ts";

/** Where in a value a text stands: the names and indices that lead to it, none where the value is the text. */
export type TextPlace = readonly (string | number)[];

/** A value without its large texts. */
export interface LiftedTexts {
  value: unknown;
  places: TextPlace[];
  /** The texts, in the order of their places. */
  texts: string[];
}

/** Results below this have no large text. */
export const LARGE_TEXT_CHARS = 64 * 1024;

/** Texts are looked for where tools have them: in a few members, not deep down. */
const MAX_DEPTH = 4;
const MAX_MEMBERS = 100;

/** Takes the large texts out of a copy of a JSON value. `undefined` where none is found. */
export function liftTexts(value: unknown): LiftedTexts | undefined {
  const places: TextPlace[] = [];
  const texts: string[] = [];
  const lift = (each: unknown, at: TextPlace): unknown => {
    if (typeof each === "string") {
      if (each.length < LARGE_TEXT_CHARS || !isWellFormed(each)) return each;
      places.push(at);
      texts.push(each);
      return null;
    }
    if (typeof each !== "object" || each === null || at.length === MAX_DEPTH) return each;
    const names = Object.keys(each);
    if (names.length > MAX_MEMBERS) return each;
    const before = texts.length;
    const members = names.map((name, index) => {
      const key = Array.isArray(each) ? index : name;
      const member: unknown = Reflect.get(each, name);
      return [name, name === "__proto__" ? member : lift(member, [...at, key])] as const;
    });
    if (texts.length === before) return each;
    return Array.isArray(each) ? members.map(([, member]) => member) : Object.fromEntries(members);
  };
  const rest = lift(value, []);
  return texts.length === 0 ? undefined : { value: rest, places, texts };
}

/** Puts a text into its place in a value, and returns that value: the text itself where nothing is around it. */
export function putText(value: unknown, place: TextPlace, text: string): unknown {
  const last = place.at(-1);
  if (last === undefined) return text;
  let holder = value;
  for (const name of place.slice(0, -1)) holder = Reflect.get(holder as object, name);
  Reflect.set(holder as object, last, text);
  return value;
}
