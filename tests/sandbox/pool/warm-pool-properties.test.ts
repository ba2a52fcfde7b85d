import fc from "fast-check";
import { expect, test } from "vitest";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { SandboxError } from "../../../sandbox/sandbox-error.ts";
import { tries } from "../../tries.ts";
import { NO_OUTPUT } from "../outputs.ts";
import { openPool, turns } from "./open-pool.ts";

const ACTIONS = [
  "ask",
  "ask",
  "ask",
  "give up",
  "hand back",
  "kill",
  "hold",
  "let one go",
  "let last go",
  "let go",
  "down",
  "up",
  "build",
];

/** What a client, an engine and a hostile host may do to a pool, in any order. */
class World {
  readonly opened: ReturnType<typeof openPool>;
  readonly taken = new Map<string, Sandbox>();
  readonly #everTaken = new Set<string>();
  readonly #asked: { abort: AbortController; settled: Promise<void> }[] = [];
  readonly #clearing: Promise<void>[] = [];
  #builds = 0;

  constructor(size: number) {
    this.opened = openPool({ size });
  }

  act(action: string): void {
    const { engine } = this.opened;
    if (action === "ask") this.#ask();
    else if (action === "give up") this.#asked.at(-1)?.abort.abort();
    else if (action === "hand back") this.#handBack();
    else if (action === "kill") this.#killOneThatWaits();
    else if (action === "hold") engine.hold();
    else if (action === "let one go") engine.release("first");
    else if (action === "let last go") engine.release("last");
    else if (action === "let go") engine.release("all");
    else if (action === "build") engine.image = `sha256:${++this.#builds}`;
    else engine.down = action === "down";
  }

  #ask(): void {
    const abort = new AbortController();
    const settled = this.opened.pool.acquire(NO_OUTPUT, abort.signal).then(
      (sandbox) => {
        expect(this.#everTaken).not.toContain(sandbox.id);
        expect(this.opened.engine.live.has(sandbox.id)).toBe(true);
        this.#everTaken.add(sandbox.id);
        this.taken.set(sandbox.id, sandbox);
      },
      (error: unknown) => expect(error).toBeInstanceOf(SandboxError),
    );
    this.#asked.push({ abort, settled });
  }

  #handBack(): void {
    const [first] = this.taken;
    if (first === undefined) return;
    this.taken.delete(first[0]);
    this.#clearing.push(first[1].dispose());
  }

  #killOneThatWaits(): void {
    for (const container of this.opened.engine.live.values()) {
      if (this.taken.has(container.id)) continue;
      container.end(137);
      return;
    }
  }

  /** Everybody who asked is answered, and when the pool is closed and all is handed back, nothing is left. */
  async end(): Promise<void> {
    const { engine, pool, folders, close } = this.opened;
    engine.down = false;
    engine.release("all");
    await Promise.all([...this.#asked.map(({ settled }) => settled), ...this.#clearing]);
    await pool.close();
    expect([...engine.live.keys()].sort()).toEqual([...this.taken.keys()].sort());
    await Promise.all([...this.taken.values()].map((sandbox) => sandbox.dispose()));
    expect([...engine.live.keys(), ...folders()]).toEqual([]);
    await close();
  }
}

test("whatever happens, nobody gets a dead or used sandbox, everybody gets an answer, and nothing is left", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 3 }),
      fc.array(fc.record({ action: fc.constantFrom(...ACTIONS), wait: fc.boolean() }), { maxLength: 25 }),
      async (size, steps) => {
        const world = new World(size);
        for (const { action, wait } of steps) {
          world.act(action);
          if (wait) await turns();
        }
        await world.end();
      },
    ),
    { numRuns: tries(30), timeout: 10_000 },
  );
}, 60_000);
