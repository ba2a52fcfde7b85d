import type { Clock } from "../../base/clock.ts";
import { Conversation } from "../../broker/flow/conversation.ts";
import { RunState } from "../../broker/policy/run-history.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { runnerOf } from "../../languages/languages.ts";
import type { ProgramSession } from "../../languages/program.ts";
import { type Identified, identityKey, type RunContext } from "../../protocol/run-context.ts";
import type { RunnerName } from "../../protocol/runners.ts";
import type { SandboxSource } from "../../sandbox/sandbox.ts";
import { SandboxError } from "../../sandbox/sandbox-error.ts";
import type { ExecutedProgram } from "../output/executed-run.ts";
import type { ProgramRequest } from "../run-request.ts";
import { KeptSession, type SessionStatus } from "./kept-session.ts";

/** The most sessions whose reason for ending is remembered. */
const MAX_LOST = 200;

/** The part of a request that its session needs. */
export type EnteringProgram = Pick<ProgramRequest, "session" | "context" | "signal">;

/**
 * The parts of the scope that differ for a program in a session. Such a program has no keeper and is never suspended, because its
 * sandbox could not be started again.
 */
interface SessionParts {
  sandboxes: SandboxSource;
  session?: ProgramSession;
  keeper?: undefined;
  /** Aborted also when the session ends. */
  signal?: AbortSignal;
}

/** A program that has its turn in a session, or that cannot have one. In that case `sandboxes` rejects with the reason. */
export interface EnteredSession {
  /** The policy state for its calls: what its session has read, and nothing else about earlier programs. */
  state: RunState;
  /** The conversation of its session, for programs that belong to no other conversation. */
  conversation: Conversation;
  /** Executes the program in the sandbox of its session, and ends its turn. News about the session is added to the advice. */
  execute(work: (own: SessionParts) => Promise<ExecutedProgram>): Promise<ExecutedProgram>;
  /** Ends its turn, even if it was never executed. Safe to call at any time: a program that executes keeps its turn. */
  leave(): void;
}

export interface SessionsOptions {
  /** The sandboxes with a runner. */
  sandboxesWith: (runner: RunnerName) => SandboxSource;
  settings: () => Configuration["sessions"];
  clock: Pick<Clock, "wallMs">;
  /** Returns once how an earlier process's session of this name ended; `undefined` if there was none. */
  takeLost?: ((principal: string, name: string) => string | undefined) | undefined;
}

