import { Script } from "node:vm";
import { parentPort } from "node:worker_threads";
import { hasBigInteger, readJson } from "../../base/json.ts";
import { LineSplitter } from "../../base/streams.ts";
import { checkAgainstSchema, prepareSchema } from "./schema-check.ts";
import type { SchemaViolation } from "./schema-problem.ts";

/**
 * The worker for checks that can take long. It does one at a time and answers each. As a thread, its owner ends it if a check takes
 * too long. As a process, it interrupts such a check itself, even if its owner is gone. The process reads three lines from stdin
 * for each check (bounds, schema, value), writes one line for each answer, and exits at the end of its input.
 */

/** The JSON texts of a check. */
export interface CheckText {
  schema: string;
  /** If empty, the schema is only compiled. */
  value: string;
}

/** The time limits of one check. */
export interface CheckBounds {
  /** For compiling the schema. */
  compileMs: number;
  /** For checking the value. */
  checkMs: number;
}

export type CheckAnswer =
  | { state: "ready" }
  | { state: "checked"; problem?: SchemaViolation | undefined }
  /** The schema could not be compiled in time, whatever the value, or the value could not be checked in time. */
  | { state: "overtime"; of: "schema" | "value" };

/** The longest line: a value in which every character takes four bytes. */
const MAX_LINE_BYTES = 384 * 1024 * 1024;
const WORK = Symbol.for("ptc.work");

// Only code that is run as a script can be interrupted from within the thread, even in regular expressions.
const script = new Script('globalThis[Symbol.for("ptc.work")]()');

/** Runs work that may never end. Returns false if it was interrupted. */
function isDoneWithin(timeoutMs: number, work: () => void): boolean {
  (globalThis as { [WORK]?: () => void })[WORK] = work;
  try {
    script.runInThisContext({ timeout: timeoutMs });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return false;
    throw error;
  }
}

function parseValue(value: string): unknown {
  return value === "" ? undefined : readJson(value);
}

function checkWithin({ compileMs, checkMs }: CheckBounds, { schema, value }: CheckText): CheckAnswer {
  const parsed = parseValue(value);
  if (!isDoneWithin(compileMs, () => prepareSchema(schema, hasBigInteger(parsed))))
    return { state: "overtime", of: "schema" };
  let problem: SchemaViolation | undefined;
  const check = () => {
    problem = checkAgainstSchema(schema, parsed);
  };
  return isDoneWithin(checkMs, check) ? { state: "checked", problem } : { state: "overtime", of: "value" };
}

function serveThread(port: NonNullable<typeof parentPort>): void {
  const say = (answer: CheckAnswer) => port.postMessage(answer);
  port.on("message", ({ schema, value }: CheckText) => {
    say({ state: "checked", problem: checkAgainstSchema(schema, parseValue(value)) });
  });
  say({ state: "ready" });
}

function serveProcess(): void {
  const say = (answer: CheckAnswer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
  const splitter = new LineSplitter(MAX_LINE_BYTES);
  const lines: string[] = [];
  process.stdin.on("data", (chunk: Buffer) => {
    for (const line of splitter.push(chunk)) lines.push(typeof line === "string" ? line : "");
    while (lines.length >= 3) {
      const [bounds = "", schema = "", value = ""] = lines.splice(0, 3);
      say(checkWithin(JSON.parse(bounds) as CheckBounds, { schema, value }));
    }
  });
  say({ state: "ready" });
}

if (parentPort === null) serveProcess();
else serveThread(parentPort);
