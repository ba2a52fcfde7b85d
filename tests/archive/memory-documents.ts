import type { Document, Documents } from "../../archive/documents.ts";

/** Documents in memory, for tests of one process. */
export class MemoryDocuments implements Documents {
  readonly #kept = new Map<string, Document>();
  #versions = 0;

  async place(): Promise<string> {
    return "memory";
  }

  async read(kind: string, name: string): Promise<Document | undefined> {
    return this.#kept.get(`${kind} ${name}`);
  }

  async version(kind: string, name: string): Promise<number> {
    return this.#kept.get(`${kind} ${name}`)?.version ?? 0;
  }

  async write(kind: string, name: string, content: Uint8Array): Promise<void> {
    this.#kept.set(`${kind} ${name}`, { content, version: ++this.#versions });
  }

  async remove(kind: string, name: string): Promise<boolean> {
    return this.#kept.delete(`${kind} ${name}`);
  }

  async withLock<T>(_name: string, work: () => Promise<T>): Promise<T> {
    return work();
  }
}
