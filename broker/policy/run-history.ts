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
  /** Its labels, if they are fewer than those of the tool's results because of the arguments of the call. */
  readonly labels?: readonly string[];
  /** Set if an earlier program of the session read it, so that its variables may contain it. */
  readonly isEarlier?: true;
}

/** What a run did before one of its calls. The decision about that call may depend on it. */
export interface RunHistory {
  /** The number of earlier calls of this run, whatever their outcome. */
  readonly calls: number;
  /** The number of those that called the same tool. */
  readonly callsOfTool: number;
  /** What the program has read from servers: every tool that answered, once, in the order of the answers. */
  readonly reads: readonly RunRead[];
  /** Returns the origins of the call's values. If absent, they are not known. */
  readonly flow?: (() => CallFlow | Promise<CallFlow>) | undefined;
  /** These origins, where a decision needs them. */
  readonly values?: CallFlow | undefined;
  /** Labels of everything the model of the conversation was shown. */
  readonly shown?: readonly string[] | undefined;
}

/** Decisions on calls that reached their server. The program knows the server's answer, even if it is an error. */
const ANSWERED: ReadonlySet<CallDecision> = new Set(["allowed", "approved-once", "approved-for-run"]);

type CalledTool = Pick<Tool, "namespacedName" | "server" | "name">;

/**
 * The state of one run on which decisions depend. It only grows, and follows from the run's calls alone: a resumed run has its
 * earlier state again after `replay` for each answered call.
 */
export class RunState {
  readonly #callsByTool = new Map<string, number>();
  readonly #reads = new Map<string, RunRead>();
  readonly #servers = new Set<string>();
  #calls = 0;
  #highestSeq = 0;

  /** @param earlier what earlier programs of its session read, which the run also knows. */
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

  /** Everything that the program has read from servers so far. */
  get reads(): readonly RunRead[] {
    return [...this.#reads.values()];
  }

  /**
   * Records that a call has begun.
   *
   * @param seq the number of the call within its run, from 1. An earlier number is a call that is tried again.
   * @returns the number, and what the run did before. It also includes answers that arrive later.
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
   * Records that a tool has answered, before the program receives the answer.
   *
   * @param labels the labels of the answer, if they depend on the arguments.
   */
  read({ namespacedName, server, name }: CalledTool, seq: number, labels?: readonly string[]): void {
    const key = keyOf(namespacedName, labels);
    if (this.#reads.has(key)) return;
    this.#servers.add(server);
    const read: RunRead = { seq, tool: namespacedName, server, name };
    this.#reads.set(key, labels === undefined ? read : { ...read, labels });
  }

  /** Records a call that was answered from a recording. */
  replay(tool: CalledTool, { seq, decision }: { seq: number; decision: CallDecision }): void {
    this.begin(tool, seq);
    if (ANSWERED.has(decision)) this.read(tool, seq);
  }
}

function keyOf(tool: string, labels: readonly string[] | undefined): string {
  return labels === undefined ? tool : `${tool} ${JSON.stringify(labels)}`;
}
