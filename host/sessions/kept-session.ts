import { randomUUID } from "node:crypto";
import type { RunRead } from "../../broker/policy/run-history.ts";
import type { ExecutedProgram } from "../../execution/output/executed-program.ts";
import type { Program } from "../../execution/program.ts";
import type { ProgramSession } from "../../execution/session/program-session.ts";
import { KeptSandbox } from "../../sandbox/kept-sandbox.ts";
import type { SandboxSource } from "../../sandbox/sandbox.ts";

/** Failures after which nobody knows what state the sandbox is in. */
const ENDS: ReadonlySet<string> = new Set(["ContractViolation", "InternalError"]);

/** What is told of a session. */
export interface SessionStatus {
  name: string;
  language: string;
  /** How many programs have run in it. */
  programs: number;
  /** ISO 8601 */
  started: string;
  /** When its last program ended; `undefined` while one runs. */
  idle_since?: string;
}

/** One session: its sandbox, and what is known on the host of the programs that ran there. One program runs at a time. */
export class KeptSession {
  readonly name: string;
  readonly principal: string;
  /** The language of all of its programs. */
  readonly language: string;
  readonly sandbox: KeptSandbox;
  /** Cancels the program that runs when the session is ended. */
  readonly ending = new AbortController();
  /** What its programs have read of servers, and so may hold. */
  reads: readonly RunRead[] = [];
  readonly #id = randomUUID();
  readonly #startedAt: number;
  readonly #earlier: Program[] = [];
  #after: string | undefined;
  #idleSince: number;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(name: string, principal: string, language: string, source: SandboxSource, wallMs: number) {
    this.name = name;
    this.principal = principal;
    this.language = language;
    this.sandbox = new KeptSandbox(source);
    this.#startedAt = this.#idleSince = wallMs;
  }

  /** Whether a program runs or waits to run. */
  get isBusy(): boolean {
    return this.#waiting > 0;
  }

  get programs(): number {
    return this.#earlier.length;
  }

  /** Waits until the programs that came before have ended. @returns ends the turn. */
  async takeTurn(): Promise<() => void> {
    const before = this.#last;
    let end = () => {};
    this.#last = new Promise((resolve) => {
      end = resolve;
    });
    this.#waiting++;
    await before;
    return () => {
      this.#waiting--;
      end();
    };
  }

  /** Where a program stands that runs now. */
  place(): ProgramSession {
    const after = this.#after === undefined ? {} : { after: this.#after };
    return {
      place: { id: this.#id, position: this.#earlier.length + 1, ...after },
      earlier: [...this.#earlier],
    };
  }

  /**
   * Notes what has become of a program.
   *
   * @param reads all that is known of servers in the session now.
   */
  note(
    { program, envelope }: ExecutedProgram,
    hasRun: boolean,
    reads: readonly RunRead[],
    wallMs: number,
  ): void {
    this.#idleSince = wallMs;
    if (!envelope.result.ok && ENDS.has(envelope.result.error.type)) this.sandbox.forsake();
    if (!hasRun) return;
    this.#earlier.push(program);
    this.#after = envelope.run_id;
    this.reads = reads;
  }

  status(): SessionStatus {
    const { name, language, programs } = this;
    const idle = this.isBusy ? {} : { idle_since: new Date(this.#idleSince).toISOString() };
    return { name, language, programs, started: new Date(this.#startedAt).toISOString(), ...idle };
  }
}
