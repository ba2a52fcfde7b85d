import type { Conversation, Hints, Origin, OriginKind, Shown } from "./conversation.ts";
import {
  ADDRESS,
  ATOM_START,
  FoldedText,
  HYPHENED,
  isDigit,
  type Leaf,
  leavesOf,
  memberPath,
  readings,
  WORD_START,
} from "./folded-text.ts";
import { HOST_PHRASES } from "./host-phrases.ts";
import { type Found, OriginIndex, type Piece, Search } from "./origin-index.ts";
import { Pace } from "./pace.ts";
import { isChoice } from "./schema-choices.ts";

/**
 * Finds the origins of the values in a run's calls.
 *
 * A value is free of labels only where that is known: the user said the whole of it, or a text without labels has the whole of it, as
 * a word or a series of words with the same separators, or a few such pieces make it. Nothing that is only made of letters, syllables
 * or decoded texts counts. Everything else may have been computed from anything the run has read: `undecided` has the labels of that.
 * Decisions treat these as labels of the value, unless an experiment shows that the value does not depend on what was read (`settle`).
 *
 * A value comes from a labelled text for certain if it contains a piece of it, in any encoding, that no text without labels contains.
 * That spares an experiment and says more to people; no decision rests on finding every such piece.
 *
 * The lengths below were measured (bench/parts/value-origins.ts): shorter pieces often occur in unrelated texts, too.
 */

/** A whole value counts as a piece of a text from this many characters on. Shorter ones may occur in any text. */
const MIN_VALUE_CHARS = 12;
/** The same for names with digits, and for names of several joined words. An address always counts. */
const MIN_MIXED_CHARS = 6;
const MIN_JOINED_CHARS = 10;
/** Numbers with fewer digits may occur anywhere. */
const MIN_DIGITS = 9;
/** The same for a series of words. */
const MIN_RUN_CHARS = 24;
/** Shorter pieces count if a model is shown them: two words, and names with more words than those of kinds and states. */
const MIN_SHOWN_CHARS = 8;
const MAX_STATE_WORDS = 3;
const MIN_SHOWN_NAME_CHARS = 5;
/** A model may be shown fewer letters and digits than these of what nobody but a labelled text explains. */
const MIN_HINTED_CHARS = 20;
/**
 * What a model writes may be made of what it was shown before, if it says no more than that. A model knows much by itself, such as
 * the host of an address, and so what it writes counts as saying half as much as it has letters. One digit is free: a count.
 */
