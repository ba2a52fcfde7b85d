import { randomUUID } from "node:crypto";
import { Conversation } from "../../broker/flow/conversation.ts";
import type { RunRead } from "../../broker/policy/run-history.ts";
import type { Program, ProgramSession } from "../../languages/program.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { KeptSandbox } from "../../sandbox/kept-sandbox.ts";
import type { SandboxSource } from "../../sandbox/sandbox.ts";
import type { ExecutedProgram } from "../output/executed-run.ts";

/** The most programs of one session. Each is remembered, and a replay of a later program replays it first. */
const MAX_PROGRAMS = 500;
/** The most text of these programs, which is kept as long as the session. */
const MAX_CODE_CHARS = 16 * 1024 * 1024;
/** Failures after which nobody knows what state the sandbox is in. */
const ENDS: ReadonlySet<string> = new Set(["ContractViolation", "InternalError"]);

/** The public state of a session. */
export interface SessionStatus {
  name: string;
  language: string;
  /** The source of its first program. */
  through: RunContext["source"];
  /** How many programs have run in it. */
  programs: number;
  /** ISO 8601 */
  started: string;
  /** When its last program ended; `undefined` while one runs. */
  idle_since?: string;
}

/** The sessions of one principal. */
export interface OpenSessions {
  list(): Promise<SessionStatus[]>;
  /** False when no session has this name. */
  end(name: string): Promise<boolean>;
}

/** One session: its sandbox, and what the host knows about the programs that ran there. One program runs at a time. */
export class KeptSession {
  readonly name: string;
  readonly principal: string;
  readonly through: RunContext["source"];
  /** The language of all of its programs. */
  readonly language: string;
  readonly sandbox: KeptSandbox;
  /** Cancels the program that runs when the session is ended. */
  readonly ending = new AbortController();
  /** What its programs have read from servers, and may therefore hold. */
  reads: readonly RunRead[] = [];
  /** The host's record of what its programs wrote, were answered and showed. */
  readonly conversation = new Conversation();
  readonly #id = randomUUID();
  readonly #startedAt: number;
  readonly #earlier: Program[] = [];
  #codeChars = 0;
  #after: string | undefined;
  #idleSince: number;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(
    name: string,
    { principal, source }: Pick<RunContext, "principal" | "source">,
    language: string,
    sandboxes: SandboxSource,
    wallMs: number,
  ) {
    this.name = name;
    this.principal = principal;
    this.through = source;
    this.language = language;
    this.sandbox = new KeptSandbox(sandboxes);
    this.#startedAt = this.#idleSince = wallMs;
  }

  /** Whether a program runs or waits to run. */
  get isBusy(): boolean {
    return this.#waiting > 0;
  }

  get programs(): number {
    return this.#earlier.length;
  }

  /** Why no further program can run in it; `undefined` when one can. */
  get whyFull(): string | undefined {
    if (this.programs >= MAX_PROGRAMS) return `has run ${MAX_PROGRAMS} programs, the most that a session may`;
    if (this.#codeChars >= MAX_CODE_CHARS)
      return `has run programs of ${MAX_CODE_CHARS} characters together, the most that a session may`;
    return undefined;
  }

  /**
   * Waits until the programs that came before have ended.
   *
   * @param signal ends the wait early. The turn is then given up as soon as it comes.
   * @returns a function that ends the turn; `undefined` if the signal came first.
   */
  async takeTurn(signal: AbortSignal): Promise<(() => void) | undefined> {
    const before = this.#last;
    let end = () => {};
    this.#last = new Promise((resolve) => {
      end = resolve;
    });
    this.#waiting++;
    const leave = () => {
      this.#waiting--;
      end();
    };
    const isCancelled = await new Promise<boolean>((resolve) => {
      const cancel = () => resolve(true);
      signal.addEventListener("abort", cancel, { once: true });
      if (signal.aborted) cancel();
      void before.then(() => {
        signal.removeEventListener("abort", cancel);
        resolve(false);
      });
    });
    if (!isCancelled) return leave;
    void before.then(leave);
    return undefined;
  }

  /** The position in the session of a program that runs now. */
  place(): ProgramSession {
    const after = this.#after === undefined ? {} : { after: this.#after };
    return {
      place: { id: this.#id, position: this.#earlier.length + 1, ...after },
      earlier: [...this.#earlier],
    };
  }

  /**
   * Notes the outcome of a program.
   *
   * @param reads everything that the session has read from servers by now.
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
    // Nothing reads the data of an ended program, and it may be large.
    this.#earlier.push({ ...program, data: {} });
    this.#codeChars += program.code.length;
    this.#after = envelope.run_id;
    this.reads = reads;
  }

  status(): SessionStatus {
    const { name, language, through, programs } = this;
    const idle = this.isBusy ? {} : { idle_since: new Date(this.#idleSince).toISOString() };
    return { name, language, through, programs, started: new Date(this.#startedAt).toISOString(), ...idle };
  }
}
