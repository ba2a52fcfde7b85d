import { messageOf } from "../../../base/faults.ts";
import type { AuditSink } from "../audit-log.ts";

/** A sink that is loaded with the first lines for it. */
export class LazySink implements AuditSink {
  readonly #open: () => Promise<AuditSink>;
  readonly #onFailure: (message: string) => void;
  #opened: Promise<AuditSink | undefined> | undefined;

  constructor(open: () => Promise<AuditSink>, onFailure: (message: string) => void) {
    this.#open = open;
    this.#onFailure = onFailure;
  }

  send(lines: readonly string[]): void {
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#onFailure(`the audit log is not sent anywhere: ${messageOf(error)}`);
      return undefined;
    });
    void this.#opened.then((sink) => sink?.send(lines));
  }

  async close(): Promise<void> {
    await (await this.#opened)?.close();
  }
}