const FREE_HINTED_CHARS = 1;
const WRITTEN_PER_HINTED_CHAR = 2;
const MIN_HINTED_WORD_CHARS = 3;
/** Shorter words of texts without labels may spell others. */
const MIN_SPELLING_CHARS = 4;
/** A text may be made of so many pieces of texts without labels; each is longer than a word, but for so many. */
const MAX_PARTS = 12;
const MAX_SHORT_PARTS = 4;
const MIN_PART_CHARS = 8;
/** A longer value that a labelled text has as well is not made of the words of others. */
const MAX_MADE_CHARS = 60;
/** The quotes, brackets and spaces around a value, and between its parts. */
const MAX_AROUND_CHARS = 3;
/** Numbers of fewer digits in what a tool is sent say too little to make its answer another's. */
const MAX_SMALL_NUMBER = 999;
const BETWEEN_SPACES = /[^\s"'`,;()[\]{}<>]+/g;
const MAX_LEAVES = 5_000;
const MAX_LEAF_CHARS = 200_000;
const MAX_SHOWN_CHARS = 8_000_000;
/** How much of what the user said is compared with a text that stands in it, beyond its own length. */
const MAX_COMPARED_WITH_SAID = 2_000_000;
const STEP_CHARS = 2_048;
const SHOWN_STEP_CHARS = 16_384;

/** The origin of a value, for records and people. */
export interface OriginRef {
  readonly kind: OriginKind;
  readonly tool?: string;
  readonly seq?: number;
  /** Set if it belongs to an earlier run of the conversation. */
  readonly isEarlier?: true;
  readonly labels: readonly string[];
}

/** What is known about one value of a call's arguments. */
export interface LeafFlow {
  readonly path: string;
  readonly value: Leaf["value"];
  readonly origins: readonly OriginRef[];
  /** The labels that it carries according to its content. */
  readonly labels: readonly string[];
  /** Labels that it may carry, because its content does not show its origin. */
  readonly undecided: readonly string[];
  /** Labels of texts that contain a value that is too short to be attributed. Data that is looked up with the value carries them. */
  readonly possible: readonly string[];
  /** Those of the undecided labels that no experiment can clear, because the model's own words carry them. */
  readonly own?: readonly string[];
  /** Whether the user said it. */
  readonly isSaid: boolean;
}

/** What a part of an answer carries, by its path. `isMade`: whether it carries nothing else, whatever the tool was sent. */
export type LabelsOfPart = (path: string) => { readonly labels: readonly string[]; readonly isMade: boolean };

/**
 * Finds by experiment which values do not depend on what was read: `true` for those.
 *
 * @param labels the labels in question. Only data with one of them is replaced.
 */
export type Experiment = (
  call: FlowingCall,
  paths: readonly string[],
  labels: readonly string[],
) => Promise<ReadonlyMap<string, boolean>>;

/** A call whose values are traced. */
export interface FlowingCall {
  readonly tool: string;
  /** The number of the call within its run, from 1. */
  readonly seq: number;
  readonly arguments: unknown;
  /** The schema of the arguments. A value that it names itself is nobody's but the program's. */
  readonly schema?: unknown;
}

/** A value that is to be settled, and the labels in question. */
export interface Open {
  readonly path: string;
  readonly labels: readonly string[];
}

/** A call's values and their origins. */
export interface CallFlow {
  readonly leaves: readonly LeafFlow[];
  /** What it depends on that the call is made at all; its path is `()`, and `settle` takes that path too. */
  readonly control: LeafFlow;
  /** What the user said in the conversation. */
  readonly said: readonly string[];
  /** Labels of everything the model of the conversation was shown. */
  readonly conversationLabels: readonly string[];
  /** Settles undecided values as far as the run can, and returns a new flow. */
  settle(open: readonly Open[]): Promise<CallFlow>;
}

export interface RunFlowOptions {
  conversation: Conversation;
  runId: string;
  /** Whether the conversation remembers what its runs read and its model was shown. Else each run starts anew. */
  isSticky: boolean;
  /** The texts that the model or a person wrote for the run. */
  program?: readonly string[];
  data?: unknown;
  /** Labels of data that earlier programs of its session read, which may be in any variable. */
  earlier?: readonly string[];
  /** What the model that wrote the program was shown, if that was in another conversation. */
  shown?: readonly Shown[] | undefined;
  /** Whether a model that is shown this value stays free of its labels, as for an id that policy names. */
  isPlain?: ((value: string) => boolean) | undefined;
  /** Whether a choice among the values that a tool's schema names carries the labels of what it may depend on. */
  labelsChoices?: boolean | undefined;
}

/** The labels of an answer: its own, and those of what its tool was sent, if that may depend on data with them. */
export interface AnswerLabels {
  readonly certain: readonly string[];
  readonly possible: readonly string[];
}

const NO_LABELS: AnswerLabels = { certain: [], possible: [] };
const NO_HINTS: Hints = { letters: new Map(), words: new Map() };

/** The values of one run. */
export class RunFlow {
  readonly #conversation: Conversation;
  readonly #run: number;
  readonly #isSticky: boolean;
  /** Labels of the data that the run has read, with the first tool of each. */
  readonly #read = new Map<string, Shown>();
  /** The labels of the model's own texts. */
  readonly #own: readonly string[];
  /** What the model had been shown when it wrote them, without carrying the labels. */
  readonly #hints: Hints;
  readonly #isPlain: RunFlowOptions["isPlain"];
  readonly #labelsChoices: boolean;
  readonly #shownBefore: readonly Shown[];
  readonly #labelsByCall = new Map<number, AnswerLabels>();
  readonly #partsByCall = new Map<number, (path: string) => readonly string[]>();
  readonly #texts: readonly string[];
  #experiment: Experiment | undefined;

  constructor({
    conversation,
    runId,
    isSticky,
    program = [],
    data,
    earlier = [],
    shown = [],
    isPlain,
    labelsChoices = false,
  }: RunFlowOptions) {
    this.#isPlain = isPlain;
    this.#labelsChoices = labelsChoices;
    this.#conversation = isSticky ? conversation : conversation.afresh();
    this.#isSticky = isSticky;
    this.#run = conversation.beginRun(runId);
    const own = [...conversation.labels, ...shown.map(({ label }) => label)];
    this.#own = isSticky ? [...new Set(own)].sort() : [];
    this.#hints = isSticky ? conversation.hints : NO_HINTS;
    this.#shownBefore = shown;
    this.#texts = program;
    for (const label of earlier) this.#read.set(label, { label });
    const written = { labels: this.#own, hints: this.#hints, run: this.#run };
    this.#conversation.add(program, { kind: "program", ...written });
    if (data !== undefined) this.#conversation.add([data], { kind: "data", ...written });
  }

  /** Labels that a value may carry if its content does not show its origin. */
  get possible(): string[] {
    return [...new Set([...this.#read.keys(), ...this.#own, ...this.#conversation.untraced])].sort();
  }

  /** Whether any value may carry a label. */
  get isLabelled(): boolean {
    return this.#conversation.isLabelled || this.#read.size > 0;
  }

  /** Labels of what the model of the conversation was shown. */
  get conversationLabels(): readonly string[] {
    return this.shown.map(({ label }) => label).sort();
  }

  /** What its model was shown, for continuing the run elsewhere. */
  get shown(): readonly Shown[] {
    if (!this.#isSticky) return [];
    const own = this.#conversation.shown;
    return [...own, ...this.#shownBefore.filter(({ label }) => !own.some((each) => each.label === label))];
  }

  /** Adds texts of saved programs, which are a person's and not the model's, whatever it has read since. */
  saved(texts: readonly string[]): void {
    this.#conversation.add(texts, { kind: "program", labels: [], run: this.#run });
  }

  /** Records that a server may have been sent anything that was read so far, if it is not known what it was sent. */
  mayHaveSent(server: string): void {
    this.#conversation.give(server, this.possible);
  }

  /** The labels that the answer to a call carries, by the number of the call. */
  labelsOfCall(seq: number): AnswerLabels {
    return this.#labelsByCall.get(seq) ?? NO_LABELS;
  }

  /** From now on settles undecided values by running the program again. */
  experimentWith(experiment: Experiment): void {
    this.#experiment = experiment;
  }

  /** Finds the origins of a call's values. */
  async follow(call: FlowingCall): Promise<CallFlow> {
    const { leaves: listed, isWhole } = leavesOf(call.arguments, MAX_LEAVES);
    const { plain, labelled } = await this.#conversation.texts();
    const tracing: Tracing = { call, possible: this.possible, plain, labelled, pace: new Pace() };
    const leaves: LeafFlow[] = [];
    for (const leaf of listed) leaves.push(await this.#trace(leaf, tracing));
    if (!isWhole)
      leaves.push({
        ...NOTHING,
        path: "",
        value: null,
        undecided: tracing.possible,
        possible: tracing.possible,
      });
    return this.#flowOf(call, leaves, this.#controlOf(tracing.possible));
  }

  /** A model writes a program because of all that it was shown, and the program makes a call because of all that it has read. */
  #controlOf(possible: readonly string[]): LeafFlow {
    const labels = [...this.#own];
    const undecided = possible.filter((label) => !labels.includes(label));
    return { ...NOTHING, path: "()", value: null, labels, undecided, possible };
  }

  #flowOf(call: FlowingCall, leaves: readonly LeafFlow[], control: LeafFlow): CallFlow {
    return {
      leaves,
      control,
      said: this.#conversation.said,
      conversationLabels: this.conversationLabels,
      settle: async (open) => {
        const [settled = control, ...others] = await this.#settle(call, [control, ...leaves], open);
        return this.#flowOf(call, others, settled);
      },
    };
  }

  async #settle(
    call: FlowingCall,
    leaves: readonly LeafFlow[],
    open: readonly Open[],
  ): Promise<readonly LeafFlow[]> {
    const experiment = this.#experiment;
    if (experiment === undefined) return leaves;
    // The model's own texts are the same in each experiment.
    const fixed = new Set([...this.#own, ...this.#conversation.untraced]);
    const groups = new Map<string, { labels: readonly string[]; paths: Set<string> }>();
    for (const { path, labels } of open) {
      const clearable = labels.filter((label) => !fixed.has(label)).sort();
      const isOpen = leaves.some(
        (leaf) =>
          leaf.path === path &&
          clearable.some((label) => leaf.undecided.includes(label) && leaf.own?.includes(label) !== true),
      );
      if (!isOpen) continue;
      const key = JSON.stringify(clearable);
      const group = groups.get(key) ?? { labels: clearable, paths: new Set() };
      groups.set(key, { ...group, paths: group.paths.add(path) });
    }
    let settled = leaves;
    for (const { labels, paths } of groups.values()) {
      const independent = await experiment(call, [...paths], labels);
      settled = settled.map((leaf) =>
        independent.get(leaf.path) === true
          ? {
              ...leaf,
              undecided: leaf.undecided.filter(
                (label) => !labels.includes(label) || leaf.own?.includes(label) === true,
              ),
            }
          : leaf,
      );
    }
    return settled;
  }

  /**
   * Records a call's answer or failure before the program receives it. It carries its own labels and those of what was sent, because a
   * tool may transform what it is sent, or use it to look something up.
   */
  answered(
    { tool, server, seq }: { tool: string; server: string; seq: number },
    labels: readonly string[],
    sent: CallFlow | undefined,
    answer: readonly unknown[],
    parts?: LabelsOfPart,
  ): void {
    const carried = sent?.leaves.flatMap((leaf) => [...leaf.labels, ...leaf.possible]) ?? [];
    const passedOn = [...carried, ...this.#conversation.givenElsewhere(server)];
    const certain = [...new Set([...labels, ...passedOn])];
    const open = sent?.leaves.flatMap((leaf) => (isSmall(leaf.value) ? [] : leaf.undecided)) ?? [];
    const possible = [...new Set(open)].filter((label) => !certain.includes(label));
    this.#labelsByCall.set(seq, { certain, possible });
    this.#conversation.give(server, [...carried, ...open]);
    for (const label of [...certain, ...possible])
      if (!this.#read.has(label)) this.#read.set(label, { label, tool });
    const origin: Omit<Origin, "labels"> = {
      kind: "result",
      tool,
      server,
      seq,
      run: this.#run,
      isEcho: this.#conversation.wasGiven(server),
    };
    if (parts === undefined) {
      this.#conversation.add(answer, { ...origin, labels: certain, possible });
      return;
    }
    const labelsOf = (path: string): AnswerLabels => {
      const part = parts(path);
      const own = [...new Set([...part.labels, ...passedOn])].sort();
      return part.isMade
        ? NO_LABELS
        : { certain: own, possible: open.filter((label) => !own.includes(label)) };
    };
    this.#partsByCall.set(seq, (path) => Object.values(labelsOf(path)).flat());
    const byLabels = new Map<string, { labels: AnswerLabels; texts: string[] }>();
    for (const [index, each] of answer.entries())
      for (const [path, text] of index === 0 ? textsByPath(each) : [["", each] as const]) {
        const own = labelsOf(path);
        const key = JSON.stringify(own);
        const known = byLabels.get(key) ?? { labels: own, texts: [] };
        known.texts.push(text as string);
        byLabels.set(key, known);
      }
    for (const { labels: own, texts } of byLabels.values())
      this.#conversation.add(texts, { ...origin, labels: own.certain, possible: own.possible });
  }

  /** The labels that the parts of a call's answer carry, by path; `undefined` if all carry the same. */
  partsOfCall(seq: number): ((path: string) => readonly string[]) | undefined {
    return this.#partsByCall.get(seq);
  }

  /**
   * Records what the model is shown of the run. Returns the labels that are new to the conversation: those of pieces of labelled texts
   * in what is shown. What else no text without labels explains may be made of anything that the run has read: the conversation counts
   * its letters and digits, and carries the labels once they are enough to say something.
   */
  async show(texts: readonly string[]): Promise<Shown[]> {
    if (!this.#isSticky) return [];
    const found = new Map<string, Shown>();
    let isCut = false;
    if (this.#conversation.isLabelled) {
      const pace = new Pace();
      for (const text of texts) {
        const cut = await this.#showText(this.#withoutPlain(text.slice(0, MAX_SHOWN_CHARS)), found, pace);
        isCut ||= cut || text.length > MAX_SHOWN_CHARS;
      }
    }
    const { letters } = this.#conversation.hints;
    for (const label of this.possible)
      if (!found.has(label) && (isCut || (letters.get(label) ?? 0) >= MIN_HINTED_CHARS))
        found.set(label, this.#read.get(label) ?? { label });
    return this.#conversation.show([...found.values()]);
  }

  #withoutPlain(text: string): string {
    const isPlain = this.#isPlain;
    return isPlain === undefined
      ? text
      : text.replace(BETWEEN_SPACES, (word) => (isPlain(word) ? " " : word));
  }

  /** Notes the labels that a shown text carries. Returns whether it could not be looked at completely. */
  async #showText(text: string, found: Map<string, Shown>, pace: Pace): Promise<boolean> {
    const { plain, labelled } = await this.#conversation.texts();
    let isCut = false;
    for (let at = 0; at < text.length; at += SHOWN_STEP_CHARS) {
      // A step repeats the end of the one before it, so that nothing is cut in two.
      const from = Math.max(0, at - MIN_VALUE_CHARS * MIN_RUN_CHARS);
      for (const [index, reading] of readings(text.slice(from, at + SHOWN_STEP_CHARS)).entries()) {
        const folded = FoldedText.of(reading);
        const known = new Uint8Array(folded.length);
        const cover = new Cover(folded);
        const onTrusted = ({ source, from: start, to }: Found) => {
          if (this.#conversation.origin(source).isEcho === true) return;
          cover.add(start, to);
          // Letters and syllables of others can spell anything.
          if (to - start >= MIN_SPELLING_CHARS) known.fill(1, start, to);
          else for (let index = start; index < to; index++) known[index] = Math.max(known[index] ?? 0, 2);
        };
        const words: (Piece & { origin: Origin })[] = [];
        const pieces: (Piece & { origin: Origin })[] = [];
        const searches = [
          new Search(plain, folded, onTrusted, { isExact: true }),
          new Search(
            hostPhrases(),
            folded,
            ({ from: start, to }) => void (to - start >= MIN_PART_CHARS && known.fill(1, start, to)),
            {
              isExact: true,
            },
          ),
          new Search(labelled, folded, (piece) => {
            const origin = this.#conversation.origin(piece.source);
            if (isShowing(folded, piece.from, piece.to)) pieces.push({ ...piece, origin });
            else if (piece.isWhole) words.push({ ...piece, origin });
          }),
        ];
        for (const search of searches) isCut = (await complete(search, pace)) || isCut;
        for (const { from: start, to, origin } of pieces) {
          if (pace.isDue) await pace.rest();
          if (cover.holds(start, to)) continue;
          known.fill(1, start, to);
          for (const label of [...origin.labels, ...(origin.possible ?? [])])
            if (!found.has(label))
              found.set(label, { label, ...(origin.tool === undefined ? {} : { tool: origin.tool }) });
        }
        if (index === 0) await this.#hint(folded, known, words, pace);
      }
      if (pace.isDue) await pace.rest();
    }
    return isCut;
  }

  /** Notes the words of a shown text that no text without labels explains. */
  async #hint(
    folded: FoldedText,
    known: Uint8Array,
    found: readonly (Piece & { origin: Origin })[],
    pace: Pace,
  ): Promise<void> {
    const read = [...this.#read.keys(), ...this.#conversation.untraced];
    const { codes, flags } = folded;
    const spelt = new Set<string>();
    // Words come in their order, and so do the pieces around them.
    const waiting = found.toSorted((a, b) => a.from - b.from);
    let around: (Piece & { origin: Origin })[] = [];
    let entered = 0;
    const end = folded.length - 1;
    for (let at = 0; at < end; ) {
      if (pace.isDue) await pace.rest();
      let to = at + 1;
      while (to < end && ((flags[to] ?? WORD_START) & WORD_START) === 0) to++;
      const word = String.fromCharCode(...codes.subarray(at, Math.min(to, at + MIN_HINTED_CHARS)));
      const own = known.subarray(at, to);
      // A short word of others counts once, and a letter or number each time.
      const isSpelt =
        !own.includes(0) && !own.includes(1) && (to - at === 1 || /\d/.test(word) || !spelt.has(word));
      if (isSpelt) spelt.add(word);
      if (own.includes(0) || isSpelt) {
        for (let next = waiting[entered]; next !== undefined && next.from <= at; next = waiting[++entered])
          around.push(next);
        around = around.filter((piece) => piece.to >= to);
        const of = around.flatMap(({ origin }) => [...origin.labels, ...(origin.possible ?? [])]);
        const labels = of.length > 0 ? [...new Set(of)] : read;
        if (labels.length > 0) this.#conversation.hint(word, labels, signsIn(folded.gapAt(at)));
      }
      at = to;
    }
    const signs = signsIn(folded.gapAt(end));
    if (signs > 0 && read.length > 0) this.#conversation.hint("", read, signs);
  }

  async #trace({ path, value }: Leaf, tracing: Tracing): Promise<LeafFlow> {
    const { call, possible, pace } = tracing;
    const none = { ...NOTHING, path, value };
    if (value === null || value === false || value === "") return none;
    if (!this.#labelsChoices && isChoice(call.schema, path, value))
      return { ...none, origins: [{ kind: "program", labels: [] }] };
    const text = String(value);
    if (pace.isDue) await pace.rest();
    if (text.length > MAX_LEAF_CHARS) {
      const found = new Map<string, Shown>();
      await this.#showPieces(text, found, tracing);
      const labels = [...found.keys()].sort();
      return { ...none, labels, undecided: possible.filter((label) => !labels.includes(label)) };
    }
    const mailboxes = typeof value === "string" ? mailboxesIn(value) : undefined;
    if (mailboxes === undefined) return this.#traceText(path, value, text, tracing);
    const parts: LeafFlow[] = [];
    for (const { name, address } of mailboxes) {
      parts.push(await this.#traceText(path, address, address, tracing));
      const isOfAddress = address.toLowerCase().startsWith(`${name.toLowerCase()}@`);
      if (name !== "" && !isOfAddress) parts.push(await this.#traceText(path, name, name, tracing));
    }
    return joined({ path, value }, parts);
  }

  async #showPieces(text: string, found: Map<string, Shown>, { labelled, pace }: Tracing): Promise<void> {
    for (let at = 0; at < text.length; at += SHOWN_STEP_CHARS) {
      const folded = FoldedText.of(text.slice(Math.max(0, at - SHOWN_STEP_CHARS / 8), at + SHOWN_STEP_CHARS));
      const search = new Search(labelled, folded, ({ source, from, to }) => {
        if (!isTelling(folded, from, to)) return;
        for (const label of this.#conversation.origin(source).labels) found.set(label, { label });
      });
      await complete(search, pace);
    }
  }

  /** Traces a value that is one thing. */
  async #traceText(
    path: string,
    value: NonNullable<Leaf["value"]>,
    text: string,
    tracing: Tracing,
  ): Promise<LeafFlow> {
    const { possible, plain, labelled: labelledTexts, pace } = tracing;
    const none = { ...NOTHING, path, value };
    const [read, ...decoded] = readings(text).map((reading) => FoldedText.of(reading)) as [
      FoldedText,
      ...FoldedText[],
    ];
    const end = read.length - 1;
    const pieces = new Cover(read);
    const cover = new Cover(read);
    /** The texts without labels that it has pieces of, with the length of the longest. */
    const trusted = new Map<Origin, number>();
    const onTrusted = ({ source, from, to }: Found) => {
      const origin = this.#conversation.origin(source);
      pieces.add(from, to);
      if (origin.isEcho !== true) cover.add(from, to);
      trusted.set(origin, Math.max(to - from, trusted.get(origin) ?? 0));
    };
    let isCut = await complete(new Search(plain, read, onTrusted, { isExact: true }), pace);
    const isAccounted = end > 0 && isWritten(text) && isAround(read, 0) && isAround(read, end);
    const wholes = isAccounted
      ? [...trusted].filter(([, length]) => length === end).map(([origin]) => origin)
      : [];
    const meant = this.#conversation.saidWords.means(value, path);
    const isSaid =
      meant ?? (wholes.some(({ kind }) => kind === "user") || (!isAccounted && this.#says(text)));
    const refs = new Map<Origin, true>();
    if (isSaid) {
      for (const origin of trusted.keys()) refs.set(origin, true);
      return { ...none, isSaid, origins: [{ kind: "user", labels: [] }, ...this.#refs(refs, [])] };
    }
    const labels = new Set<string>();
    const open = new Set<string>();
    const short = new Set<string>();
    let isForeign = false;
    for (const folded of [read, ...decoded]) {
      const size = folded.length - 1;
      const covering = folded === read ? cover : await this.#coverOf(folded, tracing);
      const search = new Search(labelledTexts, folded, ({ source, from, to, isWhole }) => {
        if (covering.holds(from, to)) {
          isForeign ||= folded === read && from === 0 && to === size && isWhole;
          return;
        }
        const origin = this.#conversation.origin(source);
        const isAll = isWhole && from === 0 && to === size;
        isForeign ||= folded === read && isAll;
        if (isAll) for (const label of origin.labels) short.add(label);
        for (const label of isAll ? (origin.possible ?? []) : []) open.add(label);
        if (!isTelling(folded, from, to)) return;
        refs.set(origin, true);
        for (const label of origin.labels) labels.add(label);
        for (const label of origin.possible ?? []) open.add(label);
      });
      isCut = (await complete(search, pace)) || isCut;
    }
    const explaining = wholes.filter(
      ({ kind, isEcho }) => kind !== "user" && !(isEcho === true && isForeign),
    );
    const isElsewhere = explaining.some(({ kind, isEcho }) => kind === "result" && isEcho !== true);
    // A short value that is also in the program may be the program's own, or depend on what it has read.
    const isShort = end < MIN_SHOWN_CHARS || typeof value !== "string";
    const isAmbiguous = isShort && !isElsewhere && isForeign && labels.size === 0;
    const isExplained =
      !isAmbiguous &&
      (explaining.length > 0 ||
        isNamedBy(text, end, this.#own.length > 0 ? [] : this.#texts) ||
        (isAccounted && typeof value === "string" && isMadeOf(read, pieces)));
    const hinted = await this.#hintedIn(read, text, explaining, pace);
    for (const [origin, length] of trusted)
      if (labels.size === 0 || length >= MIN_SHOWN_CHARS) refs.set(origin, true);
    // A value whose words all stand in texts without labels may have been made of these: an experiment can tell.
    const isMade = labels.size > 0 && (await this.#hasWordsOf(read, tracing));
    const certain = isMade ? [] : [...labels].sort();
    if (isMade) for (const label of labels) open.add(label);
    const undecided = new Set(isExplained && !isCut ? [...open] : [...possible, ...open]);
    for (const label of hinted) undecided.add(label);
    const own = [...hinted];
    return {
      ...none,
      origins: this.#refs(refs, certain),
      labels: certain,
      undecided: [...undecided].filter((label) => !certain.includes(label)).sort(),
      possible: isExplained ? [] : [...short, ...labels].filter((label) => !certain.includes(label)),
      ...(own.length === 0 ? {} : { own }),
    };
  }

  /** Whether each word of a short value stands in a text without labels. */
  async #hasWordsOf(read: FoldedText, { plain, pace }: Tracing): Promise<boolean> {
    const end = read.length - 1;
    if (end > MAX_MADE_CHARS) return false;
    const known = new Uint8Array(end);
    const onFound = ({ source, from, to, isWhole }: Found) => {
      if (isWhole && this.#conversation.origin(source).isEcho !== true) known.fill(1, from, to);
    };
    await complete(new Search(plain, read, onFound), pace);
    return !known.includes(0);
  }

  async #coverOf(folded: FoldedText, { plain, pace }: Tracing): Promise<Cover> {
    const cover = new Cover(folded);
    const onFound = ({ source, from, to }: Found) => {
      if (this.#conversation.origin(source).isEcho !== true) cover.add(from, to);
    };
    await complete(new Search(plain, folded, onFound, { isExact: true }), pace);
    return cover;
  }

  /** The labels of what the model may have made a value of, where its program is all that explains it. */
  async #hintedIn(
    read: FoldedText,
    text: string,
    explaining: readonly Origin[],
    pace: Pace,
  ): Promise<Set<string>> {
    const isFree = explaining.some(
      ({ kind, hints }) => kind === "result" || hints === undefined || hints.letters.size === 0,
    );
    const found = new Set<string>();
    if (isFree || this.#hints.letters.size === 0) return found;
    const says = lettersOf(text);
    for (const [label, letters] of this.#hints.letters)
      if (says <= WRITTEN_PER_HINTED_CHAR * Math.max(0, letters - FREE_HINTED_CHARS)) found.add(label);
    const { codes, flags } = read;
    const end = read.length - 1;
    for (let at = 0; at < end; ) {
      if (pace.isDue) await pace.rest();
      let to = at + 1;
      while (to < end && ((flags[to] ?? WORD_START) & WORD_START) === 0) to++;
      if (to - at === end || to - at >= MIN_HINTED_WORD_CHARS) {
        const word = String.fromCharCode(...codes.subarray(at, Math.min(to, at + MIN_HINTED_CHARS)));
        for (const label of this.#hints.words.get(word) ?? []) found.add(label);
      }
      at = to;
    }
    return found;
  }

  /** The origins that explain a value, or give it its labels. */
  #refs(origins: ReadonlyMap<Origin, true>, labels: readonly string[]): OriginRef[] {
    const refs = new Map<string, OriginRef>();
    for (const { kind, tool, seq, run, labels: own } of origins.keys()) {
      if (own.length > 0 && !own.some((label) => labels.includes(label))) continue;
      if (kind === "user") continue;
      const isEarlier = run < this.#run;
      const ref: OriginRef = {
        kind,
        ...(tool === undefined ? {} : { tool, seq: seq ?? 0 }),
        ...(isEarlier ? { isEarlier } : {}),
        labels: own,
      };
      refs.set(JSON.stringify([kind, tool, isEarlier, own]), ref);
    }
    return [...refs.values()];
  }

  /** Whether the user said a text as it is, where its letters and digits are not all of it. */
  #says(text: string): boolean {
    return this.#conversation.said.some((said) => isIn(said, text, /[\s"'`,;]/));
  }
}

/** What the traces of a call's values share. */
interface Tracing {
  readonly call: FlowingCall;
  readonly possible: readonly string[];
  readonly plain: OriginIndex;
  readonly labelled: OriginIndex;
  readonly pace: Pace;
}

const NOTHING = { origins: [], labels: [], undecided: [], possible: [], isSaid: false } as const;

let phrases: OriginIndex | undefined;

/** What ptc, Node.js and Python write themselves where a program fails. */
function hostPhrases(): OriginIndex {
  if (phrases !== undefined) return phrases;
  phrases = new OriginIndex(100_000, false);
  for (const phrase of HOST_PHRASES) phrases.add(phrase, 0);
  return phrases;
}

/** Makes a search in steps. Returns whether it ended before it had found everything. */
async function complete(search: Search, pace: Pace): Promise<boolean> {
  while (!search.isOver) {
    search.advance(STEP_CHARS);
    if (pace.isDue) await pace.rest();
  }
  return search.isCut;
}

/** The number of signs between two words, if they are more than those of sentences, JSON and lines. */
function signsIn(gap: string | undefined): number {
  if (gap === undefined) return MIN_HINTED_CHARS;
  const signs = gap.replaceAll(/[\s"'`()[\]{}<>,;|\\]|([.=_*-])\1+/g, "");
  return signs.length > 1 ? signs.length : 0;
}

/** Whether a value says too little to make what a tool answers to it somebody else's. */
function isSmall(value: Leaf["value"]): boolean {
  return (
    typeof value === "boolean" ||
    (typeof value === "number" && Number.isInteger(value) && Math.abs(value) <= MAX_SMALL_NUMBER)
  );
}

/** Whether a text is in the usual form of its characters, in which it is compared. */
function isWritten(text: string): boolean {
  const plain = text.replaceAll("\u00a0", " ");
  return plain.normalize("NFKC") === plain;
}

/** Whether what is before the first letter or digit of a value, or after the last, is only its own and a few quotes or spaces. */
function isAround(read: FoldedText, at: number): boolean {
  const gap = read.gapAt(at);
  const own = at === 0 ? read.leadAt(at) : read.trailAt(at);
  return gap !== undefined && own !== undefined && gap.length - own.length <= MAX_AROUND_CHARS;
}

/** Whether a program has a text without letters and digits in quotes, by itself. */
function isNamedBy(text: string, end: number, programs: readonly string[]): boolean {
  if (end > 0) return false;
  return programs.some((program) => [..."\"'`"].some((quote) => program.includes(`${quote}${text}${quote}`)));
}

/** Whether a text stands in another between these separators. One that overlaps itself again and again may go unfound. */
function isIn(said: string, text: string, between: RegExp): boolean {
  let left = said.length + MAX_COMPARED_WITH_SAID;
  for (let at = said.indexOf(text); at >= 0 && left > 0; at = said.indexOf(text, at + 1)) {
    left -= text.length;
    const [before, after] = [said[at - 1] ?? " ", said[at + text.length] ?? " "];
    if (between.test(before) && between.test(after)) return true;
  }
  return false;
}

/** Whether a text is made of a few pieces, between which there are only spaces. Of short pieces it may have fewer. */
function isMadeOf(read: FoldedText, pieces: Cover): boolean {
  const end = read.length - 1;
  let [at, parts, shorts] = [0, 0, 0];
  while (at < end) {
    const to = pieces.endFrom(at);
    if (to === 0 || ++parts > MAX_PARTS) return false;
    if (to - at < MIN_PART_CHARS && ++shorts > MAX_SHORT_PARTS) return false;
    const gap = to === end ? " " : read.gapAt(to);
    if (gap === undefined || gap.length > MAX_AROUND_CHARS || !/\s/.test(gap)) return false;
    at = to;
  }
  return parts > 1;
}

/** The number of letters and digits of what is chosen in a value: of an address that is who, because its host may be anybody's. */
function lettersOf(text: string): number {
  const chosen = /^([^@\s]+)@[^@\s]+$/.exec(text)?.[1] ?? text;
  return chosen.replaceAll(/[^\p{L}\p{N}]/gu, "").length;
}

const MAILBOX = /^\s*(?:"?([^<>@",;]*?)"?\s*<([^<>\s,;@"]+@[^<>\s,;@"]+)>|([^<>\s,;@"]+@[^<>\s,;@"]+))\s*$/;

/** The names and addresses of a text that is a list of addresses, or one with a name; `undefined` for any other. */
function mailboxesIn(text: string): { name: string; address: string }[] | undefined {
  if (!text.includes("@") || text.length > 10_000 || !/[<,;]/.test(text)) return undefined;
  const found: { name: string; address: string }[] = [];
  for (const part of text.split(/[,;]/)) {
    const match = MAILBOX.exec(part);
    if (match === null) return undefined;
    found.push({ name: (match[1] ?? "").trim(), address: match[2] ?? match[3] ?? "" });
  }
  return found;
}

/** What is known of a value by its parts. */
function joined({ path, value }: Leaf, parts: readonly LeafFlow[]): LeafFlow {
  const all = (of: (part: LeafFlow) => readonly string[]) => [...new Set(parts.flatMap(of))].sort();
  const labels = all((part) => part.labels);
  const own = all((part) => part.own ?? []);
  const origins = new Map(parts.flatMap((part) => part.origins).map((each) => [JSON.stringify(each), each]));
  return {
    path,
    value,
    labels,
    origins: [...origins.values()],
    undecided: all((part) => part.undecided).filter((label) => !labels.includes(label)),
    possible: all((part) => part.possible),
    isSaid: parts.every(({ isSaid }) => isSaid),
    ...(own.length === 0 ? {} : { own }),
  };
}

/** A set of pieces of a text, which can tell whether any of them contains another piece. */
class Cover {
  /** For each character the farthest end of the pieces that begin there, and of those that begin there or before. */
  readonly #ends: Int32Array;
  #reach: Int32Array | undefined;

  constructor({ length }: FoldedText) {
    this.#ends = new Int32Array(length);
  }

  add(from: number, to: number): void {
    this.#ends[from] = Math.max(to, this.endFrom(from));
    this.#reach = undefined;
  }

  /** Where the longest piece ends that begins at a character; 0 if none begins there. */
  endFrom(from: number): number {
    return this.#ends[from] ?? 0;
  }

  holds(from: number, to: number): boolean {
    this.#reach ??= reachOf(this.#ends);
    return (this.#reach[from] ?? 0) >= to;
  }
}

function reachOf(ends: Int32Array): Int32Array {
  let farthest = 0;
  return ends.map((end) => {
    farthest = Math.max(farthest, end);
    return farthest;
  });
}

/** A piece of text between spaces, with the properties that tell whether it shows an origin. */
interface Atom {
  readonly size: number;
  readonly words: number;
  readonly digits: number;
  readonly isAddress: boolean;
  /** Whether only hyphens join its words. */
  readonly isHyphened: boolean;
}

/** The atoms that are completely in a piece. */
function* atomsIn({ codes, flags }: FoldedText, from: number, to: number): Generator<Atom> {
  for (let at = from; at < to; at++) {
    if (((flags[at] ?? 0) & ATOM_START) === 0) continue;
    let [end, words, digits] = [at, 0, 0];
    let isAddress = false;
    let isHyphened = true;
    do {
      const flag = flags[end] ?? 0;
      if ((flag & WORD_START) !== 0) words++;
      isAddress ||= (flag & ADDRESS) !== 0;
      isHyphened &&= end === at || (flag & WORD_START) === 0 || (flag & HYPHENED) !== 0;
      if (isDigit(codes[end])) digits++;
      end++;
    } while (((flags[end] ?? ATOM_START) & ATOM_START) === 0);
    if (end > to) return;
    yield { size: end - at, words, digits, isAddress, isHyphened };
    at = end - 1;
  }
}

/** Whether a piece of a value shows its origin: an address or name that is unlikely to be chance, a series of words, or all of it. */
function isTelling(text: FoldedText, from: number, to: number): boolean {
  if (to - from >= MIN_RUN_CHARS) return true;
  let atoms = 0;
  let allDigits = true;
  for (const { size, words, digits, isAddress } of atomsIn(text, from, to)) {
    atoms++;
    allDigits &&= digits === size;
    if (isAddress) return true;
    if (digits === size) {
      if (digits >= MIN_DIGITS) return true;
    } else if (digits > 0 ? size >= MIN_MIXED_CHARS : words > 1 && size >= MIN_JOINED_CHARS) return true;
  }
  const isAll = from === 0 && to === text.length - 1;
  return isAll && to - from >= (atoms > 0 && allDigits ? MIN_DIGITS : MIN_VALUE_CHARS);
}

/** Whether a piece that a model is shown tells it something: more than a number, a word, or the name of a kind or a state. */
function isShowing(text: FoldedText, from: number, to: number): boolean {
  if (to - from >= MIN_RUN_CHARS) return true;
  if (to - from >= MIN_SHOWN_CHARS)
    for (let at = from + 1; at < to; at++)
      if (((text.flags[at] ?? 0) & ATOM_START) !== 0 && !isOfDigits(text, from, to)) return true;
  for (const { size, words, digits, isAddress, isHyphened } of atomsIn(text, from, to)) {
    if (isAddress || (digits === size && digits >= MIN_DIGITS)) return true;
    if (
      digits < size &&
      size >= MIN_SHOWN_NAME_CHARS &&
      (digits > 0 || !isHyphened || words > MAX_STATE_WORDS)
    ) {
      if (digits > 0 || words > 1) return true;
    }
  }
  return false;
}

function isOfDigits({ codes }: FoldedText, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (!isDigit(codes[at])) return false;
  return true;
}

/** The texts, numbers and truth values in a value, with the paths at which they are. Names of members are at the path of the member. */
function textsByPath(value: unknown): [path: string, text: unknown][] {
  const found: [string, unknown][] = [];
  const open: [path: string, value: unknown][] = [["", value]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [path, each] = next;
    if (Array.isArray(each))
      for (const [index, item] of each.entries()) open.push([`${path}[${index}]`, item]);
    else if (typeof each === "object" && each !== null)
      for (const [name, member] of Object.entries(each)) {
        const own = memberPath(path, name);
        found.push([own, name]);
        open.push([own, member]);
      }
    else if (each !== null && each !== undefined) found.push([path, each]);
  }
  return found;
}
