import type { ApprovalRequest } from "../broker/approvals/approvals.ts";
import { callingLines } from "../protocol/calling-lines.ts";
import type { RunContext } from "../protocol/run-context.ts";

/** A question that waits for a person. Nothing in it is secret. */
export interface WaitingQuestion {
  readonly ticket: string;
  /** The digest of the question. An answer is valid only for this question. */
  readonly digest: string;
  readonly request: ApprovalRequest;
  /** The principal of the run. */
  readonly context: Pick<RunContext, "principal" | "source">;
  readonly program: { readonly fileName: string; readonly code: string };
  /** When the question expires, in milliseconds since 1970; `undefined` if its run waits with its sandbox. */
  readonly expiresAt: number | undefined;
}

/** The notice about a question. */
export interface Notice {
  readonly ticket: string;
  readonly digest: string;
  readonly run_id: string;
  readonly principal: string;
  readonly source: RunContext["source"];
  readonly file_name: string;
  readonly tool: string;
  readonly arguments: unknown;
  readonly arguments_digest: string;
  /** Why a rule asks. */
  readonly reason: string | null;
  /** Where the values come from, a line for each argument. */
  readonly origins: readonly string[];
  /** The server's description of its tool. Nobody has checked it. */
  readonly server_claims: unknown;
  /** The lines of the program around the call, if they can be found. */
  readonly lines: readonly CallLine[];
  readonly expires_at: string | null;
  /** How to answer: a page of the console, or a command. */
  readonly link: string | null;
  readonly command: string;
}

/** Makes the notice about a question. @param link the address of the page that shows it. */
export function noticeOf(question: WaitingQuestion, link: string | undefined): Notice {
  const { ticket, digest, request, context, program, expiresAt } = question;
  return {
    ticket,
    digest,
    run_id: request.runId,
    principal: context.principal,
    source: context.source,
    file_name: program.fileName,
    tool: request.tool,
    arguments: request.arguments ?? null,
    arguments_digest: request.argumentsDigest,
    reason: request.reason ?? null,
    origins: request.origins ?? [],
    server_claims: request.claims ?? null,
    lines: linesAround(program.code, request.tool),
    expires_at: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    link: link ?? null,
    command: `ptc approvals show ${ticket}`,
  };
}

/** A line of a program. */
export interface CallLine {
  readonly line: number;
  readonly text: string;
  /** Whether the line calls the tool. */
  readonly calls: boolean;
}

/** Lines before and after a call. */
const AROUND = 3;
const MAX_LINE_CHARS = 200;

/** The lines of a program around its first call of a tool, or its first lines where no line calls it by a name. */
export function linesAround(code: string, tool: string): CallLine[] {
  const lines = code.split(/\r?\n/);
  const calling = new Set(callingLines(lines, tool));
  const [first = 1] = calling;
  const from = Math.max(0, first - 1 - AROUND);
  return lines.slice(from, first + AROUND).map((text, index) => ({
    line: from + index + 1,
    text: text.length > MAX_LINE_CHARS ? `${text.slice(0, MAX_LINE_CHARS)}…` : text,
    calls: calling.has(from + index + 1),
  }));
}
