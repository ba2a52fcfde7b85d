import type { Verdict } from "../judge.ts";
import type { Program } from "../program.ts";
import { adviseProgram } from "./prepare-program.ts";

/** What to do about how a program that ran has ended. Advice that cannot be had is no failure of the run. */
export async function adviseOn(
  program: Program,
  verdict: Verdict,
  consoleText: string,
  known: readonly string[] = [],
  parts: Parameters<typeof adviseProgram>[2],
): Promise<readonly string[]> {
  if (known.length > 0) return known;
  const ended = verdict.ok
    ? { ok: true as const, consoleText, isEmpty: verdict.from === "console" && consoleText.trim() === "" }
    : { ok: false as const, error: verdict.error };
  return adviseProgram(program, ended, parts).catch(() => []);
}
