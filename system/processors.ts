import { cpus } from "node:os";

/** What the processors of this machine have done since it started, and when that was read. Times are in milliseconds. */
export interface ProcessorTimes {
  readonly atMs: number;
  readonly idleMs: number;
  readonly allMs: number;
}

/** The kernel counts in steps of ten milliseconds. */
const SHORTEST_MS = 100;
/** What happened before says nothing about now. */
const LONGEST_MS = 2_000;
const SPARE_SHARE = 0.1;

/** Whether programs use all processors of this machine, whoever they belong to. Programs that give way to others (`nice`) do not count. */
export class Processors {
  readonly #read: () => ProcessorTimes;
  #before: ProcessorTimes;
  #areBusy = true;

  constructor(read: () => ProcessorTimes = readProcessorTimes) {
    this.#read = read;
    this.#before = read();
  }

  /**
   * Whether less than a tenth of their time was left since an earlier look. Also `true` while that is not known, because no look was in
   * the last two seconds: the next look will tell.
   */
  areBusy(): boolean {
    const now = this.#read();
    const pastMs = now.atMs - this.#before.atMs;
    if (pastMs < SHORTEST_MS) return this.#areBusy;
    const allMs = now.allMs - this.#before.allMs;
    const idleMs = now.idleMs - this.#before.idleMs;
    this.#areBusy = pastMs > LONGEST_MS || (allMs > 0 && idleMs < allMs * SPARE_SHARE);
    this.#before = now;
    return this.#areBusy;
  }
}

function readProcessorTimes(): ProcessorTimes {
  let [idleMs, allMs] = [0, 0];
  for (const { times } of cpus()) {
    idleMs += times.idle + times.nice;
    allMs += times.idle + times.user + times.nice + times.sys + times.irq;
  }
  return { atMs: performance.now(), idleMs, allMs };
}
