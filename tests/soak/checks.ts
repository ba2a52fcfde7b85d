import { setTimeout as delay } from "node:timers/promises";

const SETTLE_MS = 120_000;
const PAUSE_MS = 250;
const SHOWN = 5;

/** One thing that must hold after a soak, with the figures that show it. */
export interface SoakCheck {
  what: string;
  figures: string;
  holds: boolean;
}

/** What was checked in a soak, each told as soon as it is known. */
export class SoakChecks {
  readonly all: SoakCheck[] = [];
  readonly #say: (line: string) => void;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  check(what: string, figures: string, holds: boolean): void {
    this.all.push({ what, figures, holds });
    this.#say(`${holds ? "holds" : "FAILS"}  ${what}: ${figures}`);
  }

  /** Checks that there is none of something. The first few are shown. */
  none(what: string, figures: string, found: readonly string[]): void {
    this.check(what, `${figures}, ${found.length} otherwise${list(found)}`, found.length === 0);
  }
}

/** The first few of some lines, after a colon; nothing where there are none. */
export function list(lines: readonly string[]): string {
  return lines.length === 0 ? "" : `: ${lines.slice(0, SHOWN).join("; ")}`;
}

/** Waits until something holds. Returns whether it did in time. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<boolean> {
  const endsAt = performance.now() + SETTLE_MS;
  while (performance.now() < endsAt) {
    if (await holds()) return true;
    await delay(PAUSE_MS);
  }
  return false;
}
