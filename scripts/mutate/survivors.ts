/** A plugin for Stryker that prints each mutant that no test kills when it is known, so that a run that is ended early has told them. */
import { relative } from "node:path";
import type { MutantResult } from "@stryker-mutator/api/core";
import { declareValuePlugin, PluginKind } from "@stryker-mutator/api/plugin";

export function isSurvivor({ status }: MutantResult): boolean {
  return status === "Survived" || status === "NoCoverage";
}

/** A survivor as a line: where it is, what it changes, and whether any test runs it. */
export function lineOf({ fileName, location, status, mutatorName, replacement }: MutantResult): string {
  const { line, column } = location.start;
  const to = (replacement ?? "").replaceAll(/\s+/g, " ").slice(0, 100);
  const why = status === "NoCoverage" ? "no test runs it" : "no test notices";
  return `${relative("", fileName)}:${line}:${column} ${mutatorName} -> ${to || "(removed)"}: ${why}`;
}

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Reporter, "survivors", {
    onMutantTested(result: Readonly<MutantResult>) {
      if (isSurvivor(result)) console.log(`survived: ${lineOf(result)}`);
    },
  }),
];
