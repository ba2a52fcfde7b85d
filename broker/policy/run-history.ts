import type { Tool } from "../../catalog/tool.ts";
import type { CallDecision } from "../../protocol/call-decision.ts";
import type { CallFlow } from "../flow/run-flow.ts";

/** A tool whose answer the program has read, and the first such call. */
export interface RunRead {
  /** The number of the call within its run, from 1. */
  readonly seq: number;
  /** `mcp__<server_module>__<tool>` */
  readonly tool: string;
  /** Configured name of the server. */
  readonly server: string;
  /** Protocol name of the tool. */
  readonly name: string;
  /** What it carries, where that is less than what the tool's results may carry, because of the arguments of the call. */
  readonly labels?: readonly string[];
  /** Whether an earlier program of the session has read it, so that it is in what that one has left. */
  readonly isEarlier?: true;
}

/** What a run did before one of its calls. The decision about that call may depend on it. */
export interface RunHistory {
  /** The calls of this run that began before, whatever has become of them. */
  readonly calls: number;
  /** Those of the same tool. */
  readonly callsOfTool: number;
  /** What the program knows of servers: every tool that has answered it, once, in the order of those answers. */
  readonly reads: readonly RunRead[];
  /** Where the values of the call come from. Without it, nothing is known of that. */
  readonly flow?: (() => CallFlow) | undefined;
  /** Labels of what the model of the conversation was shown. */
  readonly shown?: readonly string[] | undefined;
}

/** The calls that reached their server. What it said, be it an error, is known to the program. */
const ANSWERED: ReadonlySet<CallDecision> = new Set(["allowed", "approved-once", "approved-for-run"]);

type CalledTool = Pick<Tool, "namespacedName" | "server" | "name">;

/**
 * The state of one run on which decisions depend. It only grows, and follows from the run's calls alone: a run that is
 * taken up again has its earlier state again after `replay` for each call that was answered.
 */
export class RunState {
  readonly #callsByTool = new Map<string, number>();
  readonly #reads = new Map<string, RunRead>();
  readonly #servers = new Set<string>();
  #calls = 0;
  #highestSeq = 0;

  /** @param earlier what earlier programs of its session have read, which the run knows too. */
  constructor(earlier: readonly RunRead[] = []) {
    for (const read of earlier) {
      this.#reads.set(keyOf(read.tool, read.labels), { ...read, isEarlier: true });
      this.#servers.add(read.server);
    }
  }

  /** Configured names of the servers that the program has read from. */
  get servers(): ReadonlySet<string> {
    return this.#servers;
  }

  /** All that the program knows of servers so far. */
  get reads(): readonly RunRead[] {
    return [...this.#reads.values()];
  }

  /**
   * Notes that a call has begun.
   *
   * @param seq the number of the call within its run, from 1. An earlier number is a call that is tried again.
   * @returns the number, and what the run has done before. Answers that come later are in it.
   */
  begin({ namespacedName }: Pick<CalledTool, "namespacedName">, seq = this.#highestSeq + 1) {
    const isNew = seq > this.#highestSeq;
    if (isNew) {
      this.#highestSeq = seq;
      this.#calls++;
      this.#callsByTool.set(namespacedName, (this.#callsByTool.get(namespacedName) ?? 0) + 1);
    }
    const reads = this.#reads;
    const history: RunHistory = {
      calls: this.#calls - 1,
      callsOfTool: (this.#callsByTool.get(namespacedName) ?? 1) - 1,
      get reads() {
        return [...reads.values()];
      },
    };
    return { seq, history };
  }

  /**
   * Notes, before the program is given it, that a tool has answered.
   *
   * @param labels what the answer carries, where that depends on the arguments.
   */
  read({ namespacedName, server, name }: CalledTool, seq: number, labels?: readonly string[]): void {
    const key = keyOf(namespacedName, labels);
    if (this.#reads.has(key)) return;
    this.#servers.add(server);
    const read: RunRead = { seq, tool: namespacedName, server, name };
    this.#reads.set(key, labels === undefined ? read : { ...read, labels });
  }

  /** Notes a call that was answered from a record. */
  replay(tool: CalledTool, { seq, decision }: { seq: number; decision: CallDecision }): void {
    this.begin(tool, seq);
    if (ANSWERED.has(decision)) this.read(tool, seq);
  }
}

function keyOf(tool: string, labels: readonly string[] | undefined): string {
  return labels === undefined ? tool : `${tool} ${JSON.stringify(labels)}`;
}
