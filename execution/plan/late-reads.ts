import { isObject } from "../../base/json.ts";
import type { ReadPart, Step } from "../../broker/approvals/plan.ts";
import { findShape, type Shape } from "../../broker/approvals/shape.ts";
import type { Tool } from "../../catalog/tool.ts";

/** A read that a program makes only after a change. What it brings in the real run may be something else. */
export interface LateRead {
  /** The number of the call within the rehearsal, from 1. */
  readonly seq: number;
  readonly tool: Tool;
  readonly arguments: unknown;
  /** How many calls of the plan had ended before. */
  readonly after: number;
  /** Whether the answers are made up, and not a server's. */
  readonly isInvented: boolean;
  /** What it answered, and what it answered in the second rehearsal. */
  readonly answer: unknown;
  readonly other: unknown;
}

/** Whether an answer says nothing: no text, no number but 0, nothing that is true. */
export function isEmptyAnswer(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isEmptyAnswer);
  if (isObject(value)) return Object.values(value).every(isEmptyAnswer);
  return value === null || value === undefined || value === "" || value === 0 || value === false;
}

/** A text or a number in an answer, as it was in both rehearsals. */
interface Leaf {
  readonly seq: number;
  readonly isInvented: boolean;
  readonly path: readonly Step[];
  readonly value: string | number;
  readonly one: string;
  readonly two: string;
}

const MAX_LEAVES = 5_000;
const MAX_DEPTH = 32;
/** The longest piece of a text that is looked for, and the most pieces of one value. */
const MAX_PIECE_CHARS = 300;
const MAX_PIECES = 20;
/** Pieces of texts, the widest first: addresses, names with joints, words. */
const PIECES = [
  /[A-Za-z0-9]+(?:[-_.:/@?=&%#+~]+[A-Za-z0-9]+)*/g,
  /[A-Za-z0-9]+(?:[-_]+[A-Za-z0-9]+)*/g,
  /[A-Za-z0-9]+/g,
];
/** How invented texts begin, and what is in invented addresses. A server's own may look like them. */
const STAND_IN = /^standin-/;
const INVENTED = /standin|example\.invalid/;

/** A part of a late read's answer, by the number of its call in the rehearsal. */
export type FoundPart = Omit<ReadPart, "read" | "tool" | "after"> & { readonly seq: number };

/** Finds where values come from that late reads bring. */
export class LateValues {
  readonly #leaves: readonly Leaf[];

  constructor(reads: readonly LateRead[]) {
    // The newest answer is the likeliest source.
    this.#leaves = [...reads].reverse().flatMap(leavesOf);
  }

  /** The part that is the whole of a value, in both rehearsals. */
  whole(value: string | number, other: string | number): FoundPart | undefined {
    const [one, two] = [String(value), String(other)];
    const leaf = this.#leaves.find((each) => each.one === one && each.two === two);
    if (leaf === undefined) return undefined;
    const { seq, path } = leaf;
    const type = typeof value as FoundPart["type"];
    // Of an invented text or number only the type is known.
    if (isFormless(leaf)) return { seq, path, type };
    const shape = shapeOf(one, two);
    return shape && { seq, path, type, shape };
  }

  /** The texts and the parts of answers of which a text is made; `undefined` if anything of it is of neither. */
  pieces(one: string, two: string): (string | FoundPart)[] | undefined {
    if (one.length !== two.length) return undefined;
    const found: (string | FoundPart)[] = [];
    let from = 0;
    for (let at = firstDifference(one, two, from); at < one.length; at = firstDifference(one, two, from)) {
      const piece = this.#piece(one, two, at, from);
      if (piece === undefined || found.length > MAX_PIECES) return undefined;
      if (piece.from > from) found.push(one.slice(from, piece.from));
      found.push(piece.part);
      from = piece.to;
    }
    if (from < one.length) found.push(one.slice(from));
    return found;
  }

  #piece(one: string, two: string, at: number, from: number) {
    for (const pattern of PIECES) {
      const match = [...one.slice(from).matchAll(pattern)].find(
        ({ index, 0: text }) => from + index <= at && at < from + index + text.length,
      );
      if (match === undefined || match[0].length > MAX_PIECE_CHARS) continue;
      const start = from + match.index;
      const to = start + match[0].length;
      const [first, second] = [match[0], two.slice(start, to)];
      const whole = STAND_IN.test(first) ? this.whole(first, second) : undefined;
      // A piece of something invented says nothing of what will be there.
      if (whole === undefined && INVENTED.test(first) && !this.#isOfServer(first, second)) return undefined;
      const part = whole ?? this.#within(first, second);
      if (part !== undefined) return { from: start, to, part };
    }
    return undefined;
  }

  /** Whether a server's own answer has a piece. */
  #isOfServer(one: string, two: string): boolean {
    return this.#leaves.some((leaf) => !leaf.isInvented && leaf.one.includes(one) && leaf.two.includes(two));
  }

  /** A piece of a text of an answer, by its form and its place among pieces of the same form. */
  #within(one: string, two: string): FoundPart | undefined {
    const shape = shapeOf(one, two);
    if (shape === undefined) return undefined;
    for (const leaf of this.#leaves) {
      const inOne = findShape(shape, leaf.one);
      const nth = inOne.indexOf(one);
      if (nth >= 0 && findShape(shape, leaf.two)[nth] === two)
        return { ...{ seq: leaf.seq, path: leaf.path, shape, nth: nth + 1 }, type: "string" };
    }
    return undefined;
  }
}

/** Whether an invented value has no form that says anything: a marked text or number. */
function isFormless({ isInvented, value }: Leaf): boolean {
  if (!isInvented) return false;
  return typeof value === "number" ? value >= 10 ** 9 && Number.isInteger(value) : STAND_IN.test(value);
}

function leavesOf({ seq, isInvented, answer, other }: LateRead): Leaf[] {
  const found: Leaf[] = [];
  const collect = (one: unknown, two: unknown, path: Step[]) => {
    if (found.length >= MAX_LEAVES || path.length > MAX_DEPTH) return;
    if (isLeaf(one) && isLeaf(two)) {
      if (one !== two) found.push({ seq, isInvented, path, value: one, one: String(one), two: String(two) });
    } else if (Array.isArray(one) && Array.isArray(two))
      for (const index of one.keys()) collect(one[index], two[index], [...path, index]);
    else if (isObject(one) && isObject(two))
      for (const name of Object.keys(one)) collect(one[name], two[name], [...path, name]);
  };
  collect(answer, other, []);
  return found;
}

function isLeaf(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

function firstDifference(one: string, two: string, from: number): number {
  let at = from;
  while (at < one.length && one[at] === two[at]) at++;
  return at;
}

/** The form that two pieces have in common: what is the same in both, and how many other digits or letters there are. */
function shapeOf(one: string, two: string): Shape | undefined {
  const split = (text: string) => text.match(/[A-Za-z0-9]+|[^A-Za-z0-9]+/g) ?? [];
  const [first, second] = [split(one), split(two)];
  if (one.length > MAX_PIECE_CHARS || first.length !== second.length) return undefined;
  const shape: Shape[number][] = [];
  for (const [index, run] of first.entries()) {
    const other = second[index] ?? "";
    if (run.length !== other.length) return undefined;
    const last = shape.at(-1);
    if (run === other && typeof last === "string") shape[shape.length - 1] = last + run;
    else if (run === other) shape.push(run);
    else if (/^\d+$/.test(run)) shape.push({ digits: run.length });
    else shape.push({ mixed: run.length });
  }
  return shape;
}
