import { oneLine } from "../base/visible-text.ts";
import type { LanguageFacts } from "../languages/language.ts";
import { parseClaim } from "../protocol/claim.ts";
import { buildFailure, type Failure } from "../protocol/failure.ts";
import { FrameError, parsePayload, parsePayloadInTurns } from "../protocol/frames.ts";
import { GUARD_EXITS } from "../protocol/guard.ts";
import { MAX_NESTING_DEPTH } from "../protocol/limits.ts";
import { INTERPRETER_FAILED } from "../protocol/runners.ts";
import { fail, type Suspended, type Verdict } from "./outcome.ts";

/** What ended a program, as the host saw it. */
export type Ending =
  /** The runner reported the end; its line has this many bytes. */
  | { kind: "done"; lineBytes: number }
  /** The container ended without a report from the runner. */
  | { kind: "exited"; code: number; isKilledByOthers?: boolean | undefined; killedBy?: string | undefined }
  | { kind: "timeout"; timeoutMs: number }
  | { kind: "cancelled" }
  | { kind: "violation"; message: string }
  /** A fault of the host. */
  | { kind: "failed"; message: string }
  | { kind: "overflow"; stream: "stdout" | "stderr" }
  /** The run waits for a person, and is kept. */
  | { kind: "suspended"; suspended: Suspended };

const SIGKILLED = 137;
const ABORTED = 134;
const MAX_SAID_CHARS = 500;
/** What V8 says when code of the interpreter itself has used up the stack, as a parser does with a hundred thousand brackets. */
const STACK_IS_FULL = "Maximum call stack size exceeded";
/** The failure for each exit code with which the guard ends a sandbox. */
const GUARDED: ReadonlyMap<number, [type: Failure["type"], message: string]> = new Map([
  [
    GUARD_EXITS.unattended,
    ["InternalError", "the sandbox was ended because the engine closed its connection to ptc"],
  ],
  [GUARD_EXITS.overdue, ["Timeout", "the sandbox has reached the longest time that one may live"]],
  [
    GUARD_EXITS.unheld,
    ["ContractViolation", "the program kept starting processes while it was to wait for an answer"],
  ],
  [
    GUARD_EXITS.selfKilled,
    [
      "ContractViolation",
      "the program ended its own process (by SIGKILL) before its result could be reported",
    ],
  ],
]);

/** How programs of a language print output and set their value. */
export type Idioms = LanguageFacts["idioms"];

interface Known {
  approvalDenied?: boolean;
  /** How many values a result may hold, when the limit is larger than usual. */
  maxValues?: number | undefined;
  /** What `parseClaimLine` has read of its line; by default the line is parsed in one go. */
  line?: { readonly value: unknown } | undefined;
}

/**
 * Decides how a program ended. Everything that came out of the container counts as a claim. Whether an approval was denied
 * is the host's own knowledge.
 */
export function judge(
  ending: Ending,
  stdout: Buffer,
  stderrTail: string,
  idioms: Idioms,
  { approvalDenied = false, maxValues, line: known }: Known = {},
): Verdict {
  const parse = (line: Buffer) => (known === undefined ? parseLine(line, maxValues) : known.value);
  const verdict = judgeEnding(ending, parse, stdout, stderrTail, idioms);
  if (verdict.ok || verdict.error.type !== "ApprovalDenied" || approvalDenied) return verdict;
  return misused("the program claims a denial that there was not", idioms);
}

function judgeEnding(
  ending: Ending,
  parse: ParseLine,
  stdout: Buffer,
  stderrTail: string,
  idioms: Idioms,
): Verdict {
  switch (ending.kind) {
    case "timeout":
      return failed("Timeout", `Execution exceeded ${ending.timeoutMs / 1000}s limit`);
    case "cancelled":
      return failed("Cancelled", "the run was cancelled");
    case "suspended":
      return failed("ApprovalPending", describeSuspended(ending.suspended));
    case "violation":
      return failed("ContractViolation", ending.message);
    case "failed":
      return failed("InternalError", ending.message);
    case "overflow":
      return ending.stream === "stdout"
        ? misused("the program flooded stdout", idioms)
        : failed("OutputLimit", "the program flooded stderr and was stopped; print less");
    case "done":
      return readClaim(stdout, ending.lineBytes, idioms, parse);
    case "exited":
      if (ending.isKilledByOthers === true)
        return failed(
          "InternalError",
          `the sandbox was killed from outside, ${ending.killedBy ?? "by somebody with access to the engine"}`,
        );
      return judgeExit(ending.code, parse, stdout, stderrTail, idioms);
  }
}

