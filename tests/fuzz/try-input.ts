import { setImmediate as nextTurn } from "node:timers/promises";
import { MAX_DELAY_MS, measureLoad } from "./host-load.ts";
import { Random } from "./random.ts";
import type { Subject } from "./subject.ts";
import type { TopOfProcess } from "./top-of-process.ts";

/** What an input broke. */
export interface Fault {
  kind: "check" | "top of the process" | "never settles" | "event loop";
  message: string;
}

/** Far longer than any input takes, on a machine that has much else to do. */
const PATIENCE_MS = 120_000;
const RERUNS = 3;

/**
 * Checks one input, and what it does to the process.
 *
 * @param variant of what the check does at random.
 */
export async function tryInput(
  subject: Pick<Subject, "check">,
  top: TopOfProcess,
  input: Buffer,
  variant = 0,
): Promise<{ fault?: Fault; delayMs: number }> {
  const first = await tryOnce(subject, top, input, variant);
  if (first.fault !== undefined || first.delayMs <= MAX_DELAY_MS) return first;
  // Something else may have had the machine meanwhile, and compilers and collectors work when they like.
  let delayMs = first.delayMs;
  for (let rerun = 0; rerun < RERUNS; rerun++) {
    const again = await tryOnce(subject, top, input, variant);
    if (again.fault !== undefined) return again;
    delayMs = Math.min(delayMs, again.delayMs);
  }
  if (delayMs <= MAX_DELAY_MS) return { delayMs };
  return { delayMs, fault: { kind: "event loop", message: `it stood still for ${Math.round(delayMs)} ms` } };
}

async function tryOnce(
  { check }: Pick<Subject, "check">,
  top: TopOfProcess,
  input: Buffer,
  variant: number,
): Promise<{ fault?: Fault; delayMs: number }> {
  let thrown: { error: unknown } | undefined;
  let settled = true;
  const { delayMs, cpuMs } = await measureLoad(() => {
    let pending: void | Promise<void>;
    try {
      pending = check(input, new Random(input, variant));
    } catch (error) {
      thrown = { error };
      return;
    }
    if (pending === undefined) return;
    const checked = pending.catch((error: unknown) => {
      thrown = { error };
    });
    return patiently(checked, top).then(async (inTime) => {
      settled = inTime;
      // A rejection that nobody handles is reported when the turn is over.
      await nextTurn();
    });
  });
  const atTop = top.takeError();
  const load = { delayMs: Math.min(delayMs, cpuMs) };
  if (atTop !== undefined)
    return { ...load, fault: { kind: "top of the process", message: tell(atTop.error) } };
  if (thrown !== undefined) return { ...load, fault: { kind: "check", message: tell(thrown.error) } };
  if (!settled)
    return { ...load, fault: { kind: "never settles", message: `not within ${PATIENCE_MS / 1_000} s` } };
  return load;
}

async function patiently(checked: Promise<void>, top: TopOfProcess): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), PATIENCE_MS);
  });
  const inTime = await Promise.race([checked.then(() => true), top.next().then(() => true), late]);
  clearTimeout(timer);
  return inTime;
}

function tell(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return `${error.name}: ${error.message.slice(0, 1_000)}\n${frames.slice(0, 8).join("\n")}`;
}
