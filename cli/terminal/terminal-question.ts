import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { visibleLine } from "../../base/text/visible-text.ts";
import { renderApprovalArguments } from "../../broker/approval-text.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../broker/approvals.ts";
import type { Surroundings } from "../surroundings.ts";
import type { ProgramConsole } from "./program-console.ts";

/** How long to collect keys that were pressed before the question; they do not count as an answer. */
const DRAIN_MS = 50;
/** A longer tool name is shown with the arguments, but not repeated in the line with the cursor. */
const MAX_NAME_CHARS = 60;
/** The byte that a terminal in raw mode sends for Ctrl-C. */
const INTERRUPT = 0x03;

export interface QuestionParts {
  console: ProgramConsole;
  surroundings: Surroundings;
  /** Is called for Ctrl-C while a question is open. */
  onInterrupt: () => void;
}

/**
 * Draws one question below everything else on the terminal and reads its answer. Text of programs and servers in it is
 * marked line by line. Anything but an explicit approval is a denial.
 */
export async function askOnTerminal(
  { tool, arguments: args }: ApprovalRequest,
  { console, surroundings, onInterrupt }: QuestionParts,
  signal: AbortSignal,
): Promise<ApprovalAnswer["decision"]> {
  if (signal.aborted) return "denied";
  const name = visibleLine(tool);
  console.hold();
  try {
    if (!(await throwAwayTyped(surroundings.stdin))) {
      onInterrupt();
      return "denied";
    }
    if (signal.aborted) return "denied";
    console.draw("\nptc asks: the program wants to call\n");
    console.draw(console.quote(name));
    console.draw("with\n");
    console.draw(console.quote(renderApprovalArguments(args)));
    const what = name.length <= MAX_NAME_CHARS ? name : "this";
    const prompt = `Allow ${what}? [y]es, [a]lways in this run, [N]o: `;
    const answer = await readLine(prompt, surroundings, onInterrupt, signal);
    switch (answer?.trim().toLowerCase()) {
      case "y":
      case "yes":
        return "once";
      case "a":
      case "always":
        return "run";
      default:
        return "denied";
    }
  } finally {
    console.release();
  }
}

/** Reads and drops what was typed before the question was shown. Resolves with false if Ctrl-C was among it. */
async function throwAwayTyped(stdin: Surroundings["stdin"]): Promise<boolean> {
  let isInterrupted = false;
  const ignore = (chunk: Buffer | string) => {
    isInterrupted ||= Buffer.from(chunk).includes(INTERRUPT);
  };
  // Outside raw mode, a terminal holds typed keys back until a line is complete.
  stdin.setRawMode?.(true);
  stdin.on("data", ignore);
  stdin.resume();
  await delay(DRAIN_MS);
  stdin.pause();
  stdin.off("data", ignore);
  stdin.setRawMode?.(false);
  return !isInterrupted;
}

/** Resolves with the typed line, or with `undefined` on Ctrl-C, at the end of input, or when `signal` is aborted. */
function readLine(
  prompt: string,
  { stdin, stderr }: Surroundings,
  onInterrupt: () => void,
  signal: AbortSignal,
): Promise<string | undefined> {
  const reader = createInterface({ input: stdin, output: stderr, terminal: true, historySize: 0 });
  return new Promise<string | undefined>((resolve) => {
    reader.on("SIGINT", () => {
      onInterrupt();
      resolve(undefined);
    });
    reader.on("close", () => resolve(undefined));
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
    reader.question(prompt, resolve);
  }).finally(() => {
    reader.close();
    if (signal.aborted) stderr.write("\n");
  });
}
