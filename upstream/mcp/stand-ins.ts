import type { JsonRpcMessage } from "./message-transport.ts";

/** What the MCP client is given in the place of results that are kept as they came, because its own schemas would reject some. */

const LIST = { resultType: "complete", ttlMs: 0, cacheScope: "private" };

const STAND_INS: Readonly<Record<string, JsonRpcMessage>> = {
  "tools/list": { ...LIST, tools: [] },
  "tools/call": { resultType: "complete", content: [] },
  "resources/list": { ...LIST, resources: [] },
  "resources/templates/list": { ...LIST, resourceTemplates: [] },
  "resources/read": { ...LIST, contents: [] },
  "prompts/list": { ...LIST, prompts: [] },
  "prompts/get": { resultType: "complete", messages: [] },
  "tasks/get": { resultType: "complete" },
  "tasks/result": { resultType: "complete" },
  "tasks/update": { resultType: "complete" },
  "tasks/cancel": { resultType: "complete" },
};

/** The stand-in for results of a method; `undefined` for a method whose results the client reads itself. */
export function standInOf(method: string): JsonRpcMessage | undefined {
  return Object.hasOwn(STAND_INS, method) ? STAND_INS[method] : undefined;
}
