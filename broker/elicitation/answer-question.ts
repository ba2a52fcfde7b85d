import type { QuestionAnswer, ServerQuestion } from "../../upstream/upstream.ts";
import type { AskedElicitation, InquiryAnswer } from "./inquiry.ts";
import { parseElicitation } from "./parse-elicitation.ts";

export interface AskedBy {
  /** The configured name of the server. */
  server: string;
  /** The namespaced name of what is called. */
  tool: string;
}

/**
 * Puts a question of a server to a person, and gives what the server is sent. A refusal and no answer are passed on as what
 * they are; nothing is answered in a person's stead.
 */
export async function answerQuestion(
  { params, isCertain }: ServerQuestion,
  { server, tool }: AskedBy,
  inquire: (asked: AskedElicitation) => Promise<InquiryAnswer>,
  redact: (text: string) => string,
): Promise<QuestionAnswer> {
  const parsed = parseElicitation(params, redact);
  if (!parsed.ok) return { kind: "invalid", reason: parsed.problem };
  const { elicitation } = parsed;
  const answer = await inquire({ ...elicitation, server, tool: isCertain ? tool : undefined });
  switch (answer.action) {
    case "accept": {
      const content = elicitation.mode === "form" ? { content: answer.values } : {};
      return { kind: "answered", result: { action: "accept", ...content } };
    }
    case "decline":
    case "cancel":
      return { kind: "answered", result: { action: answer.action } };
    case "unasked": {
      const what = elicitation.mode === "form" ? "asks for an input" : `asks to visit ${elicitation.host}`;
      return {
        kind: "unasked",
        reason: `${what} in the middle of the call, which a person has to answer, and ${answer.why ?? "nobody can be asked here"}`,
      };
    }
  }
}
