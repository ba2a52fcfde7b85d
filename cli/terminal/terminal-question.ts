import { unmistakableLine } from "../../base/unmistakable-line.ts";
import { type ApprovalScope, DEFAULT_AT_MOST, parseScope } from "../../broker/approvals/approval-scope.ts";
import { renderAskedArguments, renderClaims } from "../../broker/approvals/approval-text.ts";
import type { ApprovalRequest } from "../../broker/approvals/approvals.ts";
import type { Surroundings } from "../surroundings.ts";
import type { ProgramConsole } from "./program-console.ts";
import { readLine, throwAwayTyped } from "./typed-line.ts";

/** A longer tool name is shown with the arguments, but not repeated in the line with the cursor. */
const MAX_NAME_CHARS = 40;

const SCOPES = `\
y: this call. a [calls]: this tool in this run. s [name=pattern]... [calls]: the same
but for the arguments named, * being anything. calls: how many, ${DEFAULT_AT_MOST} if not said.
`;

export interface QuestionParts {
  console: ProgramConsole;
  surroundings: Surroundings;
  /** Who wants the call, in words that go before the tool; a program without it. */
  asker?: string | undefined;
  /** Is called for Ctrl-C while a question is open. */
  onInterrupt: () => void;
}

/**
 * Draws one question below everything else on the terminal and reads its answer. Text of programs and servers in it is
 * marked line by line. Anything but an explicit approval is a denial.
 */
export async function askOnTerminal(
  { tool, arguments: args, reason, claims, ticket }: ApprovalRequest,
  { console, surroundings, asker = "the program wants to call", onInterrupt }: QuestionParts,
  signal: AbortSignal,
): Promise<ApprovalScope> {
  if (signal.aborted) return DENIED;
  const name = unmistakableLine(tool);
  console.hold();
  try {
    if (!(await throwAwayTyped(surroundings.stdin))) {
      onInterrupt();
      return DENIED;
    }
    if (signal.aborted) return DENIED;
    console.draw(`\nptc asks: ${asker}\n`);
    console.draw(console.quote(name));
    console.draw("with\n");
    const { text, rest } = renderAskedArguments(args, ticket);
    console.draw(console.quote(text));
    if (rest !== undefined) console.draw(`${rest}\n`);
    if (reason !== undefined) console.draw(`because ${unmistakableLine(reason)}\n`);
    const claimed = renderClaims(claims);
    if (claimed !== undefined) {
      console.draw(`${claimed.heading}\n`);
      console.draw(console.quote(claimed.said.join("\n")));
    }
    console.draw(SCOPES);
    const what = name.length <= MAX_NAME_CHARS ? name : "this";
    const prompt = `Allow ${what}? [y]es, [a]ll, [s]ame arguments, [N]o: `;
    return readAnswer(await readLine(prompt, surroundings, onInterrupt, signal), args);
  } finally {
    console.release();
  }
}

const DENIED: ApprovalScope = { decision: "denied" };

function readAnswer(line: string | undefined, args: unknown): ApprovalScope {
  const [word = "", ...rest] = line?.trim().split(/\s+/) ?? [];
  const last = rest.at(-1);
  const atMost = last !== undefined && !last.includes("=") ? rest.pop() : undefined;
  switch (word.toLowerCase()) {
    case "y":
    case "yes":
      return line?.trim() === word ? { decision: "once" } : DENIED;
    case "a":
    case "all":
      return rest.length === 0 ? scopeOr("all", [], atMost, args) : DENIED;
    case "s":
    case "same":
      return scopeOr("like", rest, atMost, args);
    default:
      return DENIED;
  }
}

function scopeOr(
  calls: "all" | "like",
  except: readonly string[],
  atMost: string | undefined,
  args: unknown,
): ApprovalScope {
  const read = parseScope({ calls, except, atMost }, args);
  return read.ok ? read.scope : DENIED;
}
