import { GrowingPause } from "./growing-pause.ts";
import type { Upstream, UpstreamListing } from "./upstream.ts";
import { UpstreamError } from "./upstream-error.ts";

/** Follows what servers list. */
export interface ListingObserver {
  /** Takes in what a server has listed. The server is not listed again before that is done. Never rejects. */
  listed(server: string, listing: UpstreamListing): Promise<void>;
  /** A server said that its tools have changed, and could not be asked for them. */
  failed(server: string, error: UpstreamError): void;
  /** Whether what programs know of a server is newer than what it listed last: another process has listed it since. */
  isSuperseded(server: string): boolean;
}

/** Tools as a server listed them, by protocol name. */
export type ListedDefinitions = ReadonlyMap<string, unknown>;

/**
 * What one server lists, asked on first use and again when that may have changed: one listing at a time, and at most one to
 * come. Listings that follow each other closely have growing pauses between them, in which the last one holds, so that
 * a server which announces changes without end costs little.
 */
export class ListedTools {
  readonly #upstream: Upstream;
  readonly #observer: ListingObserver | undefined;
  #listing: Promise<ListedDefinitions> | undefined;
  /** The end of the listing that is being asked for or taken in. */
  #atWork: Promise<void> | undefined;
  #changed = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #listings = new GrowingPause();
  readonly #renewals = new GrowingPause();

  constructor(upstream: Upstream, observer: ListingObserver | undefined) {
    this.#upstream = upstream;
    this.#observer = observer;
    upstream.onToolsChanged((change) => (change === "announced" ? this.#announced() : this.#forget()));
  }

  /** One listing serves all that wait for it; one that failed is asked again by the next. @throws UpstreamError */
  definitions(): Promise<ListedDefinitions> {
    return this.#listing ?? this.#list();
  }

  /**
   * What the server lists, after that was found not to be what programs were made for: they have been told of the last
   * listing by now, or if they know of a newer one, the server is started anew and asked.
   *
   * @throws UpstreamError
   */
  async reconsider(): Promise<ListedDefinitions> {
    // Several calls of a program find this out at the same time; the first that is here asks for all of them.
    while (this.#atWork !== undefined) await this.#settled();
    const { name } = this.#upstream;
    if (this.#observer?.isSuperseded(name) === true && this.#renewals.waitMs() <= 0) {
      // Two processes whose servers differ would otherwise undo each other's modules with every program.
      this.#renewals.begin();
      this.#upstream.renew();
      const listing = this.#list();
      await this.#settled();
      this.#renewals.restart();
      return listing;
    }
    return this.definitions();
  }

  async #settled(): Promise<void> {
    while (this.#atWork !== undefined) await this.#atWork;
  }

  #list(): Promise<ListedDefinitions> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#changed = false;
    const answer = this.#upstream.list();
    const listing = answer.then(({ tools }) => byName(tools));
    const work = this.#takeIn(answer);
    this.#listing = listing;
    this.#atWork = work;
    listing.catch(() => {
      if (this.#listing === listing) this.#listing = undefined;
    });
    void work.then(() => {
      if (this.#atWork !== work) return;
      this.#atWork = undefined;
      this.#listings.restart();
      if (this.#changed) this.#schedule();
    });
    return listing;
  }

  async #takeIn(answer: Promise<UpstreamListing>): Promise<void> {
    try {
      const listing = await answer;
      await this.#observer?.listed(this.#upstream.name, listing);
    } catch {
      // Whoever asked for the listing has the error.
    }
  }

  #announced(): void {
    this.#changed = true;
    if (this.#atWork === undefined && this.#timer === undefined) this.#schedule();
  }

  #schedule(): void {
    const waitMs = this.#listings.waitMs();
    if (waitMs <= 0) this.#listAgain();
    else this.#timer = setTimeout(() => this.#listAgain(), waitMs).unref();
  }

  #listAgain(): void {
    this.#listings.begin();
    this.#list().catch((error: unknown) => {
      if (!(error instanceof UpstreamError)) throw error;
      // Nobody wants to know any more.
      if (error.code !== "cancelled") this.#observer?.failed(this.#upstream.name, error);
    });
  }

  /** The next connection may meet another version of the server. */
  #forget(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#changed = false;
    this.#listing = undefined;
  }
}

/** Tools by protocol name; of two with one name the first counts, as in the generated modules. */
function byName(tools: readonly unknown[]): ListedDefinitions {
  const definitions = new Map<string, unknown>();
  for (const tool of tools) {
    if (typeof tool !== "object" || tool === null || !("name" in tool) || typeof tool.name !== "string")
      continue;
    if (!definitions.has(tool.name)) definitions.set(tool.name, tool);
  }
  return definitions;
}
