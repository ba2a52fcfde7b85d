import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import * as z from "zod";

/** What a model says in one turn: it calls a tool, or it ends with a text. */
export type Turn = { tool: string; input: object } | { text: string };

const ModelRequest = z.object({
  stream: z.literal(true),
  tools: z.array(
    z.looseObject({ name: z.string(), description: z.string().optional(), input_schema: z.unknown() }),
  ),
  messages: z.array(z.object({ role: z.string(), content: z.unknown() })),
});
type ModelRequest = z.infer<typeof ModelRequest>;

const ToolResults = z.array(
  z.object({
    type: z.literal("tool_result"),
    content: z.union([z.string(), z.array(z.object({ type: z.literal("text"), text: z.string() }))]),
    is_error: z.boolean().optional(),
  }),
);

/** A scripted stand-in for the Messages API, streamed, on the loopback. It refuses to be a proxy. */
export interface ModelApi {
  origin: string;
  /** The requests that turns have answered, in order. */
  requests: ModelRequest[];
  /** What else was asked for: other paths, other hosts, requests beyond the last turn. */
  strays: string[];
}

/**
 * Serves the turns, one a request, until the test is over.
 *
 * @param turns what it says, which may depend on what it was told.
 * @param idle what it says to requests that come before there are tools of MCP servers, or after the last turn. Without it,
 * such requests are not told apart.
 */
export async function serveModel(
  turns: readonly (Turn | ((told: string) => Turn))[],
  idle?: string,
): Promise<ModelApi> {
  const requests: ModelRequest[] = [];
  const strays: string[] = [];
  const isEarly = ({ tools }: ModelRequest) =>
    idle !== undefined && !tools.some(({ name }) => name.startsWith("mcp__"));
  const server = createServer(async (request, response) => {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk);
    const turn = turns[requests.length] ?? (idle === undefined ? undefined : { text: idle });
    if (request.method !== "POST" || !/^\/v1\/messages(?:\?|$)/.test(request.url ?? "") || !turn) {
      strays.push(`${request.method} ${request.url}`);
      response.writeHead(403).end();
      return;
    }
    const parsed = ModelRequest.parse(JSON.parse(Buffer.concat(body).toString()));
    if (isEarly(parsed)) return stream(response, { text: idle ?? "" }, 0);
    requests.push(parsed);
    const said = typeof turn === "function" ? turn(JSON.stringify(parsed.messages)) : turn;
    stream(response, said, requests.length);
  });
  server.on("connect", ({ url }, socket) => {
    strays.push(`CONNECT ${url}`);
    socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, strays };
}

/** The events of "Streaming messages" in the API's reference, for a message of one block. */
function stream(response: ServerResponse, turn: Turn, number: number): void {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const [block, delta, stopReason] =
    "tool" in turn
      ? [
          { type: "tool_use", id: `toolu_${number}`, name: turn.tool, input: {} },
          { type: "input_json_delta", partial_json: JSON.stringify(turn.input) },
          "tool_use",
        ]
      : [{ type: "text", text: "" }, { type: "text_delta", text: turn.text }, "end_turn"];
  const id = `msg_${number}`;
  const message = { id, type: "message", role: "assistant", model: "scripted", content: [], usage };
  const events = [
    { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null } },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: stopReason, stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}

/** The result that a request hands the model for the tool it called last, as the model sees it. */
export function toolResultOf({ messages }: ModelRequest): { text: string; isError: boolean } {
  const last = messages.findLast(({ role }) => role === "user");
  const [result] = ToolResults.parse(last?.content);
  if (result === undefined) throw new Error("the request holds no tool result");
  const text =
    typeof result.content === "string" ? result.content : result.content.map(({ text }) => text).join("");
  return { text, isError: result.is_error ?? false };
}
