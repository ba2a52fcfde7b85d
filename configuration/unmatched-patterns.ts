import { visibleLine } from "../base/text/visible-text.ts";
import { similarNames } from "../catalog/search/similar-names.ts";
import { PROGRAMS_MODULE } from "../protocol/tools/programs-module.ts";
import { matchesPattern } from "../protocol/tools/tool-pattern.ts";
import type { Configuration, ToolPattern } from "./configuration.ts";

export interface UnmatchedPattern extends ToolPattern {
  /** One line for a person: file, line, key, and what to do. */
  message: string;
}

/**
 * The entries of `tools` and `approvals` that match no tool. Such an entry is most often a typing mistake, and leaves a tool
 * unguarded.
 *
 * @param unlistedModules modules of servers whose tools are not known. Entries that may match their tools are left out.
 */
export function unmatchedPatterns(
  configuration: Pick<Configuration, "file" | "toolPatterns">,
  namespacedToolNames: readonly string[],
  unlistedModules: readonly string[] = [],
): UnmatchedPattern[] {
  return (
    configuration.toolPatterns
      .filter(({ pattern }) => !namespacedToolNames.some((name) => matchesPattern(pattern, name)))
      .filter(({ pattern }) => !unlistedModules.some((module) => mayMatchModule(pattern, module)))
      // What saved programs may do can be said before they are saved.
      .filter(({ pattern }) => !pattern.startsWith(`mcp__${PROGRAMS_MODULE}__`))
      .map((entry) => {
        const [nearest] = similarNames(entry.pattern, namespacedToolNames, 1);
        const advice =
          nearest === undefined
            ? "generated/catalog.json has the names of all tools"
            : `did you mean '${visibleLine(nearest)}'?`;
        const place = `${configuration.file ?? "configuration"}:${entry.line}: ${entry.key}`;
        return { ...entry, message: `${place}: '${entry.pattern}' matches no tool; ${advice}` };
      })
  );
}

function mayMatchModule(pattern: string, module: string): boolean {
  const wildcard = pattern.indexOf("*");
  const prefix = `mcp__${module}__`;
  if (wildcard < 0) return pattern.startsWith(prefix);
  const literal = pattern.slice(0, wildcard);
  return literal.startsWith(prefix) || prefix.startsWith(literal);
}
