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
  /**
   * Set if the run itself did not read it: an earlier program of its session did, so that its variables may contain it, or another
   * run of its conversation.
   */
  readonly isEarlier?: "session" | "conversation";
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
 * What the runs of one conversation have called and read, where rules see its direct calls together. Each program of it stays a run of
 * its own, which begins with what direct calls have read. What it reads itself counts for direct calls.
 */
export class ConversationRuns {
  /** Calls, whatever their outcome: of all tools, and of each. */
  calls = 0;
  readonly callsByTool = new Map<string, number>();
  readonly #byCalls = new Map<string, RunRead>();
  readonly #byPrograms = new Map<string, RunRead>();

  /** What a run of the conversation begins with. */
  reads(isDirect: boolean): RunRead[] {
    const known = isDirect ? new Map([...this.#byPrograms, ...this.#byCalls]) : this.#byCalls;
    return [...known.values()];
  }

  /** What direct calls, or programs, have read. */
  readsBy(isDirect: boolean): RunRead[] {
    return [...(isDirect ? this.#byCalls : this.#byPrograms).values()];
  }

  /** Notes what a run has read. */
  note(read: RunRead, isDirect: boolean): void {
    const reads = isDirect ? this.#byCalls : this.#byPrograms;
    const key = keyOf(read.tool, read.labels);
    if (!reads.has(key)) reads.set(key, { ...read, isEarlier: "conversation" });
  }
}

/** The place of a run in its conversation. */
export interface JoinedRun {
  readonly runs: ConversationRuns;
  /** Whether it is a single call, which rules see together with the others. */
  readonly isDirect: boolean;
  /** Whether calls are counted together. By default each run counts its own. */
  readonly counts?: boolean | undefined;
}

/**
 * The state of one run on which decisions depend. It only grows, and follows from the run's calls alone: a resumed run has its
 * earlier state again after `replay` for each answered call.
 */
export class RunState {
  readonly #callsByTool = new Map<string, number>();
  readonly #reads = new Map<string, RunRead>();
  readonly #servers = new Set<string>();
  #joined: JoinedRun | undefined;
  #calls = 0;
  #highestSeq = 0;

  /** @param earlier what earlier programs of its session, or other runs of its conversation, read, which the run also knows. */
  constructor(earlier: readonly RunRead[] = []) {
    for (const read of earlier) {
      this.#reads.set(keyOf(read.tool, read.labels), { isEarlier: "session", ...read });
      this.#servers.add(read.server);
    }
  }

  /** Makes the run one of its conversation, which knows from now on what the run has read, also before. */
  join(joined: JoinedRun): void {
    this.#joined = joined;
    for (const read of this.#reads.values()) joined.runs.note(read, joined.isDirect);
  }

  /** Configured names of the servers that the program has read from. */
  get servers(): ReadonlySet<string> {
    return this.#servers;
  }

  /** Everything that the program has read from servers so far. */
  get reads(): readonly RunRead[] {
    const joined = this.#joined;
    if (joined === undefined) return [...this.#reads.values()];
    const others = joined.runs
      .reads(joined.isDirect)
      .filter(({ tool, labels }) => !this.#reads.has(keyOf(tool, labels)));
    return [...others, ...this.#reads.values()];
  }

  /** Of these, what it has not read itself. */
  get earlierReads(): readonly RunRead[] {
    return this.reads.filter(({ isEarlier }) => isEarlier !== undefined);
  }

  /**
   * Records that a call has begun.
   *
   * @param seq the number of the call within its run, from 1. An earlier number is a call that is tried again.
   * @returns the number, and what the run did before. It also includes answers that arrive later.
   */
  begin({ namespacedName }: Pick<CalledTool, "namespacedName">, seq = this.#highestSeq + 1) {
    const isNew = seq > this.#highestSeq;
    const shared = this.#joined?.counts === true ? this.#joined.runs : undefined;
    const byTool = shared?.callsByTool ?? this.#callsByTool;
    if (isNew) {
      this.#highestSeq = seq;
      if (shared === undefined) this.#calls++;
      else shared.calls++;
      byTool.set(namespacedName, (byTool.get(namespacedName) ?? 0) + 1);
    }
    const readsSoFar = () => this.reads;
    const history: RunHistory = {
      calls: (shared?.calls ?? this.#calls) - 1,
      callsOfTool: (byTool.get(namespacedName) ?? 1) - 1,
      get reads() {
        return readsSoFar();
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
    const read: RunRead = {
      seq,
      tool: namespacedName,
      server,
      name,
      ...(labels === undefined ? {} : { labels }),
    };
    this.#reads.set(key, read);
    this.#joined?.runs.note(read, this.#joined.isDirect);
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
