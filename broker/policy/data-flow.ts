import { writeJson } from "../../base/json.ts";
import { EXTRACT_SERVER, PROGRAMS_MODULE } from "../../protocol/tool-names.ts";
import { isWithin, type Leaf, leavesOf } from "../flow/folded-text.ts";
import type { CallFlow, LabelsOfPart, LeafFlow, OriginRef } from "../flow/run-flow.ts";
import type { RunRead } from "./run-history.ts";
import { isNamed, isOfSaidHost, type Named } from "./said-values.ts";
import { isListed, type MatchKind, matchesValue, mayMatchValue, type ValueLists } from "./value-lists.ts";

/** A label on the results of some calls, depending on their arguments. The pattern of an argument has to match all of its values. */
interface ConditionalLabel {
  readonly label: string;
  /** Calls whose results do not carry it. */
  readonly unless?: Readonly<Record<string, string>> | undefined;
  /** The only calls whose results carry it. */
  readonly when?: Readonly<Record<string, string>> | undefined;
}

/**
 * What an argument accepts: values with no labels other than these, and whatever their labels values in the named `lists`, entries of
 * the lists `named` that the user named, and URLs of hosts that the user named (`said`; with `host`, if they carry no other labels).
 */
export type ArgumentAccepts =
  | readonly string[]
  | {
      readonly labels: readonly string[];
      readonly lists: readonly string[];
      readonly named?: readonly string[];
      readonly said?: "host" | { readonly host: readonly string[] } | undefined;
    };

/** The entry of `accepts` that is about whether a call is made at all. */
export const CALL_ENTRY = "()";

/** The label of data whose labels are no longer known. No argument accepts it. */
export const UNKNOWN_LABEL = "unknown origin";

/** The configured data flow of one tool, or of a whole server. */
interface FlowEntry {
  /** The labels of its results. */
  readonly labels?: readonly (string | ConditionalLabel)[] | undefined;
  /** The labels of the fields of its results, by path; `*` means all other fields, which by default carry `labels`. */
  readonly results?: Readonly<Record<string, readonly string[]>> | undefined;
  /** The labels that may flow into it, or into each argument by path; `*` means all other arguments. `undefined` allows all labels. */
  readonly accepts?: readonly string[] | Readonly<Record<string, ArgumentAccepts>> | undefined;
}

/** The configured data flow of a server and, by protocol name, of its tools, which take precedence. */
export interface ServerFlow extends FlowEntry {
  readonly tools: Readonly<Record<string, FlowEntry>>;
}

interface FlowTool {
  /** Configured name of the server. */
  readonly server: string;
  /** Protocol name. */
  readonly name: string;
}

interface FlowSettings {
  readonly lists?: ValueLists;
  /** Whether the labels of what the model was shown stay with its conversation. */
  readonly isSticky?: boolean;
  /** Whether a person is asked about values that an argument does not accept. */
  readonly asks?: boolean;
  /** Whether a person is asked about each change whose being made may depend on labelled data. */
  readonly isCareful?: boolean;
  /** What servers are for, by name. */
  readonly descriptions?: ReadonlyMap<string, string>;
}

/** The labels of all servers and tools, and what they accept. */
export class DataFlow {
  readonly #servers: ReadonlyMap<string, ServerFlow>;
  readonly lists: ValueLists;
  readonly isSticky: boolean;
  readonly asks: boolean;
  readonly isCareful: boolean;
  readonly #descriptions: ReadonlyMap<string, string>;

  /** @param servers every configured server, by name. */
  constructor(
    servers: ReadonlyMap<string, ServerFlow>,
    {
      lists = {},
      isSticky = false,
      asks = false,
      isCareful = false,
      descriptions = new Map(),
    }: FlowSettings = {},
  ) {
    this.#servers = servers;
    this.lists = lists;
    this.isSticky = isSticky;
    this.asks = asks;
    this.isCareful = isCareful;
    this.#descriptions = descriptions;
  }

