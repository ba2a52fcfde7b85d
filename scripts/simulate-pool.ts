/**
 * What docs/scale.md says of queue and pool, as a simulation of single events: programs come at random, wait for a place in a ptc, claim
 * a pod, run, and the cluster makes another pod instead. The same seed prints the same.
 *
 *     node scripts/simulate-pool.ts                        # the table of docs/scale.md
 *     node scripts/simulate-pool.ts --rate 1000 --pods 60  # one case; --help lists what can be said
 */
import { parseArgs } from "node:util";

/** What a cluster, its pool and its programs are like. Times are in seconds. */
export interface Cluster {
  /** Programs that come in a minute. */
  rate: number;
  /** Pods that wait. */
  pods: number;
  /** From the decision to make a pod until it waits. */
  bootS: number;
  /** Pods that the control plane makes in a second, at most. */
  createsPerS: number;
  /** From a claim until its pod is bound, while pods wait. */
  claimS: number;
  /** How long a program holds its pod: the median, and the spread of its logarithm. */
  runS: number;
  spread: number;
  /** Programs that all replicas of ptc run at a time. */
  places: number;
  /** How many times as many programs come for ten seconds of each minute, of the same number a minute; 1 for none. */
  burst: number;
}

export interface Seen {
  programs: number;
  /** From when a program comes until it has a pod, in seconds. */
  p50: number;
  p95: number;
  p99: number;
  /** The share that did not get a pod within its limit of 60 s. */
  refused: number;
  /** The most pods at a time, that wait, boot or run. */
  mostPods: number;
}

export const USUAL: Cluster = {
  rate: 1_000,
  pods: 50,
  bootS: 1.5,
  createsPerS: 20,
  claimS: 0.05,
  runS: 2,
  spread: 0.8,
  places: 10_000,
  burst: 1,
};
const LIMIT_S = 60;
const BURST_S = 10;
const SETTLE_S = 60;

/** Deterministic and even between 0 and 1 (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

type Event = { at: number; act: () => void };

/** Events in the order of their times: a binary heap. */
class Agenda {
  readonly #heap: Event[] = [];

  get isEmpty(): boolean {
    return this.#heap.length === 0;
  }

  add(at: number, act: () => void): void {
    const heap = this.#heap;
    let index = heap.push({ at, act }) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((heap[parent] as Event).at <= at) break;
      heap[index] = heap[parent] as Event;
      index = parent;
    }
    heap[index] = { at, act };
  }

  next(): Event {
    const heap = this.#heap;
    const first = heap[0] as Event;
    const last = heap.pop() as Event;
    if (heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1] as Event).at < (heap[child] as Event).at) child++;
      if ((heap[child] as Event).at >= last.at) break;
      heap[index] = heap[child] as Event;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

