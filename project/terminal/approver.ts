import { randomInt } from "node:crypto";
import { closeSync, constants, openSync } from "node:fs";
import { isatty, ReadStream, WriteStream } from "node:tty";
import { visibleLine } from "../../base/visible-text.ts";
import type { ApprovalScope } from "../../broker/approvals/approval-scope.ts";
import { describeAnswerElsewhere } from "../../broker/approvals/approval-text.ts";
import {
  type ApprovalRequest,
  type Approver,
  approvesAny,
  LATER,
  NOT_PROVEN,
  type RequiredProof,
  UNASKED,
} from "../../broker/approvals/approvals.ts";
import { NOT_ASKED } from "../../broker/elicitation/elicitation.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { matchesPattern } from "../../protocol/tool-names.ts";
import { localUserName } from "../local-user.ts";
import { Refusal } from "../refusal.ts";
import type { Surroundings } from "../surroundings.ts";
import { ProgramConsole } from "./program-console.ts";
import {
  askOnTerminal,
  elicitOnTerminal,
  type QuestionParts,
  readLine,
  throwAwayTyped,
} from "./questions.ts";

/** The limit of a question's console. Questions bound their own texts, so it is never reached. */
const QUESTION_BYTES = 1_048_576;

/** @throws Refusal for patterns, if only an answer with a proof can approve a call. */
export function refusePatterns(
  patterns: readonly string[],
  { approvals }: Pick<Configuration, "approvals">,
): void {
  if (approvals.require !== "any" && patterns.length > 0)
    throw new Refusal(`--approve: ${NOT_PROVEN[approvals.require]}`);
}

/**
 * The approver of the command line. Approves calls whose tool matches an `--approve` pattern. For other calls it asks on the
 * terminal, one question at a time; without a terminal it denies them. Questions of servers are put on the terminal too.
 *
 * @param parts `require`: with `terminal`, approvals are asked for and typed at the terminal of this process itself, whatever its
 * standard streams are, and patterns approve nothing. With `passkey`, a run at a terminal waits until somebody has answered in the console.
 */
export function buildApprover(
  patterns: readonly string[],
  parts: QuestionParts & { suspends?: boolean | undefined; require?: RequiredProof | undefined },
): Approver {
  const { console, surroundings, suspends = false } = parts;
  let turn: Promise<unknown> = Promise.resolve();
  const how = () => `typed at a terminal of user ${localUserName()}`;
  const { require: required = "any" } = parts;
  return {
    provesBy: required === "any" ? undefined : required,
    asksNobody: (tool) =>
      required === "any" &&
      (patterns.some((pattern) => matchesPattern(pattern, tool)) ||
        !(suspends || isAnybodyThere(surroundings))),
    async ask(request, signal) {
      if (required === "passkey") {
        if (suspends) return LATER;
        if (!isAnybodyThere(surroundings)) {
          console.tell(`ptc: ${visibleLine(request.tool)} was denied: ${NOT_PROVEN.passkey}`);
          return { ...UNASKED, why: NOT_PROVEN.passkey };
        }
        const where = request.ticket === undefined ? "" : `, ticket ${request.ticket}`;
        console.tell(
          `ptc: ${visibleLine(request.tool)} waits for a passkey: answer it in the inbox of the console (ptc console)${where}`,
        );
        await aborted(signal);
        return UNASKED;
      }
      if (required === "terminal") {
        const own = openOwnTerminal(surroundings);
        if (own !== undefined) {
          const answer = turn
            .then(() => askAndConfirm(own, request, parts, signal))
            .finally(() => own.close());
          turn = answer.catch(() => {});
          const scope = await answer;
          return {
            ...scope,
            by: "terminal",
            how: how(),
            ...(approvesAny(scope) ? { proof: { way: "terminal" } } : {}),
          };
        }
        if (suspends) return LATER;
        console.tell(
          `ptc: ${visibleLine(request.tool)} was denied: ${NOT_PROVEN.terminal}, and there is none here`,
        );
        return { ...UNASKED, why: `${NOT_PROVEN.terminal}, and there is none here` };
      }
      if (patterns.some((pattern) => matchesPattern(pattern, request.tool)))
        return { decision: "once", by: "--approve", how: "an option of the command" };
      if (!isAnybodyThere(surroundings)) {
        if (suspends) return LATER;
        // If stderr is no terminal, a model may read it. It must learn how a person can be asked, not how to avoid that.
        const next =
          surroundings.stderr.isTTY === true
            ? howToApprove(request.tool)
            : parts.suspends === undefined
              ? "run it on a terminal, where a person can be"
              : "with --suspend the run waits until a person has answered";
        console.tell(`ptc: ${visibleLine(request.tool)} was denied: nobody can be asked here; ${next}`);
        return UNASKED;
      }
      const answer = turn.then(() => askOnTerminal(request, parts, signal));
      turn = answer.catch(() => {});
      return {
        ...(await answer),
        by: "terminal",
        how: how(),
      };
    },
    answeredElsewhere({ tool }, answer) {
      console.tell(`ptc: ${visibleLine(tool)}: ${describeAnswerElsewhere(answer)}`);
    },
    async elicit(elicitation, signal) {
      if (!isAnybodyThere(surroundings)) return NOT_ASKED;
      const answer = turn.then(() => elicitOnTerminal(elicitation, parts, signal));
      turn = answer.catch(() => {});
      return answer;
    },
  };
}

