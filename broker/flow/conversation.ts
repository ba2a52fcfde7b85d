import { OriginIndex } from "./origin-index.ts";

/** The number of characters that a conversation remembers for comparison, for labelled results and for all other texts each. */
const MAX_CHARS = 4 * 1024 * 1024;
/** Additional characters for the user's texts and programs, however many results have taken. */
const MAX_WRITTEN_CHARS = 2 * 1024 * 1024;
/** The number of user texts that are kept, and their total length. */
const MAX_SAID = 200;
const MAX_SAID_CHARS = 512 * 1024;
/** The maximum number of remembered runs. */
const MAX_RUNS = 1_000;

/** Where a value may come from. */
export type OriginKind = "user" | "program" | "data" | "result";

/** One text, or several that belong together, from which values may come. */
export interface Origin {
  readonly kind: OriginKind;
  /** The labels that it carries. */
  readonly labels: readonly string[];
  /** For a result: the namespaced tool, the configured name of its server, and the number of the call in its run, from 1. */
  readonly tool?: string;
  readonly server?: string;
  readonly seq?: number;
  /** The number of its run in the conversation, from 1. */
  readonly run: number;
  /** Whether its server was given labelled data before, so that the answer may be that data again. */
  readonly isEcho?: boolean;
}

/** Something that the model was shown, because of which the conversation carries a label. */
export interface Shown {
  readonly label: string;
  /** The namespaced name of the tool whose answer it was, if that is known. */
  readonly tool?: string | undefined;
}

/** What a conversation has come to, for processes in which it goes on. */
export interface Carried {
  readonly shown: readonly Shown[];
  /** Labels of data that its runs have read. */
  readonly read: readonly string[];
  /** The labels of the data that servers were given. */
  readonly given: readonly { readonly server: string; readonly label: string }[];
}

/**
 * What is known about a conversation with a model: the texts that values may come from, what the user said, and the labels of
 * everything the model was shown, which its own words carry from then on. Texts are kept in memory only, and bounded: those that no
 * longer fit are not traced, and any value that cannot be explained without them counts as coming from them.
 */
export class Conversation {
  /** Texts with and without labels are separate, so that many of one kind cannot hide one of the other. */
  readonly #plain = new OriginIndex(MAX_CHARS + MAX_WRITTEN_CHARS);
  readonly #labelledTexts = new OriginIndex(MAX_CHARS + MAX_WRITTEN_CHARS);
  readonly #origins: Origin[] = [];
  readonly #shown = new Map<string, Shown>();
  readonly #untraced = new Set<string>();
  readonly #received = new Map<string, Set<string>>();
  readonly #runs = new Set<string>();
  readonly #labelled = new Set<string>();
  /** Labels of data that was read, and that servers were given, where the conversation goes on as well. */
  readonly #readElsewhere = new Set<string>();
  readonly #givenElsewhere = new Map<string, Set<string>>();
  #waiting: { texts: readonly string[]; origin: number }[] = [];
  readonly #waitingChars = { plain: 0, labelled: 0 };
  #said: string[] = [];
  #saidChars = 0;
  #runCount = 0;

  /** @param shown labels that it carries from the beginning, such as those of a run that was suspended. */
  constructor(shown: readonly Shown[] = []) {
    for (const each of shown) this.#shown.set(each.label, each);
  }

  /** A new conversation with only what the user said. */
  afresh(): Conversation {
    const fresh = new Conversation();
    for (const said of this.#said) fresh.say(said);
    return fresh;
  }

  /** The labels of everything the model was shown, sorted. */
  get labels(): string[] {
    return [...this.#shown.keys()].sort();
  }

  /** The same, with the tools from which they come. */
  get shown(): Shown[] {
    return [...this.#shown.values()];
  }

  /** Whether any data read in it carries a label, or its model was shown such data. */
  get isLabelled(): boolean {
    return this.#labelled.size + this.#readElsewhere.size + this.#shown.size > 0;
  }

  /** The labels of texts that did not fit, or that are known elsewhere alone. */
  get untraced(): string[] {
    return [...new Set([...this.#untraced, ...this.#readElsewhere])];
  }

  /** What it has come to here, and what its model was shown anywhere. */
  get carried(): Carried {
    const given = [...this.#received].flatMap(([server, labels]) =>
      [...labels].map((label) => ({ server, label })),
    );
    return { shown: this.shown, read: [...this.#labelled], given };
  }

  /**
   * Takes what the conversation has come to elsewhere. The texts stay there. So a value that is not explained without them counts as
   * coming from them, and what a server answers counts as what it was given.
   */
  learn({ shown, read, given }: Carried): void {
    this.show(shown);
    for (const label of read) this.#readElsewhere.add(label);
    for (const { server, label } of given) addTo(this.#givenElsewhere, server, [label]);
  }

  /** Begins a run and returns its number, from 1. */
  beginRun(runId: string): number {
    if (this.#runs.size < MAX_RUNS) this.#runs.add(runId);
    return ++this.#runCount;
  }

  /** Whether the output of this run was examined when it ended. */
  knows(runId: string): boolean {
    return this.#runs.has(runId);
  }

  /** Adds what the user said, which is trusted whatever the model was shown. If it is too much, the latest is kept. */
  say(text: string): void {
    const kept = text.slice(-MAX_SAID_CHARS);
    if (kept.trim() === "") return;
    this.#said.push(kept);
    this.#saidChars += kept.length;
    while (this.#said.length > MAX_SAID || this.#saidChars > MAX_SAID_CHARS)
      this.#saidChars -= this.#said.shift()?.length ?? 0;
    this.add([kept], { kind: "user", labels: [], run: this.#runCount });
  }

  /** The user's texts, the latest last. */
  get said(): readonly string[] {
    return this.#said;
  }

  /** Remembers texts that values may come from. They are indexed at the first search. */
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

  /** Indexes of all added texts: those without labels, and those with labels. */
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

  /** Records that a server was given data with these labels. */
  give(server: string, labels: readonly string[]): void {
    if (labels.length > 0) addTo(this.#received, server, labels);
  }

  /** Whether a server was given labelled data. */
  wasGiven(server: string): boolean {
    return this.#received.has(server) || this.#givenElsewhere.has(server);
  }

  /** The labels of data that a server was given elsewhere. Its answers cannot be compared with that data. */
  givenElsewhere(server: string): readonly string[] {
    return [...(this.#givenElsewhere.get(server) ?? [])];
  }

  /** Records what the model was shown. Returns the new labels. */
  show(shown: readonly Shown[]): Shown[] {
    const fresh = shown.filter(({ label }) => !this.#shown.has(label));
    for (const each of fresh) if (!this.#shown.has(each.label)) this.#shown.set(each.label, each);
    return fresh.filter((each) => this.#shown.get(each.label) === each);
  }
}

function addTo(sets: Map<string, Set<string>>, key: string, values: readonly string[]): void {
  const known = sets.get(key) ?? new Set();
  for (const value of values) known.add(value);
  sets.set(key, known);
}
