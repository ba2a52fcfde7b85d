/** Chance that can be repeated: the same seed throws the same. */
export class Dice {
  private state: number;

  constructor(seed: number) {
    this.state = (seed * 2654435761 + 12345) >>> 0;
  }

  /** From 0, inclusive, to 1, exclusive (mulberry32). */
  throw(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  int(from: number, to: number): number {
    return from + Math.floor(this.throw() * (to - from + 1));
  }

  chance(share: number): boolean {
    return this.throw() < share;
  }

  one<T>(of: readonly T[]): T {
    return of[this.int(0, of.length - 1)] as T;
  }

  some<T>(of: readonly T[], least = 0): T[] {
    const count = this.int(least, of.length);
    return [...of].sort(() => this.throw() - 0.5).slice(0, count);
  }

  many<T>(from: number, to: number, make: () => T): T[] {
    return Array.from({ length: this.int(from, to) }, make);
  }

  /** An object of made-up keys. Two equal keys are one. */
  keyed<T>(from: number, to: number, key: () => string, value: () => T): Record<string, T> {
    return Object.fromEntries(this.many(from, to, () => [key(), value()] as const));
  }

  letters(count: number, alphabet = "abcdefghijklmnopqrstuvwxyz"): string {
    return Array.from({ length: count }, () => this.one([...alphabet])).join("");
  }

  hex(count: number): string {
    return this.letters(count, "0123456789abcdef");
  }

  digits(count: number): string {
    return this.letters(count, "123456789");
  }

  uuid(): string {
    return [8, 4, 4, 4, 12].map((count) => this.hex(count)).join("-");
  }

  day(): string {
    return `2026-${String(this.int(1, 12)).padStart(2, "0")}-${String(this.int(1, 28)).padStart(2, "0")}`;
  }

  moment(): string {
    return `${this.day()}T${String(this.int(10, 23))}:${String(this.int(10, 59))}:${String(this.int(10, 59))}Z`;
  }

  first(): string {
    return this.one(FIRST);
  }

  person(): string {
    return `${this.first()} ${this.one(LAST)}`;
  }

  email(): string {
    return `${this.first().toLowerCase()}.${this.one(LAST).toLowerCase()}@${this.letters(6)}.example`;
  }

  sentence(): string {
    return `${this.many(3, 9, () => this.letters(this.int(3, 9))).join(" ")}.`;
  }
}

const FIRST = [
  ..."Amara Bjorn Chiara Deniz Emeka Farah Goran Hanneke Ines Jovan Keiko Ludmila Mateus Nadia Oisin".split(
    " ",
  ),
  ..."Priya Quentin Rosalind Sunil Tamsin Ulrike Vikram Wiremu Xenia Yusuf Zofia".split(" "),
];
const LAST = [
  ..."Abernathy Bukowski Castellanos Dimitrova Eriksson Fitzgerald Gunawardena Hakimi Ivanenko".split(" "),
  ..."Jankowski Kowalczyk Lindqvist Moreau Nakagawa Okonkwo Papadakis Quispe Rasmussen Szabo".split(" "),
];
