import { buildApprovalForm } from "./approval-question.ts";
import { buildInquiryForm, buildVisit } from "./inquiry-question.ts";
import type { Question } from "./questions.ts";

/** What a client is to show. One that shows no addresses of its own accord shows them in the text of a form. */
export function buildQuestion(question: Question, canVisit: boolean) {
  if (question.kind === "approval") return buildApprovalForm(question.request);
  const { inquiry } = question;
  return inquiry.mode === "url" && canVisit ? buildVisit(inquiry) : buildInquiryForm(inquiry);
}