  /**
   * The labels of a tool's results; `undefined` if its server is no longer configured, so that they are not known.
   *
   * @param call the arguments of a call; without it, the labels of all calls of the tool.
   */
  labelsOf({ server, name }: FlowTool, call?: { arguments: unknown }): readonly string[] | undefined {
    const flow = this.#servers.get(server);
    if (flow === undefined) return undefined;
    const { labels = [], results } = labellingEntry(flow, name);
    const fields = results === undefined ? [] : Object.values(results).flat();
    const rest = results !== undefined && Object.hasOwn(results, "*") ? [] : carriedBy(labels, call);
    return [...new Set([...rest, ...fields])];
  }

  /**
   * What each part of an answer carries, by its path (`messages[0].body`); `undefined` if all parts carry the same.
   *
   * @param call the arguments of the call.
   */
  partsOf({ server, name }: FlowTool, call: { arguments: unknown }): LabelsOfPart | undefined {
    const flow = this.#servers.get(server);
    const entry = flow && labellingEntry(flow, name);
    if (entry?.results === undefined) return undefined;
    const all = this.labelsOf({ server, name }, call) ?? [];
    return labelsByField(entry.results, carriedBy(entry.labels ?? [], call), all);
  }

  /** Servers whose answers carry no label, and that seem to know people and their addresses. */
  get sourcesOfPeople(): readonly string[] {
    return [...this.#servers].flatMap(([name, flow]) => {
      const isLabelled = [flow, ...Object.values(flow.tools)].some((entry) => labelsIn(entry).length > 0);
      const about = `${name} ${this.#descriptions.get(name) ?? ""}`;
      return isLabelled || !OF_PEOPLE.test(about) ? [] : [name];
    });
  }

  /** The labels of a read, as far as known; `undefined` if its server is no longer configured. */
  labelsOfRead(read: RunRead): readonly string[] | undefined {
    const all = this.labelsOf(read);
    return all && (read.labels ?? all);
  }

  /** Whether the labels of a tool's results depend on the arguments of the call. */
  isConditional({ server, name }: FlowTool): boolean {
    const flow = this.#servers.get(server);
    const labels = flow && labellingEntry(flow, name).labels;
    return labels?.some((each) => typeof each !== "string") === true;
  }

  /** The labels that may flow into any argument of a tool; `undefined` for all. */
  acceptsOf(tool: FlowTool): readonly string[] | undefined {
    const accepts = this.#acceptsOf(tool);
    return isList(accepts) ? accepts : undefined;
  }

  /** What may flow into each argument of a tool, by path; `undefined` if arguments are not configured separately. */
  argumentsOf(tool: FlowTool): Readonly<Record<string, ArgumentAccepts>> | undefined {
    const accepts = this.#acceptsOf(tool);
    return isList(accepts) ? undefined : accepts;
  }

  /** What the entry of a tool names, except for `*`: arguments, and fields of its results. */
  namesOf({ server, name }: FlowTool): {
    readonly arguments: readonly string[];
    readonly fields: readonly string[];
  } {
    const flow = this.#servers.get(server);
    const { labels = [], results = {}, accepts = {} } = (flow && entryOf(flow, name)) ?? {};
    const conditions = labels.flatMap((each) =>
      typeof each === "string" ? [] : Object.keys({ ...each.unless, ...each.when }),
    );
    const named = [...conditions, ...(isList(accepts) ? [] : Object.keys(accepts))];
    const isName = (each: string) => each !== "*" && each !== CALL_ENTRY;
    return { arguments: named.filter(isName), fields: Object.keys(results).filter(isName) };
  }

  /** The labels of everything that was read, sorted. */
  labelsRead(reads: readonly RunRead[]): string[] {
    return [...new Set(reads.flatMap((read) => this.labelsOfRead(read) ?? []))].sort();
  }

  #acceptsOf({ server, name }: FlowTool): FlowEntry["accepts"] {
    const flow = this.#servers.get(server);
    return flow && (entryOf(flow, name)?.accepts ?? flow.accepts);
  }
}

function isList(accepts: FlowEntry["accepts"]): accepts is readonly string[] {
  return Array.isArray(accepts);
}

function entryOf({ tools }: ServerFlow, name: string): FlowEntry | undefined {
  return Object.hasOwn(tools, name) ? tools[name] : undefined;
}

