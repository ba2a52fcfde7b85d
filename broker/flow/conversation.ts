import { OriginIndex } from "./origin-index.ts";
import { Pace } from "./pace.ts";
import { SaidWords } from "./said-words.ts";

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
  /** Labels that it may carry, because what its tool was sent may depend on data with them. */
  readonly possible?: readonly string[];
  /** For what a model wrote: what it had been shown by then without carrying the labels. */
  readonly hints?: Hints;
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

/** How much a model was shown of labelled data that is too little to say where it comes from: counts, truth values, single words. */
export interface Hints {
  /** The number of letters and digits, by label. */
  readonly letters: ReadonlyMap<string, number>;
  /** The labels of each word and number, in its folded form. */
  readonly words: ReadonlyMap<string, ReadonlySet<string>>;
}

/** What a conversation has come to, for processes in which it goes on. */
export interface Carried {
  readonly shown: readonly Shown[];
  /** Labels of data that its runs have read. */
  readonly read: readonly string[];
  /** The labels of the data that servers were given. */
  readonly given: readonly { readonly server: string; readonly label: string }[];
  /** How many letters and digits of data with a label its model was shown without carrying it. */
  readonly hinted: readonly { readonly label: string; readonly letters: number }[];
}

/** How deep a value may be whose texts are remembered, and how long a part of a user's text is that is read in one step. */
const MAX_MEMBERS = 100_000;
const STEP_CHARS = 4_096;
const MAX_HINTED_WORDS = 10_000;

/**
 * What is known about a conversation with a model: the texts that values may come from, what the user said, and the labels of
 * everything the model was shown, which its own words carry from then on. Texts are kept in memory only, and bounded: those that no
 * longer fit are not traced, and any value that cannot be explained without them counts as coming from them.
 */
