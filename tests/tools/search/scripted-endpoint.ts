import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface Asked {
  path: string;
  authorization: string | undefined;
  body: { model: string; input: string[]; messages: { role: string; content: string }[] };
}

/** What an endpoint answers: JSON, or whatever it does with the response. */
type Answer = object | ((response: ServerResponse) => void);

/** An endpoint on the loopback that answers as it is told. */
export class ScriptedEndpoint {
  /** The base of its API. */
  url = "";
  readonly asked: Asked[] = [];
  #answer: (asked: Asked) => Answer;

  private constructor(answer: (asked: Asked) => Answer) {
    this.#answer = answer;
  }

  static async open(answer: (asked: Asked) => Answer = (asked) => embedByWords(asked.body.input)) {
    const endpoint = new ScriptedEndpoint(answer);
    const server = createServer((request, response) => void endpoint.#serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    endpoint.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return endpoint;
  }

  /** Answers so from now on. */
  answers(answer: (asked: Asked) => Answer): void {
    this.#answer = answer;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { authorization } = request.headers;
    const asked = { path: request.url ?? "", authorization, body: JSON.parse(text) };
    this.asked.push(asked);
    const answer = this.#answer(asked);
    if (typeof answer === "function") answer(response);
    else response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  }
}

/** Words that mean the same to the model of `embedByWords`. */
const MEANINGS = [
  ["rain", "umbrella", "weather", "forecast"],
  ["money", "invoice", "bill", "pay"],
  ["letter", "mail", "message", "send"],
  ["picture", "photo", "image"],
];

/** The answer of a model that knows a few meanings. @param dimensions of its vectors. */
export function embedByWords(texts: readonly string[], dimensions = 6): object {
  const data = texts.map((text, index) => {
    const embedding = new Array(dimensions).fill(0.01);
    for (const [meaning, words] of MEANINGS.entries()) {
      for (const word of words) if (text.toLowerCase().includes(word)) embedding[meaning] += 1;
    }
    return { object: "embedding", index, embedding };
  });
  return { object: "list", data: data.reverse() };
}
