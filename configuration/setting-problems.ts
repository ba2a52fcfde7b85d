import type { Problem } from "./configuration-error.ts";
import { findPiiProblems } from "./pii-section.ts";
import type { ConfigurationFile } from "./schema.ts";

/** Problems of settings that do not go together, where the keys and types of each are valid. */
export function findSettingProblems({ tools, sandbox, pii }: ConfigurationFile): Problem[] {
  const problems = findPiiProblems(pii);
  if (tools.allow !== undefined && tools.block.length > 0) {
    problems.push({ path: ["tools", "block"], message: "cannot stand beside `allow`; keep one of the two" });
  }
  const { warm, max_warm: maxWarm = warm } = sandbox;
  if (maxWarm < warm) {
    problems.push({
      path: ["sandbox", "max_warm"],
      message: `cannot be less than \`warm\`, which is ${warm}`,
    });
  }
  if (sandbox.runtime !== "runsc" && !sandbox.allow_weaker_isolation) {
    problems.push({
      path: ["sandbox", "runtime"],
      message: "isolates less than runsc; use runsc, or set allow_weaker_isolation: true",
    });
  }
  return problems;
}