/** What the results of a tool carry: by the entry of the tool, and what that leaves out by that of its server. */
function labellingEntry(flow: ServerFlow, name: string): Pick<FlowEntry, "labels" | "results"> {
  const own = entryOf(flow, name);
  if (own?.labels === undefined && own?.results === undefined) return flow;
  return { labels: own.labels ?? flow.labels, results: own.results };
}

/** The labels that an entry names. */
export function labelsIn({ labels = [], results = {} }: FlowEntry): string[] {
  return [
    ...labels.map((each) => (typeof each === "string" ? each : each.label)),
    ...Object.values(results).flat(),
  ];
}

function carriedBy(
  labels: readonly (string | ConditionalLabel)[],
  call: { arguments: unknown } | undefined,
): string[] {
  return labels.flatMap((each) =>
    typeof each === "string" ? each : call === undefined || carries(each, call.arguments) ? each.label : [],
  );
}

/**
 * Goes by the longest field that contains a part. Places in lists make no difference, and `*` in a field stands for one member. What is
 * neither a list nor an object has no fields, and carries all labels.
 */
function labelsByField(
  results: Readonly<Record<string, readonly string[]>>,
  labels: readonly string[],
  all: readonly string[],
): LabelsOfPart {
  const rest = { labels: (Object.hasOwn(results, "*") ? results["*"] : undefined) ?? labels, isMade: false };
  const fields = Object.entries(results)
    .filter(([field]) => field !== "*")
    .map(([field, own]) => ({ steps: stepsOf(field), labels: own }));
  return (path) => {
    if (path === "") return { labels: all, isMade: false };
    const steps = stepsOf(path);
    const within = fields.filter(
      (field) =>
        field.steps.length <= steps.length &&
        field.steps.every((step, index) => step === "*" || step === steps[index]),
    );
    const longest = Math.max(...within.map((field) => field.steps.length));
    const found = within.filter((field) => field.steps.length === longest).flatMap((field) => field.labels);
    return within.length === 0 ? rest : { labels: [...new Set(found)], isMade: found.length === 0 };
  };
}

