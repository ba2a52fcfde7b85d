import { createInterface } from "node:readline/promises";
import { printable, renderApprovalArguments } from "../broker/approval-text.ts";
import type { ApprovalAnswer, ApprovalRequest, Approver } from "../broker/approvals.ts";
import { NOBODY } from "../broker/dispatcher.ts";
import { matchesPattern } from "../protocol/tool-pattern.ts";
import type { Surroundings } from "./surroundings.ts";

/**
 * The approver of the command line: `--approve` patterns first, then a question on the terminal, and where there is no
 * terminal the answer is no.
 */
export function buildApprover(patterns: readonly string[], surroundings: Surroundings): Approver {
  const { stdin, stderr } = surroundings;
  return {
    async ask(request, signal) {
      if (patterns.some((pattern) => matchesPattern(pattern, request.tool)))
        return { decision: "once", by: "--approve" };
      if (stdin.isTTY !== true || stderr.isTTY !== true) {
        stderr.write(
          `ptc: ${request.tool} was denied: nobody can be asked here; pass --approve '${request.tool}'\n`,
        );
        return { decision: "denied", by: NOBODY };
      }
      return { decision: await askOnTerminal(request, surroundings, signal), by: "terminal" };
    },
  };
}

async function askOnTerminal(
  request: ApprovalRequest,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<ApprovalAnswer["decision"]> {
  const prompt = createInterface({ input: surroundings.stdin, output: surroundings.stderr });
  const shown = renderApprovalArguments(request.arguments);
  try {
    const question = `\nThe program wants to call ${printable(request.tool)} with\n${shown}\nAllow? [y]es, [a]lways in this run, [N]o: `;
    const answer = (await prompt.question(question, { signal })).trim().toLowerCase();
    if (answer === "y" || answer === "yes") return "once";
    return answer === "a" || answer === "always" ? "run" : "denied";
  } catch {
    return "denied";
  } finally {
    prompt.close();
  }
}