/** The sessions of all principals. Each principal finds only its own, and each of its tokens those of a token with the same groups. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, KeptSession>();
  readonly #idle = new Map<KeptSession, NodeJS.Timeout>();
  /** Why the last session of a name ended, until its next program reports it. */
  readonly #lost = new Map<string, string>();
  readonly #closing = new Set<Promise<void>>();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /**
   * Waits until it is a program's turn in the session of this name. Begins the session if there is none. The request's signal ends
   * the wait. A program that cannot have its turn gets the reason instead of a sandbox.
   */
  async enter(name: string, { context, signal }: EnteringProgram, language: string): Promise<EnteredSession> {
    const key = keyOf(context, name);
    for (;;) {
      const session = this.#sessions.get(key) ?? this.#begin(key, name, context, language);
      if (typeof session === "string") return refuse(session);
      if (runnerOf(language) !== runnerOf(session.language)) {
        const message = `session '${name}' runs ${session.language} programs, and a session is never shared between languages; give another name`;
        return refuse(message);
      }
      this.#stopIdling(session);
      const end = await session.takeTurn(signal);
      if (end === undefined) return refuse("the program was cancelled before its turn in its session");
      // The session may have ended with the program before, or between the two.
      await session.sandbox.settle();
      if (this.#sessions.get(key) === session && session.sandbox.isLost)
        void this.#lose(key, session, howLost(session));
      const { whyFull } = session;
      if (this.#sessions.get(key) !== session) end();
      else if (whyFull === undefined) return this.#enter(session, key, signal, end);
      else {
        this.#endTurn(key, session, end);
        return refuse(`session '${name}' ${whyFull}; end it with \`ptc sessions end ${name}\``);
      }
    }
  }

  /** The sessions of one principal, oldest first. */
  list(principal: string): SessionStatus[] {
    return [...this.#sessions.values()]
      .filter((session) => session.principal === principal)
      .map((session) => session.status());
  }

  /**
   * Ends a principal's sessions of a name, even while programs run in them: each of the principal's tokens has its own. False when no
   * session has this name.
   */
  async end(principal: string, name: string): Promise<boolean> {
    const own = [...this.#sessions].filter(
      ([, session]) => session.principal === principal && session.name === name,
    );
    await Promise.all(own.map(([key, session]) => this.#lose(key, session, "by `ptc sessions end`")));
    return own.length > 0;
  }

  /** Ends all of them. Never rejects. */
  async close(): Promise<void> {
    for (const [key, session] of [...this.#sessions]) void this.#end(key, session);
    await Promise.all(this.#closing);
  }

  #begin(key: string, name: string, context: RunContext, language: string): KeptSession | string {
    const max = this.#options.settings()?.max ?? 0;
    if (this.#sessions.size >= max)
      return `the most sessions that may be open (${max}) are (sessions.max); end one with \`ptc sessions end\`, or wait until an idle one ends`;
    const { sandboxesWith, clock } = this.#options;
    const source = sandboxesWith(runnerOf(language));
    if (source.platform === "wasm")
      return "there are no sessions with sandbox.engine: wasm; run the program without one, or use an engine with gVisor";
    const session = new KeptSession(name, context, language, source, clock.wallMs());
    this.#sessions.set(key, session);
    const before = this.#options.takeLost?.(context.principal, name);
    if (before !== undefined) this.#remember(key, before);
    void session.sandbox.lost.then(() => {
      if (!session.isBusy) void this.#lose(key, session, howLost(session));
    });
    return session;
  }

  #enter(session: KeptSession, key: string, signal: AbortSignal, end: () => void): EnteredSession {
    const { name, sandbox } = session;
    const state = new RunState(session.reads);
    const place = session.place();
    let hasRun = false;
    const sandboxes: SandboxSource = {
      get ready() {
        return sandbox.ready;
      },
      async acquire(...args) {
        const acquired = await sandbox.acquire(...args);
        hasRun = true;
        return acquired;
      },
    };
    const lostBefore = place.place.position === 1 ? this.#lost.get(key) : undefined;
    const leave = (executed: ExecutedProgram | undefined): string[] => {
      const told: string[] = [];
      if (lostBefore !== undefined && hasRun) {
        this.#lost.delete(key);
        told.push(
          `session '${name}' is a new one: the one before ended ${lostBefore}, and its names and files are lost`,
        );
      }
      if (executed === undefined) sandbox.forsake();
      else session.note(executed, hasRun, state.reads, this.#options.clock.wallMs());
      if (sandbox.isLost) {
        if (this.#sessions.get(key) === session) this.#forget(key, session);
        told.push(`session '${name}' ended with this program: its names and files are lost`);
      } else if (session.programs === 0) {
        // Nothing is lost with it.
        void this.#end(key, session);
      }
      const cleared = executed?.cleared ?? Promise.resolve();
      void cleared.then(() => this.#endTurn(key, session, end));
      return told;
    };
    let isLeft = false;
    return {
      state,
      conversation: session.conversation,
      leave: () => {
        if (isLeft) return;
        isLeft = true;
        // Nothing has happened in the session.
        if (session.programs === 0) void this.#end(key, session);
        this.#endTurn(key, session, end);
      },
      async execute(work) {
        isLeft = true;
        let executed: ExecutedProgram | undefined;
        try {
          const either = AbortSignal.any([signal, session.ending.signal]);
          executed = await work({ sandboxes, session: place, keeper: undefined, signal: either });
        } finally {
          if (executed === undefined) leave(undefined);
        }
        return { ...executed, advice: [...executed.advice, ...leave(executed)] };
      },
    };
  }

  #endTurn(key: string, session: KeptSession, end: () => void): void {
    end();
    if (session.isBusy || this.#sessions.get(key) !== session) return;
    // Its sandbox may have ended after its program.
    if (session.sandbox.isLost) void this.#lose(key, session, howLost(session));
    else this.#startIdling(key, session);
  }

  #startIdling(key: string, session: KeptSession): void {
    const idleMs = this.#options.settings()?.idleMs ?? 0;
    const minutes = Math.round(idleMs / 60_000);
    const why = `when it was idle for ${minutes} minute${minutes === 1 ? "" : "s"}`;
    const end = () => void this.#lose(key, session, why);
    this.#idle.set(session, setTimeout(end, idleMs).unref());
  }

  #stopIdling(session: KeptSession): void {
    clearTimeout(this.#idle.get(session));
    this.#idle.delete(session);
  }

  /** Ends a session, and remembers how it ended for the next program of its name. */
  async #lose(key: string, session: KeptSession, how: string): Promise<void> {
    if (this.#sessions.get(key) !== session) return;
    this.#remember(key, how);
    await this.#end(key, session);
  }

  #remember(key: string, how: string): void {
    this.#lost.set(key, how);
    const [oldest] = this.#lost.keys();
    if (this.#lost.size > MAX_LOST && oldest !== undefined) this.#lost.delete(oldest);
  }

  #forget(key: string, session: KeptSession): void {
    this.#stopIdling(session);
    this.#sessions.delete(key);
  }

  #end(key: string, session: KeptSession): Promise<void> {
    if (this.#sessions.get(key) === session) this.#forget(key, session);
    session.ending.abort();
    const closing = session.sandbox.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
    return closing;
  }
}

function howLost({ sandbox }: KeptSession): string {
  return sandbox.whyLost ?? "because its sandbox ended";
}

function refuse(message: string): EnteredSession {
  const sandboxes: SandboxSource = {
    ready: true,
    acquire: () => Promise.reject(new SandboxError("start_failed", message)),
  };
  return {
    state: new RunState(),
    conversation: new Conversation(),
    leave() {},
    execute: (work) => work({ sandboxes }),
  };
}

/** Programs with other groups never share a session: one could leave code there that another's rights then run. */
function keyOf(context: Identified, name: string): string {
  return JSON.stringify([identityKey(context), name]);
}
