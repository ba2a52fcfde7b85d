import { unmistakableLine } from "../../base/text/unmistakable-line.ts";
import type { ApprovalAnswer } from "./approvals.ts";

/** What whoever was asked is told of an answer that came before theirs, in one line that ends a sentence. */
export function describeOutrun(answer: ApprovalAnswer | undefined): string {
  if (answer === undefined) return "it was answered by another way, and the first answer counts";
  const { decision, by, how } = answer;
  const what = decision === "denied" ? "denied" : "approved";
  const way = how === undefined ? "" : ` (${how})`;
  return unmistakableLine(`it was ${what} by ${by}${way}, and the first answer counts`);
}
