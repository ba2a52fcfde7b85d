/**
 * What the approval mechanisms of the SDKs have in common. A program whose call needs an approval is suspended, and its reply has a
 * ticket. The model goes on with it by calling `execute_program` with the ticket, and that call is what an SDK asks its user about.
 * A ticket stands for one question: a tool, its definition and a digest of its arguments. A yes is valid for that question alone, and once.
 */

import { isObject } from "../../base/json.ts";
import { unmistakableLine } from "../../base/unmistakable-line.ts";
import { renderAskedArguments, renderOrigins } from "../../broker/approvals/approval-text.ts";
import { renderTicket, ticketIn } from "../../server/mcp/tools/own-tools.ts";
import {
  type CallOptions,
  type PendingApproval,
  type Ptc,
  PtcError,
  type ToolReply,
  type Waiting,
} from "../api.ts";

/** The question whose program a tool call continues; `undefined` if it continues none, or the question needs no answer any more. */
export async function questionOf(
  ptc: Ptc,
  tool: string,
  args: unknown,
  { principal }: Pick<CallOptions, "principal">,
): Promise<PendingApproval | undefined> {
  if (tool !== "execute_program" || !isObject(args) || typeof args.code !== "string") return undefined;
  const ticket = ticketIn({ code: args.code });
  if (ticket === undefined) return undefined;
  const waiting = await ptc.approvals(principal === undefined ? {} : { principal });
  return waiting.find((each) => each.ticket === ticket && !each.isAnswered);
}

/** A question as a person reads it. Two questions read alike only if they are about the same call, as far as it is shown. */
export function describeQuestion({ ticket, question }: PendingApproval): string {
  const { tool, arguments: args, reason, origins = [] } = question;
  const { text, rest } = renderAskedArguments(args, ticket);
  return [
    `A program wants to call ${unmistakableLine(tool)} with`,
    text,
    ...(rest === undefined ? [] : [rest]),
    ...(reason === undefined ? [] : [`Asked because ${unmistakableLine(reason)}`]),
    ...renderOrigins([...origins]),
  ].join("\n");
}

/** Answers a question. If somebody else answered first, or it has expired, the reply to the ticket says so. */
export async function answerQuestion(
  ptc: Ptc,
  { ticket }: Pick<PendingApproval, "ticket">,
  answer: { readonly allow: boolean; readonly by: string; readonly reason?: string },
  { principal }: Pick<CallOptions, "principal">,
): Promise<void> {
  try {
    await ptc.answer(ticket, answer, principal === undefined ? {} : { principal });
  } catch (error) {
    if (!(error instanceof PtcError) || error.code === "closed") throw error;
  }
}

/** What a model reads about a program that waits, if its SDK asks the user before the program continues. */
export function describeGoingOn({ tool, ticket }: Pick<Waiting, "tool" | "ticket">): string {
  return [
    "[Script waits for an approval]",
    `${unmistakableLine(tool)} is not called before the user approves it. Call execute_program ${JSON.stringify({ code: renderTicket(ticket) })} now: the user is asked, and the program continues from here. Do not run it again: what it has called stays called.`,
  ].join("\n");
}

/** The reply about a program that waits, for a model whose SDK asks the user before the program continues. */
export function askedByGoingOn(reply: ToolReply): ToolReply {
  const { waiting, content } = reply;
  if (waiting === undefined) return reply;
  const text = describeGoingOn(waiting);
  const rest = content.slice(1);
  return {
    ...reply,
    content: [{ type: "text", text }, ...rest],
    text: [text, ...rest.flatMap((block) => (block.type === "text" ? block.text : []))].join("\n"),
  };
}
