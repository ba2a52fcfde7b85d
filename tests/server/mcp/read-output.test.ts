import { describe, expect, it } from "vitest";
import { answerReadOutput } from "../../../server/mcp/tools/read-output.ts";

const TEXT = `${Array.from({ length: 10_000 }, (_, i) => `line ${i}`).join("\n")}\n\u{1f600}{"name":"Needle (1)"}`;
const OUTPUTS = {
  read: async (run: string, { principal }: { principal: string }) =>
    run === "r" && principal === "me" ? TEXT : undefined,
};

const MAX_BYTES = 16_384;

async function read(args: { run?: string; offset?: number; grep?: string }, principal = "me", of = OUTPUTS) {
  const given = { run: "r", offset: 0, grep: undefined, ...args };
  const reply = await answerReadOutput(given, of, { principal }, MAX_BYTES);
  return { text: reply.content[0]?.text ?? "", isError: reply.isError ?? false };
}

describe("read_output", () => {
  it("gives all of an output, page by page", async () => {
    let whole = "";
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const { text } = await read({ offset });
      const end = text.lastIndexOf("\n[");
      whole += text.slice(0, end);
      offset = /next offset (\d+)\]$/.exec(text)?.slice(1).map(Number)[0];
    }
    expect(whole).toBe(TEXT);
  });

  it.each([
    ["letters", "a".repeat(50_000)],
    ["letters of two bytes", "é".repeat(50_000)],
    ["symbols of four bytes", `x${"\u{1f600}".repeat(20_000)}`],
    ["halves of characters", "\ud83d".repeat(20_000)],
  ])("gives %s in pages of at most as many bytes as a reply shows, and loses none", async (_, text) => {
    const outputs = { read: async () => text };
    let whole = "";
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const { text: page } = await read({ offset }, "me", outputs);
      const end = page.lastIndexOf("\n[");
      const shown = page.slice(0, end);
      expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(MAX_BYTES);
      whole += shown;
      offset = /next offset (\d+)\]$/.exec(page)?.slice(1).map(Number)[0];
    }
    expect(whole).toBe(text);
  });

  it("finds plain text, in capitals or not, and says where it is", async () => {
    const { text } = await read({ grep: "needle (1)" });
    const [, offset = ""] = /^(\d+): .*"name":"Needle \(1\)"\}\n\[the end\]$/u.exec(text) ?? [];
    expect((await read({ offset: Number(offset) })).text).toContain("Needle (1)");
    expect((await read({ grep: "line.1" })).text).toBe("[nothing from offset 0 has this text]");
    const many = (await read({ grep: "line" })).text;
    const [, next = ""] = /\n\[more from offset (\d+)\]$/.exec(many) ?? [];
    expect(Number(next)).toBeGreaterThan(5_000);
    expect(many.length).toBeLessThan(MAX_BYTES + 100);
  });

  it("says in one line what is not there", async () => {
    for (const [args, principal, message] of [
      [{ run: "x\ny" }, "me", "there is no run x y; give the id that a reply named"],
      [{}, "somebody else", "there is no run r; give the id that a reply named"],
      [{ offset: 10_000_000 }, "me", `the output has only ${TEXT.length} characters`],
    ] as const)
      expect(await read(args, principal)).toEqual({ text: message, isError: true });
  });
});