/** The members in a path, without places in lists. */
function stepsOf(path: string): string[] {
  const steps = path.match(/\[(?:"(?:[^"\\]|\\.)*"|\d*)\]|[^.[\]]+/g) ?? [];
  return steps.filter((step) => !/^\[\d*\]$/.test(step));
}

/** Words in the names and descriptions of servers that know people. */
const OF_PEOPLE = /contact|people|person|address|directory|user|member|staff|employee|customer|team|crm/i;

const MAX_LEAVES = 5_000;

function carries({ unless, when }: ConditionalLabel, args: unknown): boolean {
  if (unless !== undefined && matchesAll(unless, args, "certain")) return false;
  return when === undefined || matchesAll(when, args, "possible");
}

/**
 * Whether each of these arguments has values, all of which match its pattern. An argument that is `null` is left out. Of more arguments
 * than can be looked at nothing is certain and everything possible.
 */
function matchesAll(patterns: Readonly<Record<string, string>>, args: unknown, kind: MatchKind): boolean {
  const { leaves, isWhole } = leavesOf(args, MAX_LEAVES);
  if (!isWhole) return kind === "possible";
  const matches = kind === "certain" ? matchesValue : mayMatchValue;
  return Object.entries(patterns).every(([path, pattern]) => {
    const own = leaves.filter((leaf) => leaf.value !== null && isWithin(leaf.path, path));
    return own.length > 0 && own.every(({ value }) => matches(pattern, value));
  });
}

/** What a denial suggests instead of a way around it. */
const ASK_USER = "tell the user what it was for, who decides about it";

/**
 * Why the data that a run has read and its model was shown may not flow into a tool, in one line; `undefined` if it may.
 *
 * @param shown labels of what the model of the conversation was shown.
 */
export function findForbiddenFlow(
  flow: DataFlow,
  tool: FlowTool,
  reads: readonly RunRead[],
  shown: readonly string[] = [],
): { rule: string; reason: string } | undefined {
  const accepted = flow.acceptsOf(tool);
  if (accepted === undefined) return undefined;
  const rule = `accepts: server '${tool.server}'`;
  for (const read of reads) {
    const labels = flow.labelsOfRead(read);
    const label = labels?.find((each) => !accepted.includes(each));
    if (labels !== undefined && label === undefined) continue;
    const carries =
      label === undefined
        ? `data whose labels are not known, because server '${read.server}' is no longer configured`
        : `'${label}' data`;
    return {
      rule,
      reason: `it does not accept ${carries}, which this run carries since it read ${describeRead(read)}; ${ASK_USER}`,
    };
  }
  const label = shown.find((each) => !accepted.includes(each));
  if (label === undefined) return undefined;
  return {
    rule,
    reason: `it does not accept '${label}' data, which this conversation carries since its model was shown some; ${ASK_USER}`,
  };
}

/** Describes a read in messages. */
export function describeRead({ tool, seq, isEarlier }: RunRead): string {
  const of = {
    session: " of an earlier program of its session",
    conversation: " of another run of its conversation",
  };
  return `${tool} (call ${seq}${isEarlier === undefined ? "" : of[isEarlier]})`;
}

/** The flow of a call whose values were not traced: each may carry the labels of everything that was read, and so may its being made. */
export function unfollowed(args: unknown, labels: readonly string[]): CallFlow {
  const { leaves } = leavesOf(args, MAX_LEAVES);
  const unknown = { origins: [], labels: [], undecided: labels, possible: labels, isSaid: false };
  const flow: CallFlow = {
    leaves: leaves.map(({ path, value }) => ({ path, value, ...unknown })),
    control: { path: CALL_ENTRY, value: null, ...unknown },
    said: [],
    conversationLabels: [],
    settle: async () => flow,
  };
  return flow;
}

/** A value that an argument does not accept. */
export interface RefusedValue {
  /** The argument's name in `accepts`. */
  readonly argument: string;
  readonly leaf: LeafFlow;
  readonly label: string;
  /** All labels that it may carry, its content does not show, and the argument does not accept. */
  readonly labels: readonly string[];
  /** Whether its content does not show that it carries the label. */
  readonly isUndecided: boolean;
  /** Set if the user named it, and others by the same name: a person is asked which one is meant. */
  readonly ambiguous?: Extract<Named, { kind: "ambiguous" }>;
}

/**
 * The values of a call that its tool's arguments do not accept, with certain ones first, and those last about which a person is asked.
 * `null` stands for an argument that is left out.
 */
export function refusedValues(flow: DataFlow, tool: FlowTool, call: CallFlow): RefusedValue[] {
  const accepts = flow.argumentsOf(tool);
  if (accepts === undefined) return [];
  const refused = call.leaves.flatMap((leaf): RefusedValue[] => {
    if (leaf.isSaid || (leaf.value === null && leaf.path !== "")) return [];
    return argumentsOf(accepts, leaf.path).flatMap((argument): RefusedValue[] => {
      const taken = accepts[argument] ?? [];
      const { labels, lists, named = [], said } = "labels" in taken ? taken : { labels: taken, lists: [] };
      if (lists.some((name) => isListed(flow.lists, name, leaf.value))) return [];
      const isOfHost = said !== undefined && isOfSaidHost(leaf.value, call.said);
      if (isOfHost && said === "host") return [];
      const all = isOfHost && said !== "host" ? [...labels, ...said.host] : labels;
      const [certain] = leaf.labels.filter((label) => !all.includes(label));
      const possible = leaf.undecided.filter((label) => !all.includes(label));
      const [label = possible[0]] = [certain];
      if (label === undefined) return [];
      const found = named.map((name) => isNamed(flow.lists, name, leaf.value, call.said));
      if (found.some(({ kind }) => kind === "named")) return [];
      const ambiguous = found.find((each) => each.kind === "ambiguous");
      const isUndecided = certain === undefined;
      return [{ argument, leaf, label, labels: possible, isUndecided, ...(ambiguous && { ambiguous }) }];
    });
  });
  const rank = ({ isUndecided, ambiguous }: RefusedValue) =>
    Number(ambiguous !== undefined) * 2 + Number(isUndecided);
  return refused.toSorted((a, b) => rank(a) - rank(b));
}

/** Labelled data on which it depends that a call is made, although its tool does not accept that. */
export interface RefusedCall {
  readonly label: string;
  /** All such labels of which that is not known for certain. */
  readonly labels: readonly string[];
  readonly isUndecided: boolean;
  /** Whether its tool refuses it, or everything that changes something does. */
  readonly isOwn: boolean;
}

/** Why a call may not be made because of what it depends on; `undefined` if it may. */
export function refusedCall(
  flow: DataFlow,
  tool: FlowTool & ClaimedTool,
  { control }: CallFlow,
): RefusedCall | undefined {
  const labels = acceptedControl(flow, tool);
  if (labels === undefined) return undefined;
  const certain = control.labels.find((each) => !labels.includes(each));
  const possible = control.undecided.filter((each) => !labels.includes(each));
  const [label = possible[0]] = [certain];
  if (label === undefined) return undefined;
  const isOwn = hasControlEntry(flow, tool);
  return { label, labels: possible, isUndecided: certain === undefined, isOwn };
}

/** Whether what a tool accepts depends on where the values of a call come from, and whether it is made because of data. */
export function looksAtFlow(flow: DataFlow, tool: FlowTool & ClaimedTool): boolean {
  return flow.argumentsOf(tool) !== undefined || acceptedControl(flow, tool) !== undefined;
}

/** What a server claims of its tool. */
interface ClaimedTool {
  readonly annotations?: Readonly<Record<string, unknown>> | undefined;
  /** Set for the methods of the protocol that only read. */
  readonly method?: string | undefined;
}

function hasControlEntry(flow: DataFlow, tool: FlowTool): boolean {
  const accepts = flow.argumentsOf(tool);
  return accepts !== undefined && Object.hasOwn(accepts, CALL_ENTRY);
}

/** The labels on which it may depend that a tool is called; `undefined` for all. */
function acceptedControl(flow: DataFlow, tool: FlowTool & ClaimedTool): readonly string[] | undefined {
  if (hasControlEntry(flow, tool)) {
    const taken = flow.argumentsOf(tool)?.[CALL_ENTRY] ?? [];
    return "labels" in taken ? taken.labels : taken;
  }
  return flow.isCareful && changesSomething(tool) ? [] : undefined;
}

/** Whether a tool may change something: its server does not claim that it only reads. Calls of saved programs make calls of their own. */
export function changesSomething({ server, annotations, method }: FlowTool & ClaimedTool): boolean {
  if (method !== undefined || server === PROGRAMS_MODULE || server === EXTRACT_SERVER) return false;
  return !(
    annotations !== undefined &&
    Object.hasOwn(annotations, "readOnlyHint") &&
    annotations.readOnlyHint === true
  );
}

/** Why a call is not accepted because of what its being made depends on, in one line. */
export function describeRefusedCall({ label, isUndecided }: RefusedCall): string {
  return isUndecided
    ? `whether it is called may depend on '${label}' data: ptc cannot tell that the program would call it if that data were other data`
    : `the program that calls it was written after its model was shown '${label}' data, so that a stranger may have led to the call`;
}

/** The rule because of which a person is asked about a call, as named in records. */
export function ruleOfRefusedCall({ isOwn }: RefusedCall, tool: FlowTool): string {
  return isOwn ? `accepts: ${tool.server}.${tool.name} ${CALL_ENTRY}` : "labels.preset: careful";
}

/** The entry of `accepts` for a path: the longest one that contains it, else `*`. A value without a path may be in any argument. */
function argumentsOf(accepts: Readonly<Record<string, ArgumentAccepts>>, path: string): string[] {
  if (path === "") return Object.keys(accepts).filter((entry) => entry !== CALL_ENTRY);
  const entries = Object.keys(accepts).filter((entry) => entry !== CALL_ENTRY && isWithin(path, entry));
  const longest = entries.toSorted((a, b) => b.length - a.length)[0];
  if (longest !== undefined) return [longest];
  return Object.hasOwn(accepts, "*") ? ["*"] : [];
}

const MAX_SHOWN_CHARS = 80;

/** Names of arguments whose values are people or their addresses. */
const RECIPIENT =
  /(?:^|[._-])(?:to|cc|bcc|with|e?mails?|recipients?|attendees?|guests?|participants?|invitees?|members?|users?|assignees?|persons?|people|address(?:es)?|contacts?)$/i;

/** Why a value is not accepted, and what can be done, in one line. */
export function describeRefused({ leaf, label, isUndecided, ambiguous }: RefusedValue): string {
  const value = showValue(leaf.value);
  const named = leaf.path === "" ? "its arguments do" : `\`${leaf.path}\` does`;
  const from = leaf.origins.filter(({ labels }) => labels.includes(label)).map(describeOrigin);
  const where = isUndecided ? `may depend on '${label}' data` : `comes from ${from[0] ?? `'${label}' data`}`;
  const refused = `${named} not accept '${label}' data, and ${value} ${where}`;
  return ambiguous === undefined
    ? `${refused}; ask the user to name the value: what the user says is accepted`
    : `${refused}; the user named ${showValue(ambiguous.name)}, which is a name of ${ambiguous.bearers.join(", ")}`;
}

/**
 * What a program can ask for a recipient that is not accepted, phrased to follow the reason; empty for any other value.
 *
 * @param sources servers that know people and whose answers carry no label.
 */
export function adviseSources(
  { leaf, argument, ambiguous }: RefusedValue,
  sources: readonly string[],
): string {
  const { value } = leaf;
  const isRecipient =
    RECIPIENT.test(argument) || (typeof value === "string" && /^[^\s@]+@[^\s@]+$/.test(value));
  if (!isRecipient || ambiguous !== undefined || sources.length === 0) return "";
  const named = sources.slice(0, MAX_SOURCES).map((each) => `'${each}'`);
  return `, and so is what ${named.join(" or ")} answers, which carries no label`;
}

const MAX_SOURCES = 3;

/** The rule that refuses a value, as named in records. */
export function ruleOfRefused({ argument }: RefusedValue, tool: FlowTool): string {
  return `accepts: ${tool.server}.${tool.name} ${argument}`;
}

function showValue(value: Leaf["value"]): string {
  const text = writeJson(value);
  return text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, MAX_SHOWN_CHARS)}...`;
}

/** An origin of a value, phrased to follow "from". */
export function describeOrigin({ kind, tool, seq, isEarlier, labels }: OriginRef): string {
  const carried = labels.length === 0 ? "" : ` (${labels.map(describeLabel).join(", ")})`;
  switch (kind) {
    case "user":
      return "what the user said";
    case "program":
      return isEarlier === true
        ? `an earlier program${carried}`
        : `the program${labels.length === 0 ? "" : `, written after its model was shown such data${carried}`}`;
    case "data":
      return isEarlier === true
        ? `the data of an earlier program${carried}`
        : `the data given to the program${carried}`;
    case "result": {
      const call = isEarlier === true ? "in an earlier run" : `call ${seq}`;
      return `what ${tool} answered (${call})${carried}`;
    }
  }
}

/** A label in words. */
function describeLabel(label: string): string {
  return label === "untrusted" ? "written by a stranger" : `'${label}'`;
}

const MAX_DESCRIBED = 20;

/** The origins of a call's values, one line for each argument. */
export function describeValues({
  leaves,
}: {
  leaves: readonly Pick<LeafFlow, "path" | "origins" | "labels" | "undecided" | "isSaid">[];
}): string[] {
  const byArgument = new Map<string, Set<string>>();
  for (const { path, origins, labels, undecided, isSaid } of leaves) {
    const argument = path.split(/[.[]/, 1)[0] || "arguments";
    const known = byArgument.get(argument) ?? new Set();
    const from = (
      isSaid
        ? origins.slice(0, 1)
        : origins.filter((origin) => labels.length === 0 || origin.labels.length > 0)
    ).map(describeOrigin);
    for (const each of from.slice(0, 3)) known.add(`from ${each}`);
    if (undecided.length > 0) known.add(`may depend on data ${undecided.map(describeLabel).join(", ")}`);
    byArgument.set(argument, known);
  }
  return [...byArgument]
    .filter(([, known]) => known.size > 0)
    .slice(0, MAX_DESCRIBED)
    .map(([argument, known]) => `${argument}: ${[...known].join("; ")}`);
}