export function describeSuspended({ ticket, tool }: Suspended): string {
  return `'${tool}' waits for an approval: \`ptc approvals approve ${ticket}\``;
}

function judgeExit(
  code: number,
  parse: ParseLine,
  stdout: Buffer,
  stderrTail: string,
  idioms: Idioms,
): Verdict {
  if (code === SIGKILLED) return failed("OutOfMemory", outOfMemory("it was killed"));
  if (code === ABORTED && /heap out of memory|Allocation failed/.test(stderrTail)) {
    return failed("OutOfMemory", outOfMemory("its heap was full"));
  }
  const failure = code === INTERPRETER_FAILED.code ? interpreterFailure(stderrTail) : undefined;
  if (failure !== undefined)
    return failure.includes(STACK_IS_FULL)
      ? failed(
          "ContractViolation",
          "the program nests calls or values deeper than its interpreter can follow",
        )
      : failed("InternalError", failure);
  const guarded = GUARDED.get(code);
  const advice = `; let it run to its end and set ${idioms.value}`;
  if (guarded !== undefined) {
    const [type, message] = guarded;
    return failed(type, code === GUARD_EXITS.selfKilled ? `${message}${advice}` : message);
  }
  if (code === 0 && stdout.length > 0) return readClaim(stdout, stdout.length, idioms, parse);
  const message = `the program ended its own process (exit code ${code}) before its result could be reported`;
  return failed("ContractViolation", `${message}${advice}`);
}

/** What the runner says about its interpreter, in one bounded line. A program can say the same, and then only misreports its own end. */
function interpreterFailure(stderrTail: string): string | undefined {
  const said = stderrTail.split("\n").findLast((line) => line.startsWith(INTERPRETER_FAILED.says));
  return said === undefined ? undefined : oneLine(said, MAX_SAID_CHARS);
}

function outOfMemory(how: string): string {
  return `the program used more memory than it has (${how}); process less at a time, or raise execution.memory_mb`;
}

/** The failure of a program that wrote to the runner's own stdout. */
function misused(what: string, { output, value }: Idioms): Verdict {
  const advice = `use ${output} for output and ${value} for the value; stdout itself is the runner's`;
  return failed("ContractViolation", `${what}; ${advice}`);
}

function readClaim(stdout: Buffer, lineBytes: number, idioms: Idioms, parse: ParseLine): Verdict {
  const isOneLine = stdout.length === lineBytes && stdout.indexOf("\n") === stdout.length - 1;
  if (!isOneLine) return misused("the program wrote to stdout past the console", idioms);
  const claim = parseClaim(parse(stdout));
  if (claim === undefined) return misused("what came out of the sandbox is not a runner's result", idioms);
  if (claim.ok) return claim;
  return { ok: false, error: buildFailure(claim.error.type, claim.error.message, claim.error.retryable) };
}

const failed = (type: Failure["type"], message: string): Verdict => fail(type, message).verdict;

/** Reads the line of a claim with turns of the event loop, where it is long. @returns `value` is `undefined` for what is no JSON. */
export async function parseClaimLine(line: Buffer, maxValues?: number): Promise<{ value: unknown }> {
  try {
    return { value: await parsePayloadInTurns(line, MAX_NESTING_DEPTH + 1, maxValues) };
  } catch (error) {
    if (error instanceof FrameError) return { value: undefined };
    throw error;
  }
}

type ParseLine = (line: Buffer) => unknown;

function parseLine(line: Buffer, maxValues: number | undefined): unknown {
  try {
    return parsePayload(line, MAX_NESTING_DEPTH + 1, maxValues);
  } catch (error) {
    if (error instanceof FrameError) return undefined;
    throw error;
  }
}
