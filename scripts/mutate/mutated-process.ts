/** Loaded first into a process that a test spawns: has the mutant act here, or notes which mutants' places run. */
import { openSync, writeSync } from "node:fs";
import type { MutantNamespace, MutatedProcess } from "./in-processes.ts";

const told = JSON.parse(process.env.PTC_MUTATED_PROCESS ?? "null") as MutatedProcess | null;
// The environment is as the test has made it, and a process of this one is not told.
delete process.env.PTC_MUTATED_PROCESS;
process.env.NODE_OPTIONS = process.env.NODE_OPTIONS?.replace(/ ?--import=\S+$/, "");
if (told !== null) {
  const namespace: MutantNamespace = "mutant" in told ? { activeMutant: told.mutant } : noteWhatRuns(told);
  Object.defineProperty(globalThis, "__stryker__", { value: namespace, enumerable: false });
}

/** Each mutant is written at once when its place runs first, because runners are killed. */
function noteWhatRuns({ test, notes }: { test: string; notes: string }): MutantNamespace {
  const file = openSync(notes, "a");
  const counts = new Proxy<Record<string, number>>(
    {},
    {
      set(target, mutant, count: number) {
        if (!Object.hasOwn(target, mutant)) writeSync(file, `${String(mutant)}\n`);
        return Reflect.set(target, mutant, count);
      },
    },
  );
  return { currentTestId: test, mutantCoverage: { static: {}, perTest: { [test]: counts } } };
}
