import type { RunRead } from "./run-history.ts";

/** What the configuration says of the data of one tool, or of a whole server. */
interface FlowEntry {
  /** What its results carry. */
  readonly labels?: readonly string[] | undefined;
  /** The labels that may flow into it; `undefined` for all of them. */
  readonly accepts?: readonly string[] | undefined;
}

/** What the configuration says of a server and, by protocol name, of tools of it, which goes before. */
export interface ServerFlow extends FlowEntry {
  readonly tools: Readonly<Record<string, FlowEntry>>;
}

interface FlowTool {
  /** Configured name of the server. */
  readonly server: string;
  /** Protocol name. */
  readonly name: string;
}

/** The labels of all servers and tools, and what they accept. */
export class DataFlow {
  readonly #servers: ReadonlyMap<string, ServerFlow>;

  /** @param servers every configured server, by name. */
  constructor(servers: ReadonlyMap<string, ServerFlow>) {
    this.#servers = servers;
  }

  /** What the results of a tool carry; `undefined` when its server is no longer configured, so that nobody knows. */
  labelsOf({ server, name }: FlowTool): readonly string[] | undefined {
    const flow = this.#servers.get(server);
    return flow && (entryOf(flow, name)?.labels ?? flow.labels ?? []);
  }

  /** The labels that may flow into a tool; `undefined` for all of them. */
  acceptsOf({ server, name }: FlowTool): readonly string[] | undefined {
    const flow = this.#servers.get(server);
    return flow && (entryOf(flow, name)?.accepts ?? flow.accepts);
  }

  /** The labels of all that was read, sorted. */
  labelsRead(reads: readonly RunRead[]): string[] {
    return [...new Set(reads.flatMap((read) => this.labelsOf(read) ?? []))].sort();
  }
}

function entryOf({ tools }: ServerFlow, name: string): FlowEntry | undefined {
  return Object.hasOwn(tools, name) ? tools[name] : undefined;
}

/** Whether what a run has read may flow into a tool: `undefined` if so, else why not, in one line. */
export function findForbiddenFlow(
  flow: DataFlow,
  tool: FlowTool,
  reads: readonly RunRead[],
): { rule: string; reason: string } | undefined {
  const accepted = flow.acceptsOf(tool);
  if (accepted === undefined) return undefined;
  for (const read of reads) {
    const labels = flow.labelsOf(read);
    const label = labels?.find((each) => !accepted.includes(each));
    if (labels !== undefined && label === undefined) continue;
    const carries =
      label === undefined
        ? `data whose labels are not known, because server '${read.server}' is no longer configured`
        : `'${label}' data`;
    return {
      rule: `accepts: server '${tool.server}'`,
      reason: `it does not accept ${carries}, which this run carries since it read ${describeRead(read)}; do it in a run that does not read that`,
    };
  }
  return undefined;
}

/** A read as messages name it. */
export function describeRead({ tool, seq, isEarlier }: RunRead): string {
  return `${tool} (call ${seq}${isEarlier === true ? " of an earlier program of its session" : ""})`;
}
