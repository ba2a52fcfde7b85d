import { findLanguage, type Language } from "../languages/language.ts";
import type { Program } from "../languages/program.ts";
import { duringPhase, type OnPhase } from "../protocol/run-context.ts";
import type { Sandbox, SandboxOutput, SandboxSource } from "../sandbox/sandbox.ts";
import { SandboxError } from "../sandbox/sandbox-error.ts";

/** A sandbox, or the reason why none could be started. */
export type Acquired = { ok: true; sandbox: Sandbox } | { ok: false; message: string };

/** The only sandbox of a run. It is acquired at most once, and removed whether it was used or not. */
export class RunSandbox {
  readonly #source: SandboxSource;
  readonly #output: SandboxOutput;
  readonly #signal: AbortSignal;
  readonly #onPhase: OnPhase | undefined;
  readonly #giveUp = new AbortController();
  #acquiring: Promise<Acquired> | undefined;

  /** @param signal cancels the acquiring of the sandbox. */
  constructor(source: SandboxSource, output: SandboxOutput, signal: AbortSignal, onPhase?: OnPhase) {
    this.#onPhase = onPhase;
    this.#source = source;
    this.#output = output;
    this.#signal = AbortSignal.any([signal, this.#giveUp.signal]);
  }

  /** Starts a sandbox unless a warm one waits, which is left alone because the program may turn out not to need it. */
  startAhead(): void {
    if (this.#source.ready !== true) this.acquire().catch(() => {});
  }

  /** Rejects only with faults of the host. */
  acquire(): Promise<Acquired> {
    this.#acquiring ??= duringPhase(this.#onPhase, "sandbox_wait", () => this.#acquire());
    return this.#acquiring;
  }

  /** Cancels the acquiring, and resolves when the sandbox is removed. Never rejects. */
  async clear(): Promise<void> {
    this.#giveUp.abort();
    const acquired = await this.#acquiring?.catch(() => undefined);
    if (acquired?.ok) await acquired.sandbox.dispose();
  }

  async #acquire(): Promise<Acquired> {
    try {
      return { ok: true, sandbox: await this.#source.acquire(this.#output, this.#signal) };
    } catch (error) {
      if (error instanceof SandboxError) return { ok: false, message: error.message };
      throw error;
    }
  }
}

/** Sandboxes that run programs of this one's language. */
export function sandboxesFor(
  { language }: Pick<Program, "language">,
  { sandboxes, languages }: { sandboxes: SandboxSource; languages: readonly Language[] },
): SandboxSource {
  const runner = findLanguage(languages, language)?.runner;
  return runner === undefined ? sandboxes : (sandboxes.withRunner?.(runner) ?? sandboxes);
}
