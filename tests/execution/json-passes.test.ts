/** How often a call's values pass through JSON in this process, on their way to a server and back. */
import { expect, test, vi } from "vitest";
import { echoServer, servedProject } from "../project/served-project.ts";

const { texts } = vi.hoisted(() => {
  const texts: { parsed: string[]; printed: string[] } = { parsed: [], printed: [] };
  const { parse, stringify } = JSON;
  JSON.parse = ((text: string, ...more: []) => {
    texts.parsed.push(String(text));
    return parse(text, ...more);
  }) as typeof parse;
  JSON.stringify = ((...given: [unknown]) => {
    const text = stringify(...given);
    texts.printed.push(String(text));
    return text;
  }) as typeof stringify;
  return { texts };
});

test("what a program sends and what a server answers are parsed once, printed once, and printed once more for the record", async () => {
  const { open } = servedProject({ servers: [echoServer("x")], execution: { typecheck: "off" } });
  const text = `mark${process.pid}`;
  const { run } = await open({
    // The archive in files, whose thread does its part.
    archive: undefined,
    tools: 2,
    program: async (program) => {
      await program.call("mcp__x__echo", { text });
      return null;
    },
  });
  expect((await run()).envelope.result).toMatchObject({ ok: true });
  const counted = (kind: "parsed" | "printed") =>
    texts[kind].filter((each) => each.includes(text)).map((each) => each.replace(/"id":\d+/, '"id":0'));
  const call = `{"type":"call","id":0,"tool":"mcp__x__echo","arguments":{"text":"${text}"}}`;
  const reply = `{"type":"reply","id":0,"ok":true,"data":"${text}"}`;
  expect(counted("parsed")).toEqual([
    call,
    `{"content":[{"type":"text","text":"${text}"}]}`,
    // By the program, which is in this process.
    reply,
  ]);
  expect(counted("printed")).toEqual([
    // By the program.
    call,
    expect.stringMatching(`^{"jsonrpc":"2.0","method":"tools/call",.*"arguments":{"text":"${text}"}`),
    reply,
    // For the record: the argument, whose object is printed member by member, and the outcome.
    `"${text}"`,
    `{"ok":true,"data":"${text}"}`,
  ]);
});
