import type {
  ArchiveResult,
  ArchiveStore,
  KeptHead,
  PendingRun,
  PruneOptions,
  RunOrigin,
} from "./archive-store.ts";
import type { Appended, AuditChain } from "./audit/chain/audit-chain.ts";
import type { VerifyLogOptions } from "./audit/chain/verify-log.ts";
import type { AuditSource } from "./audit/reading/audit-source.ts";
import type { AuditEntry, AuditFilter } from "./audit/reading/read-log.ts";
import type { CallToArchive, RunToArchive } from "./build-record.ts";
import type { Admitted, Counters, CountRequest } from "./counters.ts";
import type { Documents } from "./documents.ts";
import type { PageFilter } from "./listed-run.ts";
import type {
  Claimed,
  KeptOrNot,
  LiveRow,
  MostWaiting,
  PendingRow,
  PendingStore,
  RowToKeep,
} from "./pending-store.ts";
import type { Facts, Noted, SharedFacts } from "./shared-facts.ts";

/** Opens something on first use, and again if that failed. */
function once<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  return () => {
    if (opened === undefined) {
      opened = open();
      opened.catch(() => {
        opened = undefined;
      });
    }
    return opened;
  };
}

/** A store of runs that opens on first use, because its place must be found out first. */
export class LateArchiveStore implements ArchiveStore {
  readonly #open: () => Promise<ArchiveStore>;
  #store: ArchiveStore | undefined;
  readonly #late = new Set<Promise<unknown>>();

