import { describe, expect, it } from "vitest";
import { normalizeResult } from "../../../../broker/normalize-result.ts";
import type { ReplyMessage } from "../../../../protocol/messages.ts";
import type { Channel } from "../../../../runner-image/node/channel.ts";
import { bindTools, ToolError } from "../../../../runner-image/node/functions/tools.ts";

const NAME = "mcp__demo__get_x";
const FAILED = { type: "ToolError", server: "demo", tool: "get_x", retryable: false } as const;

/** A host whose one server gives this MCP result. */
function hostAnswering(result: unknown) {
  const call = async (_tool: string, _args: unknown, raw: boolean): Promise<ReplyMessage> => {
    const normalized = normalizeResult(result);
    const sent = raw ? { raw: result } : {};
    if (normalized.ok) return { type: "reply", id: 0, ok: true, data: normalized.data, ...sent };
    const error = { ...FAILED, message: normalized.message };
    return { type: "reply", id: 0, ok: false, error, ...sent };
  };
  return bindTools({ call } as unknown as Channel);
}

const text = (value: string) => ({ type: "text", text: value });
const image = { type: "image", data: "AAAA", mimeType: "image/png" };
const audio = { type: "audio", data: "AAAA", mimeType: "audio/wav" };
const resource = { type: "resource", resource: { uri: "demo://a", text: "a" } };

describe("a tool's function", () => {
  it.each<[string, object, unknown]>([
    ["structured content", { content: [text("{}")], structuredContent: { a: 1 } }, { a: 1 }],
    ["text", { content: [text("hello")] }, "hello"],
    ["JSON text", { content: [text('{"a":[1]}')] }, { a: [1] }],
    ["an image", { content: [image] }, [image]],
    ["audio", { content: [audio] }, [audio]],
    ["a resource", { content: [resource] }, [resource]],
    ["mixed content", { content: [text("1"), image, audio, resource] }, [text("1"), image, audio, resource]],
  ])(
    "gives %s in both of its forms, and the MCP result in the one that never throws",
    async (_what, raw, data) => {
      const { tool, callTool } = hostAnswering(raw);
      const getX = tool(NAME);
      expect(await getX({})).toEqual(data);
      expect(await callTool(NAME, {})).toEqual(data);
      expect(await getX.result({})).toEqual({ ok: true, data, raw });
    },
  );

  it("throws what its server reports as an error, or returns it with the MCP result", async () => {
    const raw = { isError: true, content: [text("no such x"), image] };
    const getX = hostAnswering(raw).tool(NAME);
    const { type: name, ...others } = FAILED;
    const fields = { name, ...others, message: "no such x" };
    const thrown: unknown = await getX({}).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(ToolError);
    expect(thrown).toMatchObject(fields);
    expect(await getX.result({})).toEqual({ ok: false, error: expect.objectContaining(fields), raw });
  });

  it("returns what cannot be sent as an error without an MCP result", async () => {
    const call = () => Promise.reject(new TypeError("a BigInt has no JSON"));
    const getX = bindTools({ call } as unknown as Channel).tool(NAME);
    await expect(getX({})).rejects.toThrow(/was not called: .*BigInt/);
    const outcome = (await getX.result({})) as object;
    expect(outcome).toMatchObject({ ok: false, error: { server: "demo", tool: "get_x" } });
    expect(outcome).not.toHaveProperty("raw");
  });
});

it("gives what was answered with the error of a call that was made, and does not print it", async () => {
  const error = { ...FAILED, message: "made" };
  const data = { n: "1" };
  const call = async (): Promise<ReplyMessage> => ({ type: "reply", id: 0, ok: false, error, data });
  const getX = bindTools({ call } as unknown as Channel).tool(NAME);
  const thrown = await getX({}).catch((caught: unknown) => caught);
  expect(thrown).toMatchObject({ message: "made", data });
  expect(Object.keys(thrown as object)).not.toContain("data");
  expect(await getX.result({})).toMatchObject({ ok: false, data, error: { data } });
});
