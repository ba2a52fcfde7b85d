import { adviseProgram, type Prepared } from "../languages/prepare-program.ts";
import type { Program } from "../languages/program.ts";
import type { Verdict } from "./judge.ts";

/**
 * What to do about how a program that ran has ended, after what its check hinted at. Advice that cannot be had is no failure of
 * the run.
 */
export async function adviseOn(
  program: Program,
  verdict: Verdict,
  { consoleText, hasEmitted }: { consoleText: string; hasEmitted: boolean },
  known: readonly string[] = [],
  { prepared, ...parts }: Parameters<typeof adviseProgram>[2] & { prepared: Prepared | undefined },
): Promise<readonly string[]> {
  const hints = prepared?.ok ? prepared.hints : [];
  if (known.length > 0) return [...hints, ...known];
  const ended = verdict.ok
    ? {
        ok: true as const,
        consoleText,
        isEmpty: verdict.from === "console" && consoleText.trim() === "" && !hasEmitted,
      }
    : { ok: false as const, error: verdict.error };
  return [...hints, ...(await adviseProgram(program, ended, parts).catch(() => []))];
}
