/** What holds a term, and how strongly: two columns of equal length. Good until the lists change. */
export interface Posting {
  readonly slots: Int32Array;
  readonly impacts: Float64Array;
}

/** Numbers of a list: where it begins, its length, and for how many there is room. */
const STRIDE = 3;

/**
 * Lists of postings by number, all in two arrays: as objects of their own, a list for each term of a large catalog would
 * take longer to allocate and to collect than to fill. A list that is full moves to where it has twice the room.
 */
export class PostingLists {
  #lists = new Int32Array(1 << 12);
  #slots = new Int32Array(1 << 14);
  #impacts = new Float64Array(1 << 14);
  #used = 0;
  /** Where lists have moved away, by the binary logarithm of the room there. */
  readonly #vacant: number[][] = Array.from({ length: 32 }, () => []);

  /** Returns whether the list was empty. */
  add(list: number, slot: number, impact: number): boolean {
    const at = list * STRIDE;
    if (at + STRIDE > this.#lists.length) this.#lists = enlarged(this.#lists, at + STRIDE);
    const length = this.#lists[at + 1] as number;
    if (length === this.#lists[at + 2]) this.#move(at, length === 0 ? 1 : Math.max(4, length * 2));
    const place = (this.#lists[at] as number) + length;
    this.#slots[place] = slot;
    this.#impacts[place] = impact;
    this.#lists[at + 1] = length + 1;
    return length === 0;
  }

  /** Takes the postings of slots out of a list, and returns whether that has none now. */
  remove(list: number, isGone: Uint8Array): boolean {
    const at = list * STRIDE;
    const from = this.#lists[at] as number;
    const to = from + (this.#lists[at + 1] as number);
    let kept = from;
    for (let place = from; place < to; place++) {
      const slot = this.#slots[place] as number;
      if (isGone[slot] === 1) continue;
      this.#slots[kept] = slot;
      this.#impacts[kept] = this.#impacts[place] as number;
      kept++;
    }
    this.#lists[at + 1] = kept - from;
    if (kept === from) this.#vacate(at);
    return kept === from;
  }

  /** A list, if it is not empty. */
  get(list: number): Posting | undefined {
    const at = list * STRIDE;
    const from = this.#lists[at] ?? 0;
    const to = from + (this.#lists[at + 1] ?? 0);
    if (to === from) return undefined;
    return { slots: this.#slots.subarray(from, to), impacts: this.#impacts.subarray(from, to) };
  }

  #move(at: number, room: number): void {
    const from = this.#lists[at] as number;
    const to = from + (this.#lists[at + 1] as number);
    const target = this.#vacant[log2(room)]?.pop() ?? this.#allocate(room);
    this.#slots.copyWithin(target, from, to);
    this.#impacts.copyWithin(target, from, to);
    this.#vacate(at);
    this.#lists[at] = target;
    this.#lists[at + 2] = room;
  }

  #vacate(at: number): void {
    const room = this.#lists[at + 2] as number;
    if (room > 0) this.#vacant[log2(room)]?.push(this.#lists[at] as number);
    this.#lists[at + 2] = 0;
  }

  #allocate(room: number): number {
    const target = this.#used;
    this.#used += room;
    this.#slots = enlarged(this.#slots, this.#used);
    this.#impacts = enlarged(this.#impacts, this.#used);
    return target;
  }
}

function log2(powerOfTwo: number): number {
  return 31 - Math.clz32(powerOfTwo);
}

/** The numbers in an array at least so long, with room to spare if it has to be a new one. */
export function enlarged<Numbers extends Int32Array | Float64Array>(
  numbers: Numbers,
  length: number,
): Numbers {
  if (length <= numbers.length) return numbers;
  const larger = new (numbers.constructor as new (length: number) => Numbers)(length * 2);
  larger.set(numbers);
  return larger;
}