/** Resolves when a question is answered elsewhere, or its run ends. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Asks at the terminal of this process while all other output waits, and confirms an approval by typing. */
async function askAndConfirm(
  own: OwnTerminal,
  request: ApprovalRequest,
  parts: QuestionParts,
  signal: AbortSignal,
): Promise<ApprovalScope> {
  parts.console.hold();
  try {
    const console = new ProgramConsole(own.surroundings, QUESTION_BYTES);
    const scope = await askOnTerminal(request, { ...parts, console, surroundings: own.surroundings }, signal);
    if (!approvesAny(scope)) return scope;
    return (await confirmByTyping(own, parts.onInterrupt, signal)) ? scope : { decision: "denied" };
  } finally {
    parts.console.release();
  }
}

/** Whether a person can read what is asked, and type an answer. */
function isAnybodyThere({ stdin, stderr }: QuestionParts["surroundings"]): boolean {
  return stdin.isTTY === true && stderr.isTTY === true && !stdin.readableEnded;
}

/** How to approve the tool by an option, with its name ready to be pasted if a shell needs no escaping for it. */
function howToApprove(tool: string): string {
  return /^[\w.-]+$/.test(tool) ? `pass --approve '${tool}'` : "pass --approve with a pattern for its name";
}

/** The terminal that controls this process, opened by itself: no pipe, file or option can stand in for it. */
interface OwnTerminal {
  surroundings: Surroundings;
  close(): void;
}

/** Letters that make no word, and look different in every font. */
const LETTERS = "bcdfghjkmnpqrstvwxz";
const LENGTH = 5;

/**
 * Opens the terminal at which this process was started. `undefined` if there is none: in a service, under a client without one, and in
 * the background host, whose terminal would not be the caller's.
 */
export function openOwnTerminal(surroundings: Surroundings): OwnTerminal | undefined {
  if (surroundings.shared !== undefined) return undefined;
  const [input, output] =
    process.platform === "win32" ? ["\\\\.\\CONIN$", "\\\\.\\CONOUT$"] : ["/dev/tty", "/dev/tty"];
  const opened: number[] = [];
  try {
    opened.push(openSync(input, constants.O_RDWR), openSync(output, constants.O_RDWR));
    const [read = -1, write = -1] = opened;
    if (!isatty(read) || !isatty(write)) throw new Error("no terminal");
    const stdin = new ReadStream(read);
    const stderr = new WriteStream(write);
    return {
      surroundings: { ...surroundings, stdin, stderr, stdout: stderr },
      close() {
        stdin.destroy();
        stderr.destroy();
      },
    };
  } catch {
    for (const descriptor of opened) closeSync(descriptor);
    return undefined;
  }
}

/** Asks a person to type a word that is shown only at their terminal. False for any other answer. */
export async function confirmByTyping(
  { surroundings }: OwnTerminal,
  onInterrupt: () => void,
  signal: AbortSignal,
): Promise<boolean> {
  const word = Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");
  if (!(await throwAwayTyped(surroundings.stdin))) {
    onInterrupt();
    return false;
  }
  const prompt = `ptc asks: type ${word} to approve, anything else is a no: `;
  return (await readLine(prompt, surroundings, onInterrupt, signal))?.trim().toLowerCase() === word;
}
