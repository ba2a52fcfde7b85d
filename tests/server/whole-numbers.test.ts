/** Whole numbers beyond 2^53 in what clients send and get. */
import { expect, test } from "vitest";
import { writeJson } from "../../base/json.ts";
import { modern, serveHttpHere } from "./http/served-http.ts";
import { executed, serve, serviceOf } from "./mcp/served.ts";

const BIG = "1234567890123456789";
const ARGUMENTS = `{"code":"1","data":{"id":${BIG},"list":[-9007199254740993]}}`;
const WHOLE = '"data":{"id":1234567890123456789,"list":[-9007199254740993]}';
const SHOWN = '{\\"id\\":1234567890123456789,\\"list\\":[-9007199254740993]}';

type Run = Parameters<typeof serviceOf>[0];

/** Programs whose value is their data, as it came. */
function echoing(): { run: Run; given: string[] } {
  const given: string[] = [];
  const run: Run = async ({ data }) => {
    given.push(writeJson(data));
    return executed({ data });
  };
  return { run, given };
}

/** A call of `execute_program` as text, because `JSON.stringify` has no such number. */
function called(message: object): string {
  return JSON.stringify(message).replace('"ARGUMENTS"', ARGUMENTS);
}

const params = { name: "execute_program", arguments: "ARGUMENTS" };

test.each(["2026-07-28", "2025-11-25"])("keep their digits over Streamable HTTP of %s", async (revision) => {
  const { run, given } = echoing();
  const { url } = await serveHttpHere(serviceOf(run));
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": revision,
        ...headers,
      },
      body,
    });
  let answer: Response;
  if (revision === "2026-07-28") {
    const headers = { "Mcp-Method": "tools/call", "Mcp-Name": "execute_program" };
    answer = await post(called(modern("tools/call", params)), headers);
  } else {
    const clientInfo = { name: "raw", version: "1" };
    const hello = { protocolVersion: revision, capabilities: {}, clientInfo };
    const begun = await post(JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: hello }));
    await begun.text();
    const session = { "Mcp-Session-Id": begun.headers.get("mcp-session-id") ?? "" };
    answer = await post(called({ jsonrpc: "2.0", id: 1, method: "tools/call", params }), session);
  }
  const text = await answer.text();
  expect(given).toEqual([`{"id":${BIG},"list":[-9007199254740993]}`]);
  expect(text).toContain(WHOLE);
  expect(text).toContain(SHOWN);
});

test("keep their digits over stdio", async () => {
  const { run, given } = echoing();
  const { toServer, toClient } = serve(run);
  let text = "";
  toClient.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  toServer.write(`${called(modern("tools/call", params))}\n`);
  await expect.poll(() => text).toContain(WHOLE);
  expect(text).toContain(SHOWN);
  expect(given).toEqual([`{"id":${BIG},"list":[-9007199254740993]}`]);
});
