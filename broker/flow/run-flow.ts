import type { Conversation, Origin, OriginKind, Shown } from "./conversation.ts";
import {
  ADDRESS,
  ATOM_START,
  FoldedText,
  HYPHENED,
  type Leaf,
  leavesOf,
  memberPath,
  readings,
  WORD_START,
} from "./folded-text.ts";

/**
 * Finds the origins of the values in a run's calls by their content. A value comes from a labelled text if it contains a piece of it
 * that no text without labels contains. It is explained if each of its words occurs in a text without labels, or in such a piece. A
 * value that is not explained may have been computed from anything the run has read; `undecided` has the labels of that. Decisions
 * treat these as labels of the value, unless an experiment shows that the value does not depend on what was read (`settle`).
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
/** A word of this length that occurs in no text was probably encoded. */
const MIN_MADE_CHARS = 20;
/** Texts can carry a message in characters other than letters and digits: this many alone, or this many more than half the letters. */
const MIN_SIGNS = 4;
const MAX_SIGNS = 16;
const BETWEEN_SPACES = /[^\s"'`,;()[\]{}<>]+/g;
const MAX_LEAVES = 5_000;
const MAX_LEAF_CHARS = 200_000;
const MAX_SHOWN_CHARS = 8_000_000;

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
  /** Whether the user said it. */
  readonly isSaid: boolean;
}

/** What a part of an answer carries, by its path. `isMade`: whether it carries nothing else, whatever the tool was sent. */
export type LabelsOfPart = (path: string) => { readonly labels: readonly string[]; readonly isMade: boolean };

/** Finds by experiment which values do not depend on what was read: `true` for those. */
export type Experiment = (
  call: FlowingCall,
  paths: readonly string[],
) => Promise<ReadonlyMap<string, boolean>>;

/** A call whose values are traced. */
export interface FlowingCall {
  readonly tool: string;
  /** The number of the call within its run, from 1. */
  readonly seq: number;
  readonly arguments: unknown;
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
  settle(paths: readonly string[]): Promise<CallFlow>;
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
}

