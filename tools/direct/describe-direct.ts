import { countNoun, formatCount } from "../../base/quantities.ts";
import { listUpTo, visibleLine } from "../../base/visible-text.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { AUTO_TOKENS, type DirectTools } from "./direct-tools.ts";

const MAX_NAMES_CHARS = 300;

/** Which tools `ptc serve` has directly, what they cost, and why no more do; in one line for a person. */
export function describeDirect(
  { tools, tokens, ofAll, isApart, unlistable }: DirectTools,
  { discovery }: Pick<Configuration, "discovery">,
): string {
  const what =
    tools.length === 0
      ? "no tools are"
      : `${countNoun(tools.length, "tool")} ${tools.length === 1 ? "is" : "are"}`;
  const cost = tools.length === 0 ? "" : `, for about ${formatCount(tokens)} tokens`;
  const isDear = discovery === "auto" && ofAll !== undefined && ofAll >= AUTO_TOKENS;
  const why = isApart
    ? "; all others are for programs alone, because labels or rules go by what a run has read before"
    : isDear
      ? `; all would cost ${formatCount(AUTO_TOKENS)} or more, see \`direct\` in ptc.yaml`
      : "";
  const left = [...unlistable].map(([name, reason]) => visibleLine(`${name} (${reason})`));
  const not = left.length === 0 ? "" : `; for programs alone: ${listUpTo(left, MAX_NAMES_CHARS)}`;
  return `${what} listed beside execute_program${cost} (discovery: ${discovery})${why}${not}`;
}
