/** Programs that clients run at several replicas of ptc with one PostgreSQL, and what must hold of them whatever is killed meanwhile. */
import * as z from "zod/mini";
import { openPool } from "../../../archive/postgres/database.ts";
import type { Envelope } from "../../../protocol/envelope.ts";
import { list, type SoakChecks } from "../checks.ts";
import type { SoakClient, Told } from "./clients.ts";

/** A kind of program: what it is and what must become of it. The ids of its calls are `<data.id>/<number>`. */
export interface Kind {
  name: string;
  code: string;
  calls: number;
  /** The type of its failure; without it, the program succeeds. */
  failure?: string;
  asks?: boolean;
}

/** A program that has ended, or whose client was told something else. */
export interface Program extends Told {
  id: string;
  kind: Kind;
  isStateless: boolean;
  beganAt: number;
  endedAt: number;
}

/** One client of several. `isStateless`: whether it has no session at a replica. */
export interface Worker {
  client: Pick<SoakClient, "run" | "close">;
  isStateless: boolean;
}

export class Programs {
  /** Those that have ended. */
  readonly ended: Program[] = [];
  readonly #checks: SoakChecks;
  readonly #kinds: readonly Kind[];
  /** When something was away, with the time after it. */
  readonly #disturbed: { from: number; until: number }[] = [];
  #begun = 0;

  /** @param kinds the kind of each program, in turn. */
  constructor(checks: SoakChecks, kinds: readonly Kind[]) {
    this.#checks = checks;
    this.#kinds = kinds;
  }

  /** Runs programs, each client one after the other, until so many have begun. */
  async run(workers: readonly Worker[], count: number): Promise<void> {
    await Promise.all(workers.map((each) => this.#work(each, count)));
  }

  /** Notes that programs at these times may fail or be lost. */
  disturb(from: number, until: number): void {
    this.#disturbed.push({ from, until });
  }

  async #work({ client, isStateless }: Worker, count: number): Promise<void> {
    while (this.#begun < count) {
      const number = this.#begun++;
      const kind = this.#kinds[number % this.#kinds.length] as Kind;
      const id = `program-${number}`;
      const beganAt = performance.now();
      const told = await client.run(id, kind.code);
      this.ended.push({ ...told, id, kind, isStateless, beganAt, endedAt: performance.now() });
    }
  }

  #isDisturbed({ beganAt, endedAt }: Program): boolean {
    return this.#disturbed.some(({ from, until }) => beganAt <= until && endedAt >= from);
  }

  checkTold(): void {
    const lost = this.ended.filter(({ instead }) => instead?.kind === "lost");
    const refused = this.ended.filter(({ instead }) => instead?.kind === "reply");
    const silent = this.ended.filter(({ instead }) => instead?.kind === "nothing");
    this.#checks.none(
      "whoever gets no answer is told so",
      `${this.answered.length} answered, ${lost.length} lost with their replica, ${refused.length} refused`,
      silent.map(renderProgram),
    );
    const wrong = this.ended.filter((program) => !isAsExpected(program));
    const unprovoked = wrong.filter((program) => !this.#isDisturbed(program));
    this.#checks.none(
      "a program that nothing disturbs ends as it must",
      `${this.ended.length} programs, ${wrong.length} disturbed${list(wrong.map(renderProgram))}`,
      unprovoked.map(renderProgram),
    );
  }

  /** Those whose clients have an envelope. */
  get answered(): (Program & { envelope: Envelope })[] {
    return this.ended.flatMap((program) =>
      program.envelope === undefined ? [] : [{ ...program, envelope: program.envelope }],
    );
  }

  /** @param made the ids of all calls that servers got. */
  checkCalls(made: readonly string[]): void {
    const counts = countEach(made);
    const twice = [...counts].filter(([, count]) => count > 1).map(([id, count]) => `${id} ${count} times`);
    this.#checks.none("no call is made twice", `${made.length} calls`, twice);
    const ended = this.answered.filter(isAsExpected);
    const lacking = ended
      .flatMap(({ id, kind }) => Array.from({ length: kind.calls }, (_, number) => `${id}/${number}`))
      .filter((id) => !counts.has(id));
    this.#checks.none("every call of a program that ended as it must was made", `${ended.length}`, lacking);
  }

  /** @param url of the database. @param ptc runs a command of ptc that knows the database. */
  async checkRecords(
    url: string,
    ptc: (...args: string[]) => Promise<{ ok: boolean; text: string }>,
  ): Promise<void> {
    const db = await openPool(url);
    const Run = z.object({ run_id: z.string(), input_digest: z.string() });
    const Line = z.object({ line: z.string() });
    const runs = await db.all(Run, "SELECT run_id, input_digest FROM runs");
    const lines = (await db.all(Line, "SELECT line FROM audit_lines")).map(
      ({ line }) => JSON.parse(line) as { event?: string; run_id?: string },
    );
    const archived = countEach(runs.map(({ run_id }) => run_id));
    const inputs = countEach(runs.map(({ input_digest }) => input_digest));
    const audited = countEach(lines.filter(({ event }) => event === "run").map(({ run_id }) => run_id ?? ""));
    const called = countEach(lines.filter(({ event }) => event === "call").map(({ run_id }) => run_id ?? ""));
    const said = this.answered.filter(({ isUnrecorded }) => !isUnrecorded);
    const once = (counts: Map<string, number>, of: (envelope: Envelope) => string) =>
      said
        .filter(({ envelope }) => counts.get(of(envelope)) !== 1)
        .map((program) => `${counts.get(of(program.envelope)) ?? 0} times ${renderProgram(program)}`);
    const unsaid = this.answered.length - said.length;
    const answered = `${said.length} answered, ${unsaid} more whose replies say that they are not yet recorded`;
    this.#checks.none("every answered program is archived once", `${answered}, ${runs.length} archived`, [
      ...once(archived, ({ run_id }) => run_id),
      ...once(inputs, ({ input_digest }) => input_digest),
    ]);
    this.#checks.none(
      "no program is archived twice",
      `${runs.length} archived`,
      [...inputs].filter(([, count]) => count > 1).map(([digest]) => digest),
    );
    this.#checks.none(
      "every answered program is audited once",
      `${answered}, ${audited.size} audited`,
      once(audited, ({ run_id }) => run_id),
    );
    const uncounted = said
      .filter((program) => isAsExpected(program))
      .filter(({ kind, envelope }) => (called.get(envelope.run_id) ?? 0) !== kind.calls)
      .map((program) => `${called.get(program.envelope.run_id) ?? 0} lines ${renderProgram(program)}`);
    this.#checks.none("every call of an answered program is audited once", answered, uncounted);
    for (const what of ["runs", "audit"]) {
      const verified = await ptc(what, "verify");
      const text = verified.text.split("\n").at(-1) ?? "";
      this.#checks.check(`ptc ${what} verify finds nothing`, text, verified.ok === true);
    }
  }
}

function isAsExpected({ kind, envelope }: Pick<Program, "kind" | "envelope">): boolean {
  if (envelope === undefined) return false;
  return envelope.result.ok ? kind.failure === undefined : envelope.result.error.type === kind.failure;
}

function countEach(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function renderProgram({ id, kind, envelope, instead, replicas, isStateless }: Program): string {
  const outcome =
    envelope?.result.ok === false ? `${envelope.result.error.type}: ${envelope.result.error.message}` : "ok";
  const told = envelope === undefined ? `${instead?.kind}: ${instead?.text}` : outcome;
  const where = `${isStateless ? "stateless" : "session"} at ${replicas.join("")}`;
  return `${id} (${kind.name}, ${where}) ${told}`.slice(0, 300);
}
