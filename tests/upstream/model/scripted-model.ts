import type { IncomingHttpHeaders } from "node:http";
import { listen } from "../mcp/upstream-http-servers.ts";

/** What a scripted endpoint was asked. */
export interface ModelRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown> & { messages: { role: string; content: unknown }[] };
}

/** One answer: a status with a body, headers, or none at all. */
export type ScriptedAnswer =
  | { status?: number; headers?: Record<string, string>; body: unknown }
  | "silence"
  /** A byte now and then, without an end. */
  | "drip"
  | "hang up";

/** The answer of OpenAI's API with this text. */
export function completion(content: unknown, more: object = {}): ScriptedAnswer {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const choice = { index: 0, finish_reason: "stop", message: { role: "assistant", content: text }, ...more };
  return { body: { choices: [choice], usage: { prompt_tokens: 10, completion_tokens: 5 } } };
}

/** The answer of Anthropic's API with this input of its tool. */
export function toolUse(input: unknown, more: object = {}): ScriptedAnswer {
  const content = [{ type: "tool_use", id: "toolu_1", name: "give", input }];
  return {
    body: { content, stop_reason: "tool_use", usage: { input_tokens: 7, output_tokens: 3 }, ...more },
  };
}

/** An endpoint on the loopback that gives these answers in turn, the last one again and again, and notes what it was asked. */
export async function scriptedModel(
  answers: readonly (ScriptedAnswer | ((request: ModelRequest) => ScriptedAnswer))[],
) {
  const requests: ModelRequest[] = [];
  const url = await listen((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as ModelRequest["body"];
      const asked = { path: request.url ?? "", headers: request.headers, body };
      const scripted = answers[Math.min(requests.length, answers.length - 1)] ?? "silence";
      requests.push(asked);
      const answer = typeof scripted === "function" ? scripted(asked) : scripted;
      if (answer === "silence") return;
      if (answer === "drip") {
        const dripping = setInterval(() => response.write(" "), 20);
        response.once("close", () => clearInterval(dripping));
        return;
      }
      if (answer === "hang up") {
        response.destroy();
        return;
      }
      const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
      response.writeHead(answer.status ?? 200, { "content-type": "application/json", ...answer.headers });
      response.end(text);
    });
  });
  return { url, requests };
}