  constructor(open: () => Promise<ArchiveStore>) {
    const opening = once(open);
    this.#open = async () => {
      this.#store = await opening();
      return this.#store;
    };
  }

  begin(runId: string): PendingRun {
    return this.#store?.begin(runId) ?? this.#beginLate(runId);
  }

  /** Keeps what a run hands over until the store is open. */
  #beginLate(runId: string): PendingRun {
    const begun = this.#open().then(
      (store) => ({ ok: true as const, run: store.begin(runId) }),
      (error: unknown) => ({ ok: false as const, message: (error as Error).message }),
    );
    let earlier: Promise<unknown> = begun;
    const watch = <T>(work: Promise<T>): Promise<T> => {
      this.#late.add(work);
      void work.finally(() => this.#late.delete(work));
      return work;
    };
    return {
      addCall: (call: CallToArchive) => {
        const added = earlier.then(async () => {
          const found = await begun;
          if (found.ok) await found.run.addCall(call);
        });
        earlier = added;
        return added;
      },
      finish: (run: RunToArchive) =>
        watch(
          earlier.then(async (): Promise<ArchiveResult> => {
            const found = await begun;
            return found.ok ? found.run.finish(run) : { ok: false, message: found.message };
          }),
        ),
      discard: () =>
        void earlier.then(async () => {
          const found = await begun;
          if (found.ok) found.run.discard();
        }),
    };
  }

  async exists() {
    return (await this.#open()).exists();
  }

  async tryWriting() {
    await (await this.#open()).tryWriting();
  }

  async list(filter: PageFilter) {
    return (await this.#open()).list(filter);
  }

  async following(position: number, limit: number) {
    return (await this.#open()).following(position, limit);
  }

  async find(reference: string) {
    return (await this.#open()).find(reference);
  }

  async findIds(reference: string) {
    return (await this.#open()).findIds(reference);
  }

  async read(runId: string) {
    return (await this.#open()).read(runId);
  }

  async stats(filter: { sinceMs?: number }) {
    return (await this.#open()).stats(filter);
  }

  async timings(filter: { sinceMs?: number }) {
    return (await this.#open()).timings(filter);
  }

  async verify(heads?: readonly KeptHead[]) {
    return (await this.#open()).verify(heads);
  }

  async head() {
    return (await this.#open()).head();
  }

  async prune(options: PruneOptions) {
    return (await this.#open()).prune(options);
  }

  async delete(runIds: readonly string[], nowMs: number) {
    return (await this.#open()).delete(runIds, nowMs);
  }

  async beginImport(origin: RunOrigin) {
    return (await this.#open()).beginImport(origin);
  }

  async close(): Promise<void> {
    while (this.#late.size > 0) await Promise.allSettled(this.#late);
    await this.#store?.close();
  }
}

/** Runs and questions that wait for approval, in a store that opens on first use. */
export class LatePendingStore implements PendingStore {
  readonly #open: () => Promise<PendingStore>;

  constructor(open: () => Promise<PendingStore>) {
    this.#open = once(open);
  }

  async keep(row: RowToKeep, most: MostWaiting): Promise<KeptOrNot> {
    return (await this.#open()).keep(row, most);
  }

  async offer(row: LiveRow, most: Pick<MostWaiting, "bytes">): Promise<KeptOrNot> {
    return (await this.#open()).offer(row, most);
  }

  async offered(ticket: string, owner: string): Promise<Uint8Array | undefined> {
    return (await this.#open()).offered(ticket, owner);
  }

  async withdraw(ticket: string, owner: string): Promise<Uint8Array | undefined> {
    return (await this.#open()).withdraw(ticket, owner);
  }

  async list(principal: string | undefined): Promise<PendingRow[]> {
    return (await this.#open()).list(principal);
  }

  async row(ticket: string): Promise<PendingRow | undefined> {
    return (await this.#open()).row(ticket);
  }

  async question(ticket: string): Promise<Uint8Array | undefined> {
    return (await this.#open()).question(ticket);
  }

  async answer(ticket: string, principal: string, answer: Uint8Array): Promise<boolean> {
    return (await this.#open()).answer(ticket, principal, answer);
  }

  async claim(...asked: Parameters<PendingStore["claim"]>): Promise<Claimed> {
    return (await this.#open()).claim(...asked);
  }

  async release(ticket: string, owner: string): Promise<void> {
    await (await this.#open()).release(ticket, owner);
  }

  async remove(ticket: string, owner: string): Promise<boolean> {
    return (await this.#open()).remove(ticket, owner);
  }
}

/** An audit chain that opens when it gets its first lines. */
export class LateAuditChain implements AuditChain {
  readonly place: string;
  readonly #open: () => Promise<AuditChain>;

  constructor(place: string, open: () => Promise<AuditChain>) {
    this.place = place;
    this.#open = once(open);
  }

  async append(lines: readonly string[], flush: boolean): Promise<Appended> {
    return (await this.#open()).append(lines, flush);
  }
}

/** An audit log that opens when it is first read. */
export class LateAuditSource implements AuditSource {
  readonly place: string;
  readonly #open: () => Promise<AuditSource>;

  constructor(place: string, open: () => Promise<AuditSource>) {
    this.place = place;
    this.#open = once(open);
  }

  async *entries(filter: AuditFilter): AsyncGenerator<AuditEntry> {
    yield* (await this.#open()).entries(filter);
  }

  async *following(filter: AuditFilter, signal: AbortSignal): AsyncGenerator<AuditEntry> {
    yield* (await this.#open()).following(filter, signal);
  }

  async head() {
    return (await this.#open()).head();
  }

  async verify(options: VerifyLogOptions) {
    return (await this.#open()).verify(options);
  }
}

/** Documents in a store that opens on first use. */
export class LateDocuments implements Documents {
  readonly #open: () => Promise<Documents>;

  constructor(open: () => Promise<Documents>) {
    this.#open = once(open);
  }

  async place(): Promise<string> {
    return (await this.#open()).place();
  }

  async read(kind: string, name: string) {
    return (await this.#open()).read(kind, name);
  }

  async version(kind: string, name: string): Promise<number> {
    return (await this.#open()).version(kind, name);
  }

  async write(kind: string, name: string, content: Uint8Array): Promise<void> {
    await (await this.#open()).write(kind, name, content);
  }

  async remove(kind: string, name: string): Promise<boolean> {
    return (await this.#open()).remove(kind, name);
  }

  async withLock<T>(
    name: string,
    work: () => Promise<T>,
    options: Parameters<Documents["withLock"]>[2],
  ): Promise<T> {
    return (await this.#open()).withLock(name, work, options);
  }
}

/** Counts that open on first use. */
export class LateCounters implements Counters {
  readonly #open: () => Promise<Counters>;

  constructor(open: () => Promise<Counters>) {
    this.#open = once(open);
  }

  async count(request: CountRequest): Promise<Admitted[]> {
    return (await this.#open()).count(request);
  }
}

/** Facts that open on first use. */
export class LateFacts implements SharedFacts {
  readonly #open: () => Promise<SharedFacts>;

  constructor(open: () => Promise<SharedFacts>) {
    this.#open = once(open);
  }

  async note(name: string, noted: Noted): Promise<Facts> {
    return (await this.#open()).note(name, noted);
  }

  async read(name: string): Promise<Facts> {
    return (await this.#open()).read(name);
  }
}
