import { unmistakableLine } from "../../base/text/unmistakable-line.ts";
import type { ApprovalRequest } from "./approvals.ts";

const MAX_CLAIM_CHARS = 2_000;

/**
 * What a tool's server says of it, for the person who decides about a call: a heading in ptc's words, and the server's lines,
 * bounded, which whoever shows them marks as such. Nothing where it says nothing.
 */
export function renderClaims(
  claims: ApprovalRequest["claims"],
): { heading: string; said: string[] } | undefined {
  if (claims === undefined) return undefined;
  const { server, description, annotations } = claims;
  const said = [
    ...(description === undefined || description === "" ? [] : [description]),
    ...(annotations === undefined ? [] : [JSON.stringify(annotations)]),
  ].flatMap((text) => bound(text).split(/\r?\n/).map(unmistakableLine));
  if (said.length === 0) return undefined;
  return {
    heading: `Its server '${unmistakableLine(server)}' says of this tool, which nobody has checked:`,
    said,
  };
}

function bound(text: string): string {
  const rest = text.length - MAX_CLAIM_CHARS;
  return rest <= 0 ? text : `${text.slice(0, MAX_CLAIM_CHARS)} ... (${rest} more characters)`;
}