/** The values of one run. */
export class RunFlow {
  readonly #conversation: Conversation;
  readonly #run: number;
  readonly #isSticky: boolean;
  /** Labels of the data that the run has read, with the first tool of each. */
  readonly #read = new Map<string, Shown>();
  /** The labels of the model's own texts. */
  readonly #own: readonly string[];
  readonly #isPlain: RunFlowOptions["isPlain"];
  readonly #shownBefore: readonly Shown[];
  readonly #labelsByCall = new Map<number, readonly string[]>();
  readonly #partsByCall = new Map<number, (path: string) => boolean>();
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
  }: RunFlowOptions) {
    this.#isPlain = isPlain;
    this.#conversation = isSticky ? conversation : conversation.afresh();
    this.#isSticky = isSticky;
    this.#run = conversation.beginRun(runId);
    const own = [...conversation.labels, ...shown.map(({ label }) => label)];
    this.#own = isSticky ? [...new Set(own)].sort() : [];
    this.#shownBefore = shown;
    for (const label of earlier) this.#read.set(label, { label });
    this.#conversation.add(program, { kind: "program", labels: this.#own, run: this.#run });
    const given = textsOf(data);
    if (given.length > 0) this.#conversation.add(given, { kind: "data", labels: this.#own, run: this.#run });
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
  labelsOfCall(seq: number): readonly string[] {
    return this.#labelsByCall.get(seq) ?? [];
  }

  /** From now on settles undecided values by running the program again. */
  experimentWith(experiment: Experiment): void {
    this.#experiment = experiment;
  }

  /** Finds the origins of a call's values. */
  follow(call: FlowingCall): CallFlow {
    const { leaves: listed, isWhole } = leavesOf(call.arguments, MAX_LEAVES);
    const possible = this.possible;
    const leaves = listed.map((leaf) => this.#trace(leaf, possible));
    if (!isWhole)
      leaves.push({
        path: "",
        value: null,
        origins: [],
        labels: [],
        undecided: possible,
        possible,
        isSaid: false,
      });
    return this.#flowOf(call, leaves, this.#controlOf(possible));
  }

  /** A model writes a program because of all that it was shown, and the program makes a call because of all that it has read. */
  #controlOf(possible: readonly string[]): LeafFlow {
    const labels = [...this.#own];
    const undecided = possible.filter((label) => !labels.includes(label));
    return { path: "()", value: null, origins: [], labels, undecided, possible, isSaid: false };
  }

  #flowOf(call: FlowingCall, leaves: readonly LeafFlow[], control: LeafFlow): CallFlow {
    return {
      leaves,
      control,
      said: this.#conversation.said,
      conversationLabels: this.conversationLabels,
      settle: async (paths) => {
        const experiment = this.#experiment;
        const open = [...leaves, control].filter(
          ({ path, undecided }) => undecided.length > 0 && paths.includes(path),
        );
        // The model's own texts are the same in each experiment.
        const own = new Set([...this.#own, ...this.#conversation.untraced]);
        const asked = open.filter(({ undecided }) => undecided.some((label) => !own.has(label)));
        if (experiment === undefined || asked.length === 0) return this.#flowOf(call, leaves, control);
        const independent = await experiment(call, [...new Set(asked.map(({ path }) => path))]);
        const settled = (leaf: LeafFlow): LeafFlow =>
          independent.get(leaf.path) === true && asked.includes(leaf)
            ? { ...leaf, undecided: leaf.undecided.filter((label) => own.has(label)) }
            : leaf;
        return this.#flowOf(call, leaves.map(settled), settled(control));
      },
    };
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
    const passedOn = new Set([...carried, ...this.#conversation.givenElsewhere(server)]);
    const all = [...new Set([...labels, ...passedOn])];
    this.#labelsByCall.set(seq, all);
    this.#conversation.give(server, carried);
    for (const label of all) if (!this.#read.has(label)) this.#read.set(label, { label, tool });
    const origin: Omit<Origin, "labels"> = {
      ...{ kind: "result", tool, server, seq, run: this.#run },
      isEcho: this.#conversation.wasGiven(server),
    };
    if (parts === undefined) {
      this.#conversation.add(answer.flatMap(textsOf), { ...origin, labels: all });
      return;
    }
    const labelsOf = (path: string): readonly string[] => {
      const part = parts(path);
      return part.isMade ? [] : [...new Set([...part.labels, ...passedOn])].sort();
    };
    this.#partsByCall.set(seq, (path) => labelsOf(path).length > 0);
    const byLabels = new Map<string, { labels: readonly string[]; texts: string[] }>();
    for (const [index, each] of answer.entries())
      for (const [path, texts] of index === 0 ? textsByPath(each) : [["", textsOf(each)] as const]) {
        const own = labelsOf(path);
        const key = JSON.stringify(own);
        const known = byLabels.get(key) ?? { labels: own, texts: [] };
        known.texts.push(...texts);
        byLabels.set(key, known);
      }
    for (const { labels: own, texts } of byLabels.values())
      this.#conversation.add(texts, { ...origin, labels: own });
  }

  /** Tells which parts of a call's answer carry labels, by path; `undefined` if all carry the same. */
  labelledPartsOfCall(seq: number): ((path: string) => boolean) | undefined {
    return this.#partsByCall.get(seq);
  }

  /**
   * Records what the model is shown of the run. Returns the labels that are new to the conversation: those of pieces of labelled texts
   * in what is shown, and all labels of what the run has read if the texts seem to be encoded.
   */
  show(texts: readonly string[]): Shown[] {
    if (!this.#isSticky) return [];
    const found = new Map<string, Shown>();
    let isMade = false;
    if (this.#conversation.isLabelled)
      for (const text of texts) {
        const traced = this.#pieces(this.#withoutPlain(text.slice(0, MAX_SHOWN_CHARS)));
        for (const shown of traced.shown) if (!found.has(shown.label)) found.set(shown.label, shown);
        isMade ||= traced.isMade || text.length > MAX_SHOWN_CHARS;
      }
    if (isMade)
      for (const label of this.possible)
        if (!found.has(label)) found.set(label, this.#read.get(label) ?? { label });
    return this.#conversation.show([...found.values()]);
  }

  #withoutPlain(text: string): string {
    const isPlain = this.#isPlain;
    return isPlain === undefined
      ? text
      : text.replace(BETWEEN_SPACES, (word) => (isPlain(word) ? " " : word));
  }

  #trace({ path, value }: Leaf, possible: readonly string[]): LeafFlow {
    const text = value === null ? "" : String(value);
    const none = { path, value, origins: [], labels: [], possible: [], isSaid: false };
    if (text.length > MAX_LEAF_CHARS) {
      const { shown } = this.#pieces(text);
      const labels = [...new Set(shown.map(({ label }) => label))];
      return { ...none, labels, undecided: possible.filter((label) => !labels.includes(label)) };
    }
    if (value === null) return { ...none, undecided: possible };
    const origins = new Map<Origin, true>();
    const labels = new Set<string>();
    const short = new Set<string>();
    let isExplained = false;
    let isSaid = false;
    for (const reading of readings(text)) {
      const traced = this.#traceReading(reading, typeof value === "string");
      for (const origin of traced.origins) origins.set(origin, true);
      for (const origin of traced.labelled) for (const label of origin.labels) labels.add(label);
      for (const origin of traced.short) for (const label of origin.labels) short.add(label);
      isExplained ||= traced.isExplained;
      isSaid ||= traced.isSaid;
    }
    if (isSaid)
      return {
        ...none,
        isSaid,
        origins: [{ kind: "user", labels: [] }, ...this.#refs(origins, [])],
        undecided: [],
      };
    return {
      path,
      value,
      origins: this.#refs(origins, [...labels]),
      labels: [...labels].sort(),
      undecided: isExplained ? [] : possible.filter((label) => !labels.has(label)),
      possible: isExplained ? [] : [...short].filter((label) => !labels.has(label)),
      isSaid,
    };
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

  #traceReading(text: string, isText: boolean) {
    const folded = FoldedText.of(text);
    const end = folded.length - 1;
    const origins = new Set<Origin>();
    const labelled = new Set<Origin>();
    const short = new Set<Origin>();
    if (end === 0)
      return { origins, labelled, short, isExplained: text.length < MIN_SIGNS, isSaid: this.#says(text) };
    const explained = new Uint8Array(end);
    const trusted: (Piece & { origin: Origin })[] = [];
    const foreign: (Piece & { origin: Origin; isWhole: boolean })[] = [];
    const { plain, labelled: foreignTexts } = this.#conversation.texts;
    plain.find(
      folded,
      ({ source, wholeFrom, wholeTo }) => {
        const origin = this.#conversation.origin(source);
        if (wholeTo > wholeFrom) trusted.push({ from: wholeFrom, to: wholeTo, origin });
        return false;
      },
      true,
    );
    foreignTexts.find(
      folded,
      ({ source, from, to, wholeFrom, wholeTo }) => {
        const origin = this.#conversation.origin(source);
        foreign.push({ from, to, origin, isWhole: wholeFrom === 0 && wholeTo === end });
        return false;
      },
      true,
    );
    const isShort = end < MIN_SHOWN_CHARS || !isText;
    let isSaid = false;
    let isElsewhere = false;
    for (const { from, to, origin } of trusted) {
      if (from === 0 && to === end) {
        isSaid ||= origin.kind === "user";
        isElsewhere ||= origin.kind === "result" && origin.isEcho !== true;
      }
    }
    const cover = new Cover(trusted.filter(({ origin }) => origin.isEcho !== true));
    for (const { from, to, origin, isWhole } of foreign) {
      // The user, or another text without labels, said the same.
      if (cover.holds(from, to)) continue;
      if (isWhole) short.add(origin);
      if (isTelling(folded, from, to)) {
        labelled.add(origin);
        origins.add(origin);
        explained.fill(1, from, to);
      }
    }
    // A short value that is also in the program may be the program's own, or depend on what it has read.
    const isAmbiguous =
      isShort && !isSaid && !isElsewhere && foreign.some(({ isWhole }) => isWhole) && labelled.size === 0;
    for (const { from, to, origin } of trusted) {
      // If the value comes from a labelled text, common words in it do not matter.
      if (labelled.size === 0 || to - from >= MIN_SHOWN_CHARS) origins.add(origin);
      explained.fill(1, from, to);
    }
    const isOfSigns = text.length - end > end / 2 + MAX_SIGNS;
    return {
      origins,
      labelled,
      short,
      isExplained: !isAmbiguous && !isOfSigns && !explained.includes(0),
      isSaid,
    };
  }

  /** Whether the user said a text without letters and digits. */
  #says(text: string): boolean {
    return text !== "" && this.#conversation.said.some((said) => said.includes(text));
  }

  /** The pieces of labelled texts in a text, and whether it has unexplained words that seem to be encoded. */
  #pieces(text: string): { shown: Shown[]; isMade: boolean } {
    const shown = new Map<string, Shown>();
    let isMade = false;
    const { plain, labelled } = this.#conversation.texts;
    for (const reading of readings(text, text.length)) {
      const folded = FoldedText.of(reading);
      const end = folded.length - 1;
      const known = new Uint8Array(end);
      const foreign: (Piece & { origin: Origin })[] = [];
      const trusted: Piece[] = [];
      plain.find(
        folded,
        ({ source, wholeFrom, wholeTo }) => {
          const isEcho = this.#conversation.origin(source).isEcho === true;
          if (wholeTo > wholeFrom && !isEcho) trusted.push({ from: wholeFrom, to: wholeTo });
          return false;
        },
        true,
      );
      labelled.find(
        folded,
        ({ source, from, to }) => {
          if (isShowing(folded, from, to))
            foreign.push({ from, to, origin: this.#conversation.origin(source) });
          return false;
        },
        true,
      );
      for (const { from, to } of trusted) known.fill(1, from, to);
      const cover = new Cover(trusted);
      for (const { from, to, origin } of foreign) {
        known.fill(1, from, to);
        if (cover.holds(from, to)) continue;
        for (const label of origin.labels)
          if (!shown.has(label))
            shown.set(label, { label, ...(origin.tool === undefined ? {} : { tool: origin.tool }) });
      }
      if (reading === text) isMade = hasMadeWord(folded, known);
    }
    return { shown: [...shown.values()], isMade };
  }
}

interface Piece {
  readonly from: number;
  readonly to: number;
}

/** A set of pieces, which can tell whether any of them contains another piece. */
class Cover {
  readonly #from: number[] = [];
  /** For each piece, the farthest end of all pieces up to it. */
  readonly #to: number[] = [];

  constructor(pieces: readonly Piece[]) {
    for (const { from, to } of pieces.toSorted((a, b) => a.from - b.from)) {
      this.#from.push(from);
      this.#to.push(Math.max(to, this.#to.at(-1) ?? 0));
    }
  }

  holds(from: number, to: number): boolean {
    let low = 0;
    let high = this.#from.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#from[middle] ?? 0) <= from) low = middle + 1;
      else high = middle;
    }
    return low > 0 && (this.#to[low - 1] ?? 0) >= to;
  }
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

function isDigit(code = 0): boolean {
  return code >= 48 && code <= 57;
}

/** Whether a text has an unexplained word that is longer than normal words. */
function hasMadeWord({ flags }: FoldedText, known: Uint8Array): boolean {
  let size = 0;
  for (let at = 0; at < known.length; at++) {
    if (((flags[at] ?? 0) & ATOM_START) !== 0) size = 0;
    size = known[at] === 1 ? 0 : size + 1;
    if (size >= MIN_MADE_CHARS) return true;
  }
  return false;
}

/** The texts in a value: its texts and numbers, and names of members that may be data. */
function textsOf(value: unknown): string[] {
  const texts: string[] = [];
  const open: unknown[] = [value];
  for (let next = open.pop(); next !== undefined || open.length > 0; next = open.pop()) {
    if (typeof next === "string") {
      if (next !== "") texts.push(next);
    } else if (["number", "bigint", "boolean"].includes(typeof next)) texts.push(String(next));
    else if (Array.isArray(next)) open.push(...next.slice(0, 100_000));
    else if (typeof next === "object" && next !== null)
      for (const [name, member] of Object.entries(next)) {
        if (!/^[A-Za-z_]{1,24}$/.test(name)) texts.push(name);
        open.push(member);
      }
  }
  return texts;
}

/** The texts in a value, with the paths at which they are, in the order of the value. Names of members are at the path of their object. */
function textsByPath(value: unknown): [path: string, texts: string[]][] {
  const found: [string, string[]][] = [];
  const open: [path: string, value: unknown][] = [["", value]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [path, each] = next;
    if (Array.isArray(each)) {
      for (const [index, item] of each.slice(0, 100_000).entries()) open.push([`${path}[${index}]`, item]);
    } else if (typeof each === "object" && each !== null) {
      for (const [name, member] of Object.entries(each)) {
        const own = memberPath(path, name);
        if (!/^[A-Za-z_]{1,24}$/.test(name)) found.push([own, [name]]);
        open.push([own, member]);
      }
    } else {
      const texts = textsOf(each);
      if (texts.length > 0) found.push([path, texts]);
    }
  }
  return found;
}
