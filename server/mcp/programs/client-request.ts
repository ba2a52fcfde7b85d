import { visibleLine } from "../../../base/visible-text.ts";
import type { Conversation } from "../../../broker/flow/conversation.ts";
import type { Viewer } from "../../../broker/policy/authorizer.ts";
import type { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import type { ExecutedProgram } from "../../../execution/output/executed-run.ts";
import type { PlannedProgram } from "../../../execution/output/planned-program.ts";
import type { ProgramRequest, RunsTogether } from "../../../execution/run-request.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import type { TraceContext } from "../../../protocol/trace-context.ts";
import type { AskPerson, ClientClaim, Question } from "../elicitation.ts";
import type { ProgramReply } from "../tools/reply.ts";

/** One client's connection, as its programs see it. */
export interface ClientConnection {
  /** The principal of its programs, and their source. */
  readonly context: RunContext & Viewer;
  /** Aborted when the client has disconnected. */
  readonly closed: AbortSignal;
  readonly notices: ClientNotices;
  /** The conversation with the client's model. Each connection has one. */
  readonly conversation: Conversation;
  /** What its runs have come to, where rules see its direct calls together. */
  readonly together?: RunsTogether | undefined;
  /** The tools that the client sees now. */
  known(): Promise<ToolCatalog>;
}

/** A request that waits for a program or a direct call. It starts the run, or brings the answer to a question. */
export interface ClientRequest {
  readonly connection: ClientConnection;
  readonly signal: AbortSignal;
  /** `undefined` unless the client asked for progress. */
  readonly progress: ProgressSink | undefined;
  /** Whether the client can put a question to a person. */
  readonly canAsk: boolean;
  /** Whether it can let a person open a URL. */
  readonly canVisit?: boolean;
  /** Whether its model answers servers (MCP, "Sampling"). */
  readonly canSample?: boolean;
  /** Whether who sends it may answer whether a call is made; by default they may. */
  readonly mayApprove?: boolean;
  /** The name and version that the client declares. */
  readonly client?: ClientClaim | undefined;
  /** The OAuth client to which the token of the request was given. */
  readonly clientId?: string | undefined;
  /** The trace that the request belongs to. */
  readonly trace?: TraceContext | undefined;
  /** The question that it answers: its ticket, and the client's response if it brings one. */
  readonly answers?: { ticket: string; response: unknown } | undefined;
  /**
   * Asks a person while the request waits. If absent, a question is the result of the request, and the client's next request
   * brings the answer.
   */
  readonly ask?: AskPerson | undefined;
  /** Follows what the request starts. */
  readonly observer?: RequestObserver | undefined;
}

/** Follows a program, or a single call, that a request has started. */
export interface RequestObserver extends Pick<ProgramRequest, "onEvent" | "onCall" | "onConsole"> {
  /** Receives the result of a program before its client reads it. */
  readonly onProgram?: ((executed: ExecutedProgram) => void) | undefined;
  /** Receives the result of a dry run before its client reads it. */
  readonly onPlanned?: ((planned: PlannedProgram) => void) | undefined;
}

/** The answer to a request. */
export type ProgramAnswer =
  | { kind: "reply"; reply: ProgramReply }
  /** The run waits for a person. The client returns the answer together with the ticket. */
  | { kind: "question"; question: Question; ticket: string };

/** Sends the progress of a run to the client. */
export interface ProgressSink {
  /**
   * @param progress how many calls the program has started; higher with every message
   * @param message one line that names the last call; for a single call, its server's message
   * @param total the total that the server of a single call reports
   */
  report(progress: number, message: string | undefined, total?: number): void;
}

/** The context of a run that a request starts or resumes: that of its connection, with the client's own name. */
export function contextOf({ connection, client, clientId }: ClientRequest): RunContext {
  const { context } = connection;
  return {
    ...context,
    ...(client === undefined || client.name === "" ? {} : { client }),
    ...(clientId === undefined ? {} : { clientId }),
  };
}

/** Notices for one client, besides the results of its programs. Each notice is given once. */
export class ClientNotices {
  readonly #told = new Set<string>();
  readonly #unrecorded = new Set<string>();

  /** Notes why a run was not recorded. The run's own reply has gone out by then. */
  follow<T extends { recorded: Promise<string | undefined> }>(executed: T): T {
    void executed.recorded.then((problem) => {
      if (problem !== undefined) this.#unrecorded.add(problem);
    });
    return executed;
  }

  /** The notices for the next reply, whatever it answers. */
  take(): string[] {
    const problems = [...this.#unrecorded];
    this.#unrecorded.clear();
    return problems.map(
      (problem) => `A run of this session was not recorded; tell the user: ${visibleLine(problem)}`,
    );
  }

  /** A notice, the first time the model is shown data with a label, that the label applies to what the model writes from now on. */
  labelled({ shown = [] }: Pick<ExecutedProgram, "shown">): string[] {
    if (shown.length === 0) return [];
    const from = [...new Set(shown.flatMap(({ tool }) => tool ?? []))];
    const labels = shown.map(({ label }) => `'${label}'`).join(", ");
    const of = from.length === 0 ? "" : ` of ${from.join(", ")}`;
    return [
      visibleLine(
        `You were shown ${labels} data${of}, so what you write counts as that from here on. What the user says, and what other tools answer, still counts as theirs; programs that return counts, ids or yes and no show nothing.`,
      ),
    ];
  }

  /** Why the types of a program were not checked. Each reason is given once. */
  unchecked({ unchecked }: ExecutedProgram): string[] {
    if (unchecked === undefined || this.#told.has(unchecked)) return [];
    this.#told.add(unchecked);
    return [`The program's types were not checked: ${visibleLine(unchecked)}`];
  }
}
