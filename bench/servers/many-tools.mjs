/** An MCP server with as many tools as its argument says. It can only list and call them, so that it starts fast. */
import { createInterface } from "node:readline";

const count = Number(process.argv[2]);
const SUBJECTS = [
  "issue",
  "invoice",
  "document",
  "message",
  "customer",
  "build",
  "page",
  "event",
  "order",
  "report",
];
const VERBS = ["list", "get", "create", "update", "search", "archive", "export", "count", "merge", "verify"];

const tools = Array.from({ length: count }, (_, i) => {
  const verb = VERBS[i % 10];
  const subject = SUBJECTS[Math.floor(i / 10) % 10];
  return {
    name: `${verb}_${subject}_${i}`,
    description: `${verb} one ${subject} or several of collection ${i}`,
    inputSchema: {
      type: "object",
      properties: {
        id: { type: "string", description: `which ${subject}` },
        limit: { type: "integer", minimum: 1 },
      },
      required: ["id"],
    },
  };
});

const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "many-tools", version: "1.0.0" },
  }),
  "tools/list": () => ({ tools }),
  "tools/call": () => ({ content: [{ type: "text", text: "{}" }] }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = results[method];
  const outcome =
    answer === undefined
      ? { error: { code: -32601, message: "no such method" } }
      : { result: answer(params) };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...outcome })}\n`);
});