export class Conversation {
  /** Texts with and without labels are separate, so that many of one kind cannot hide one of the other. */
  readonly #plain = new OriginIndex(MAX_CHARS + MAX_WRITTEN_CHARS, false);
  readonly #labelledTexts = new OriginIndex(MAX_CHARS + MAX_WRITTEN_CHARS, true);
  readonly #origins: Origin[] = [];
  readonly #shown = new Map<string, Shown>();
  readonly #untraced = new Set<string>();
  readonly #received = new Map<string, Set<string>>();
  readonly #runs = new Set<string>();
  readonly #labelled = new Set<string>();
  /** Labels of data that was read, and that servers were given, where the conversation goes on as well. */
  readonly #readElsewhere = new Set<string>();
  readonly #givenElsewhere = new Map<string, Set<string>>();
  readonly #hintedLetters = new Map<string, number>();
  readonly #hintedElsewhere = new Map<string, number>();
  #hintedWords = new Map<string, ReadonlySet<string>>();
  /** Whether a program keeps the map, which then changes no more. */
  #areHintsKept = false;
  readonly #saidWords = new SaidWords();
  /** What is not indexed yet. */
  #waiting: { values: readonly unknown[]; origin: Origin }[] = [];
  #indexing: Promise<void> | undefined;
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
    const hinted = [...this.#hintedLetters].map(([label, letters]) => ({ label, letters }));
    return { shown: this.shown, read: [...this.#labelled], given, hinted };
  }

  /**
   * Takes what the conversation has come to elsewhere. The texts stay there. So a value that is not explained without them counts as
   * coming from them, and what a server answers counts as what it was given.
   */
  learn({ shown, read, given, hinted }: Carried): void {
    this.show(shown);
    for (const label of read) this.#readElsewhere.add(label);
    for (const { server, label } of given) addTo(this.#givenElsewhere, server, [label]);
    for (const { label, letters } of hinted)
      this.#hintedElsewhere.set(label, Math.max(letters, this.#hintedElsewhere.get(label) ?? 0));
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

  /** Remembers the texts in values, which others may come from. They are indexed at the first search. */
  add(values: readonly unknown[], origin: Origin): void {
    for (const label of [...origin.labels, ...(origin.possible ?? [])]) this.#labelled.add(label);
    if (values.length > 0) this.#waiting.push({ values, origin });
  }

  /** Indexes all added texts, in steps: those without labels, and those with labels. */
  async texts(): Promise<{ readonly plain: OriginIndex; readonly labelled: OriginIndex }> {
    while (this.#waiting.length > 0 || this.#indexing !== undefined) {
      this.#indexing ??= this.#index().finally(() => {
        this.#indexing = undefined;
      });
      await this.#indexing;
    }
    return { plain: this.#plain, labelled: this.#labelledTexts };
  }

  async #index(): Promise<void> {
    const pace = new Pace();
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const { origin } = next;
      const labels = [...origin.labels, ...(origin.possible ?? [])];
      const index = labels.length === 0 ? this.#plain : this.#labelledTexts;
      const source = this.#origins.push(origin) - 1;
      const room = origin.kind === "result" ? MAX_CHARS : MAX_CHARS + MAX_WRITTEN_CHARS;
      for (const text of textsOf(next.values)) {
        if (pace.isDue) await pace.rest();
        let isWhole = index.size + text.length <= room;
        if (isWhole)
          for (const hasRoom of index.adding(text, source)) {
            isWhole = hasRoom;
            if (pace.isDue) await pace.rest();
          }
        if (!isWhole) for (const label of labels) this.#untraced.add(label);
        if (origin.kind !== "user") continue;
        for (const part of partsOf(text)) {
          this.#saidWords.add(part);
          if (pace.isDue) await pace.rest();
        }
      }
    }
  }

  /** What the user's words mean, as far as they are indexed. */
  get saidWords(): SaidWords {
    return this.#saidWords;
  }

  origin(source: number): Origin {
    return this.#origins[source] ?? { kind: "result", labels: this.untraced, run: 0 };
  }

  /** What the model was shown so far without carrying the labels. */
  get hints(): Hints {
    this.#areHintsKept = true;
    const letters = new Map(this.#hintedElsewhere);
    for (const [label, own] of this.#hintedLetters) letters.set(label, own + (letters.get(label) ?? 0));
    return { letters, words: this.#hintedWords };
  }

  /** Records that the model was shown a word or number of data that may carry these labels, and so many signs beside it. */
  hint(word: string, labels: readonly string[], signs = 0): void {
    for (const label of labels)
      this.#hintedLetters.set(label, word.length + signs + (this.#hintedLetters.get(label) ?? 0));
    if (word === "") return;
    if (this.#hintedWords.size >= MAX_HINTED_WORDS) return;
    const known = this.#hintedWords.get(word);
    if (labels.every((label) => known?.has(label) === true)) return;
    // Programs that were written before keep the map that they have. It is copied once for them, not for each word.
    if (this.#areHintsKept) this.#hintedWords = new Map(this.#hintedWords);
    this.#areHintsKept = false;
    this.#hintedWords.set(word, new Set([...(known ?? []), ...labels]));
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

/** The texts in values: their texts and numbers, and the names of members. */
function* textsOf(values: readonly unknown[]): Generator<string> {
  const open: unknown[] = [...values];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === "string") {
      if (next !== "") yield next;
    } else if (["number", "bigint", "boolean"].includes(typeof next)) yield String(next);
    else if (Array.isArray(next)) {
      const items = next.slice(0, MAX_MEMBERS);
      for (const item of items) open.push(item);
    } else if (typeof next === "object" && next !== null)
      for (const [name, member] of Object.entries(next)) {
        yield name;
        open.push(member);
      }
  }
}

/** A text in parts that end between its words. */
function* partsOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + STEP_CHARS);
    const space = end === text.length ? -1 : text.lastIndexOf(" ", end);
    if (space > at) end = space;
    yield text.slice(at, end);
    at = end;
  }
}
