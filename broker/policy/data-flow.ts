import { writeJson } from "../../base/json.ts";
import { isWithin, type Leaf, leavesOf } from "../flow/folded-text.ts";
import type { CallFlow, LeafFlow, OriginRef } from "../flow/run-flow.ts";
import type { RunRead } from "./run-history.ts";
import { isListed, matchesValue, type ValueLists } from "./value-lists.ts";

/** A label on the results of some calls, depending on their arguments. The pattern of an argument has to match all of its values. */
interface ConditionalLabel {
  readonly label: string;
  /** Calls whose results do not carry it. */
  readonly unless?: Readonly<Record<string, string>> | undefined;
  /** The only calls whose results carry it. */
  readonly when?: Readonly<Record<string, string>> | undefined;
}

/** What an argument accepts: values with no labels other than these, and values in these named lists, whatever their labels. */
export type ArgumentAccepts =
  | readonly string[]
  | { readonly labels: readonly string[]; readonly lists: readonly string[] };

/** The label of data whose labels are no longer known. No argument accepts it. */
export const UNKNOWN_LABEL = "unknown origin";

/** The configured data flow of one tool, or of a whole server. */
interface FlowEntry {
  /** The labels of its results. */
  readonly labels?: readonly (string | ConditionalLabel)[] | undefined;
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
}

/** The labels of all servers and tools, and what they accept. */
export class DataFlow {
  readonly #servers: ReadonlyMap<string, ServerFlow>;
  readonly lists: ValueLists;
  readonly isSticky: boolean;
  readonly asks: boolean;

  /** @param servers every configured server, by name. */
  constructor(
    servers: ReadonlyMap<string, ServerFlow>,
    { lists = {}, isSticky = false, asks = false }: FlowSettings = {},
  ) {
    this.#servers = servers;
    this.lists = lists;
    this.isSticky = isSticky;
    this.asks = asks;
  }

  /**
   * The labels of a tool's results; `undefined` if its server is no longer configured, so that they are not known.
   *
   * @param call the arguments of a call; without it, the labels of all calls of the tool.
   */
  labelsOf({ server, name }: FlowTool, call?: { arguments: unknown }): readonly string[] | undefined {
    const flow = this.#servers.get(server);
    if (flow === undefined) return undefined;
    const labels = entryOf(flow, name)?.labels ?? flow.labels ?? [];
    return labels.flatMap((each) =>
      typeof each === "string" ? each : call === undefined || carries(each, call.arguments) ? each.label : [],
    );
  }

  /** The labels of a read, as far as known; `undefined` if its server is no longer configured. */
  labelsOfRead(read: RunRead): readonly string[] | undefined {
    const all = this.labelsOf(read);
    return all && (read.labels ?? all);
  }

  /** Whether the labels of a tool's results depend on the arguments of the call. */
  isConditional({ server, name }: FlowTool): boolean {
    const flow = this.#servers.get(server);
    const labels = flow && (entryOf(flow, name)?.labels ?? flow.labels);
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

const MAX_LEAVES = 5_000;

function carries({ unless, when }: ConditionalLabel, args: unknown): boolean {
  if (unless !== undefined && matchesAll(unless, args)) return false;
  return when === undefined || matchesAll(when, args);
}

/** Whether each of these arguments has values, all of which match its pattern. */
function matchesAll(patterns: Readonly<Record<string, string>>, args: unknown): boolean {
  const { leaves, isWhole } = leavesOf(args, MAX_LEAVES);
  if (!isWhole) return false;
  return Object.entries(patterns).every(([path, pattern]) => {
    const own = leaves.filter((leaf) => isWithin(leaf.path, path));
    return own.length > 0 && own.every(({ value }) => matchesValue(pattern, value));
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
  return `${tool} (call ${seq}${isEarlier === true ? " of an earlier program of its session" : ""})`;
}

/** The flow of a call whose values were not traced: each may carry the labels of everything that was read. */
export function unfollowed(args: unknown, labels: readonly string[]): CallFlow {
  const { leaves } = leavesOf(args, MAX_LEAVES);
  const flow: CallFlow = {
    leaves: leaves.map(({ path, value }) => ({
      ...{ path, value, origins: [], labels: [], undecided: labels, possible: labels, isSaid: false },
    })),
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
}

/** The values of a call that its tool's arguments do not accept, with certain ones first. */
export function refusedValues(flow: DataFlow, tool: FlowTool, call: CallFlow): RefusedValue[] {
  const accepts = flow.argumentsOf(tool);
  if (accepts === undefined) return [];
  const refused = call.leaves.flatMap((leaf): RefusedValue[] => {
    if (leaf.isSaid) return [];
    return argumentsOf(accepts, leaf.path).flatMap((argument): RefusedValue[] => {
      const taken = accepts[argument] ?? [];
      const { labels, lists } = "labels" in taken ? taken : { labels: taken, lists: [] };
      if (lists.some((name) => isListed(flow.lists, name, leaf.value))) return [];
      const [certain] = leaf.labels.filter((label) => !labels.includes(label));
      const possible = leaf.undecided.filter((label) => !labels.includes(label));
      const [label = possible[0]] = [certain];
      if (label === undefined) return [];
      return [{ argument, leaf, label, labels: possible, isUndecided: certain === undefined }];
    });
  });
  return refused.toSorted((a, b) => Number(a.isUndecided) - Number(b.isUndecided));
}

/** The entry of `accepts` for a path: the longest one that contains it, else `*`. A value without a path may be in any argument. */
function argumentsOf(accepts: Readonly<Record<string, ArgumentAccepts>>, path: string): string[] {
  if (path === "") return Object.keys(accepts);
  const entries = Object.keys(accepts).filter((entry) => isWithin(path, entry));
  const longest = entries.toSorted((a, b) => b.length - a.length)[0];
  if (longest !== undefined) return [longest];
  return Object.hasOwn(accepts, "*") ? ["*"] : [];
}

const MAX_SHOWN_CHARS = 80;

/** Why a value is not accepted, and what can be done, in one line. */
export function describeRefused({ leaf, label, isUndecided }: RefusedValue): string {
  const value = showValue(leaf.value);
  const named = leaf.path === "" ? "its arguments do" : `\`${leaf.path}\` does`;
  const from = leaf.origins.filter(({ labels }) => labels.includes(label)).map(describeOrigin);
  const where = isUndecided ? `may depend on '${label}' data` : `comes from ${from[0] ?? `'${label}' data`}`;
  return `${named} not accept '${label}' data, and ${value} ${where}; ask the user to name the value: what the user says is accepted`;
}

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
