import { OriginIndex } from "./origin-index.ts";

/** How many characters a conversation remembers for comparison: of results with labels, and of all other texts. */
const MAX_CHARS = 4 * 1024 * 1024;
/** How many more of what the user said and of programs, whatever results have taken. */
const MAX_WRITTEN_CHARS = 2 * 1024 * 1024;
/** How many texts of the user are kept, and how long all of them may be. */
const MAX_SAID = 200;
const MAX_SAID_CHARS = 512 * 1024;
/** How many texts wait to be entered at most; what they hold is bounded as the index is. */
const MAX_RUNS = 1_000;

/** Where a value may come from. */
export type OriginKind = "user" | "program" | "data" | "result";

/** One text, or several that belong together, that values may come from. */
export interface Origin {
  readonly kind: OriginKind;
  /** What it carries. */
  readonly labels: readonly string[];
  /** Of a result: the namespaced tool, the configured name of its server, and the number of the call in its run, from 1. */
  readonly tool?: string;
  readonly server?: string;
  readonly seq?: number;
  /** The run that it is of, by its place in the conversation, from 1. */
  readonly run: number;
  /** Whether its server was given labelled data before, so that what it answers may be that data again. */
  readonly isEcho?: boolean;
}

/** Why a conversation carries a label: what its model was shown. */
export interface Shown {
  readonly label: string;
  /** The tool whose answer it was, by its namespaced name, where that is known. */
  readonly tool?: string | undefined;
}

/**
 * What is known of a conversation with a model: the texts that values may come from, what the user said, and the labels of what the
 * model was shown, which its own words carry from then on. It is in memory alone, and bounded: what no longer fits is not traced, and
 * whatever cannot be explained without it counts as coming from it.
 */
export class Conversation {
  /** Texts without labels and those with labels are apart, so that none of one kind is hidden behind many of the other. */
  readonly #plain = new OriginIndex(MAX_CHARS + MAX_WRITTEN_CHARS);
  readonly #labelledTexts = new OriginIndex(MAX_CHARS + MAX_WRITTEN_CHARS);
  readonly #origins: Origin[] = [];
  readonly #shown = new Map<string, Shown>();
  readonly #untraced = new Set<string>();
  readonly #received = new Map<string, Set<string>>();
  readonly #runs = new Set<string>();
  readonly #labelled = new Set<string>();
  #waiting: { texts: readonly string[]; origin: number }[] = [];
  readonly #waitingChars = { plain: 0, labelled: 0 };
  #said: string[] = [];
  #saidChars = 0;
  #runCount = 0;

  /** @param shown labels that it carries from its beginning, as that of a run that was suspended. */
  constructor(shown: readonly Shown[] = []) {
    for (const each of shown) this.#shown.set(each.label, each);
  }

  /** A conversation of which nothing is known but what the user said. */
  afresh(): Conversation {
    const fresh = new Conversation();
    for (const said of this.#said) fresh.say(said);
    return fresh;
  }

  /** The labels of what the model was shown, sorted. */
  get labels(): string[] {
    return [...this.#shown.keys()].sort();
  }

  /** The same, with the tools that they come from. */
  get shown(): Shown[] {
    return [...this.#shown.values()];
  }

  /** Whether anything that was read in it carries a label, or its model was shown such data. */
  get isLabelled(): boolean {
    return this.#labelled.size > 0 || this.#shown.size > 0;
  }

  /** The labels of what did not fit. */
  get untraced(): string[] {
    return [...this.#untraced];
  }

  /** Begins a run in it, and says which it is, from 1. */
  beginRun(runId: string): number {
    if (this.#runs.size < MAX_RUNS) this.#runs.add(runId);
    return ++this.#runCount;
  }

  /** Whether what a run gave out was looked at when it ended. */
  knows(runId: string): boolean {
    return this.#runs.has(runId);
  }

  /** Takes what the user said. It is trusted whatever the model has been shown. Of too much, the latest is kept. */
  say(text: string): void {
    const kept = text.slice(-MAX_SAID_CHARS);
    if (kept.trim() === "") return;
    this.#said.push(kept);
    this.#saidChars += kept.length;
    while (this.#said.length > MAX_SAID || this.#saidChars > MAX_SAID_CHARS)
      this.#saidChars -= this.#said.shift()?.length ?? 0;
    this.add([kept], { kind: "user", labels: [], run: this.#runCount });
  }

  /** What the user said, the latest last. */
  get said(): readonly string[] {
    return this.#said;
  }

  /** Remembers texts that values may come from. They are entered when they are first looked for. */
  add(texts: readonly string[], origin: Origin): void {
    for (const label of origin.labels) this.#labelled.add(label);
    const chars = texts.reduce((sum, text) => sum + text.length, 0);
    if (chars === 0) return;
    const kind = origin.labels.length === 0 ? "plain" : "labelled";
    const index = kind === "plain" ? this.#plain : this.#labelledTexts;
    const room = origin.kind === "result" ? MAX_CHARS : MAX_CHARS + MAX_WRITTEN_CHARS;
    if (index.size + this.#waitingChars[kind] + chars > room) {
      for (const label of origin.labels) this.#untraced.add(label);
      return;
    }
    this.#waitingChars[kind] += chars;
    this.#waiting.push({ texts, origin: this.#origins.push(origin) - 1 });
  }

  /** All that was added, to be searched: texts without labels, and those with labels. */
  get texts(): { readonly plain: OriginIndex; readonly labelled: OriginIndex } {
    for (const { texts, origin } of this.#waiting) {
      const labels = this.#origins[origin]?.labels ?? [];
      const index = labels.length === 0 ? this.#plain : this.#labelledTexts;
      for (const text of texts)
        if (!index.add(text, origin)) for (const label of labels) this.#untraced.add(label);
    }
    this.#waiting = [];
    Object.assign(this.#waitingChars, { plain: 0, labelled: 0 });
    return { plain: this.#plain, labelled: this.#labelledTexts };
  }

  origin(source: number): Origin {
    return this.#origins[source] ?? { kind: "result", labels: this.untraced, run: 0 };
  }

  /** Notes that a server was given data with these labels. */
  give(server: string, labels: readonly string[]): void {
    if (labels.length === 0) return;
    const known = this.#received.get(server) ?? new Set();
    for (const label of labels) known.add(label);
    this.#received.set(server, known);
  }

  /** Whether a server was given labelled data. */
  wasGiven(server: string): boolean {
    return this.#received.has(server);
  }

  /** Notes what the model was shown. Returns the labels that are new. */
  show(shown: readonly Shown[]): Shown[] {
    const fresh = shown.filter(({ label }) => !this.#shown.has(label));
    for (const each of fresh) if (!this.#shown.has(each.label)) this.#shown.set(each.label, each);
    return fresh.filter((each) => this.#shown.get(each.label) === each);
  }
}
