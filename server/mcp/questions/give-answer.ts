import { messageOf } from "../../../base/error-message.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import { parseApprovalAnswer } from "./approval-question.ts";
import type { ClientClaim } from "./asked-client.ts";
import { parseInquiryAnswer } from "./inquiry-question.ts";
import type { Question } from "./questions.ts";

const MAX_PROBLEM_CHARS = 300;

/** Gives a question what a client has answered. */
export function giveAnswer(question: Question, response: unknown, client: ClientClaim | undefined): void {
  if (question.kind === "approval") question.answer(parseApprovalAnswer(response, question.request, client));
  else question.answer(parseInquiryAnswer(question.inquiry, response));
}

/** Why a program ended whose question could not be put to anybody. */
export function failedToAsk(question: Question, error: unknown): string {
  const reason = oneLine(messageOf(error), MAX_PROBLEM_CHARS);
  const what =
    question.kind === "approval"
      ? `ask for an approval of ${oneLine(question.request.tool)}`
      : `put a question of server '${oneLine(question.inquiry.server)}' to its user`;
  return `The program was cancelled because the client could not ${what}: ${reason}`;
}