/** Follows a cluster for some minutes, the first of which only fills it. Pure: the same seed gives the same. */
export function simulate(cluster: Cluster, { minutes = 10, seed = 1 } = {}): Seen {
  const random = seeded(seed);
  const agenda = new Agenda();
  const endS = SETTLE_S + minutes * 60;
  let waiting = cluster.pods;
  let running = 0;
  let booting = 0;
  let placed = 0;
  let mostPods = 0;
  let refused = 0;
  /** When the control plane is free to make the next pod. */
  let freeAt = 0;
  const waits: number[] = [];
  const forPlace: { came: number }[] = [];
  const forPod: { came: number }[] = [];

  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const calm = cluster.rate / (60 + BURST_S * (cluster.burst - 1));
  const rateAt = (at: number) => (at % 60 < BURST_S ? calm * cluster.burst : calm);

  const makePod = (now: number) => {
    booting++;
    freeAt = Math.max(freeAt, now) + 1 / cluster.createsPerS;
    const readyAt = freeAt + cluster.bootS;
    agenda.add(readyAt, () => {
      booting--;
      waiting++;
      bind(readyAt);
    });
  };

  /** Gives pods to those that have claimed one, in the order of their claims. */
  const bind = (now: number) => {
    while (waiting > 0 && forPod.length > 0) {
      const program = forPod.shift() as { came: number };
      waiting--;
      makePod(now);
      running++;
      mostPods = Math.max(mostPods, running + waiting + booting);
      const waited = now + cluster.claimS - program.came;
      if (waited > LIMIT_S) refused += program.came >= SETTLE_S ? 1 : 0;
      else if (program.came >= SETTLE_S) waits.push(waited);
      const ranS = waited > LIMIT_S ? 0 : cluster.runS * Math.exp(cluster.spread * normal());
      const endedAt = now + cluster.claimS + ranS;
      agenda.add(endedAt, () => {
        running--;
        placed--;
        enter(endedAt);
      });
    }
  };

  /** Gives places in a ptc, in the order in which programs came. */
  const enter = (now: number) => {
    while (placed < cluster.places && forPlace.length > 0) {
      placed++;
      forPod.push(forPlace.shift() as { came: number });
    }
    bind(now);
  };

  const come = (at: number) => {
    forPlace.push({ came: at });
    enter(at);
    // Thinning: candidates come at the highest rate, and as many are kept as this moment's rate says.
    let next = at;
    const most = calm * cluster.burst;
    do next += -Math.log(1 - random()) / most;
    while (random() * most > rateAt(next));
    if (next < endS) agenda.add(next, () => come(next));
  };
  agenda.add(0, () => come(0));
  while (!agenda.isEmpty) agenda.next().act();

  waits.sort((a, b) => a - b);
  const at = (share: number) => waits[Math.min(waits.length - 1, Math.floor(waits.length * share))] ?? 0;
  const programs = waits.length + refused;
  return { programs, p50: at(0.5), p95: at(0.95), p99: at(0.99), refused: refused / programs, mostPods };
}

/** The cases of docs/scale.md. */
export const CASES: readonly [what: string, cluster: Partial<Cluster>, clusters: number][] = [
  ["1,000 a minute, the pool of the paper", { rate: 1_000, pods: 26 }, 1],
  ["1,000 a minute, twice that pool", { rate: 1_000, pods: 52 }, 1],
  ["1,000 a minute in bursts, the same pool", { rate: 1_000, pods: 52, burst: 5 }, 1],
  ["1,000 a minute in bursts, a pool for them", { rate: 1_000, pods: 360, burst: 5 }, 1],
  ["10,000 a minute in one cluster", { rate: 10_000, pods: 260 }, 1],
  ["10,000 a minute over 10 clusters", { rate: 1_000, pods: 52 }, 10],
  ["100,000 a minute over 100 clusters", { rate: 1_000, pods: 52 }, 100],
];

export function printCases(): string {
  const seconds = (value: number) => (value < 10 ? value.toFixed(2) : value.toFixed(0));
  const known = new Map<string, Seen>();
  const rows = CASES.map(([what, cluster, clusters]) => {
    const key = JSON.stringify(cluster);
    const seen = known.get(key) ?? simulate({ ...USUAL, ...cluster });
    known.set(key, seen);
    const { p50, p95, p99, refused, mostPods } = seen;
    const waits = refused === 1 ? ["-", "-", "-"] : [p50, p95, p99].map(seconds);
    const share = `${(refused * 100).toFixed(refused > 0 && refused < 0.1 ? 1 : 0)} %`;
    const cells = [what, ...waits, share, String(mostPods * clusters)];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    "| case | wait p50, s | p95 | p99 | refused after 60 s | most pods |",
    "| --- | --- | --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
}

function main(): void {
  const numbers = Object.fromEntries(
    [...Object.keys(USUAL), "minutes", "seed"].map((name) => [name, { type: "string" as const }]),
  );
  const { values } = parseArgs({ options: { ...numbers, help: { type: "boolean" as const } } });
  if (values.help === true) {
    console.log(
      `--${Object.entries({ ...USUAL, minutes: 10, seed: 1 })
        .map(([name, value]) => `${name} ${value}`)
        .join("  --")}`,
    );
    return;
  }
  const said: Record<string, number> = {};
  for (const [name, value] of Object.entries(values)) {
    said[name] = Number(value);
    if (!(Number(value) >= 0)) throw new Error(`--${name} must be a number, not '${value}'`);
  }
  if (Object.keys(said).length === 0) console.log(printCases());
  else console.log(JSON.stringify(simulate({ ...USUAL, ...said }, said)));
}

if (import.meta.main) main();
