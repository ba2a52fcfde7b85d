import { describe, expect, it } from "vitest";
import { digestOf } from "../../../../protocol/canonical-json.ts";
import { connect, DESK, serveProject, toolNamed } from "./serve-project.ts";

const TOOLS = [toolNamed("read", { annotations: { readOnlyHint: true } }), toolNamed("send")];
const textsOf = ({ content }: { content: { text?: string }[] }) => content.map(({ text }) => text).join("\n");
const text = (said: string) => ({ answer: { content: [{ type: "text", text: said }] } });

/** Masks the word `secret` in results, asks about calls with the word `ask`, refuses those with `stop`, and replaces `swap`. */
const SCRIPT = `
  let text = "";
  process.stdin.on("data", (part) => (text += part)).on("end", () => {
    const { type, data } = JSON.parse(text);
    const said = JSON.stringify(type === "call" ? data.arguments : data.result);
    if (type === "result")
      console.log(said.includes("secret") ? '{"decision":"replace","data":"masked"}' : '{"decision":"allow"}');
    else if (said.includes("swap")) console.log(JSON.stringify({ decision: "replace", arguments: JSON.parse(said.replace("swap", "bob")) }));
    else console.log(JSON.stringify({ decision: /stop/.test(said) ? "deny" : /ask/.test(said) ? "ask" : "allow", reason: "by a word" }));
  });`;
const SETTINGS = {
  servers: [DESK],
  discovery: "direct",
  interceptors: [
    { name: "dlp", on: ["call", "result"], command: [process.execPath, "-e", SCRIPT], timeout_seconds: 60 },
  ],
};

describe("checks of others", () => {
  it("hold for direct calls, whose client gets nothing of what they replace", async () => {
    const served = await serveProject(TOOLS, SETTINGS);
    const questions: string[] = [];
    const { call } = await connect(served, (message) => {
      questions.push(message);
      return { action: "accept", content: { decision: "once" } };
    });
    expect(textsOf(await call("mcp__desk__read", text("fine")))).toBe("fine");
    const masked = await call("mcp__desk__read", text("a secret word"));
    expect(JSON.stringify(masked)).not.toContain("secret");
    expect(textsOf(masked)).toBe("masked");
    const stopped = await call("mcp__desk__send", text("stop"));
    expect(stopped.isError).toBe(true);
    expect(textsOf(stopped)).toContain("was not called: interceptors.dlp refuses it: by a word");
    expect(textsOf(await call("mcp__desk__send", text("ask")))).toBe("ask");
    expect(questions).toEqual([expect.stringContaining("by a word")]);
    expect(textsOf(await call("mcp__desk__send", text("swap")))).toBe("bob");
    expect(served.auditLines()).toContainEqual(
      expect.objectContaining({ decision: "replace", arguments_digest: digestOf(text("bob")) }),
    );
    const decided = served.auditLines().filter(({ event }) => event === "decision");
    expect(decided.map(({ decision, rule }) => [decision, rule])).toEqual(
      expect.arrayContaining([
        ["replace", "interceptors.dlp"],
        ["deny", "interceptors.dlp"],
        ["ask", "interceptors.dlp"],
      ]),
    );
  });

  it("hold for the calls of programs", async () => {
    const served = await serveProject(TOOLS, SETTINGS, async ({ call }) => {
      const replies = [];
      for (const said of ["a secret word", "stop"]) {
        const reply = await call("mcp__desk__send", text(said));
        replies.push(reply.ok ? reply.data : reply.error.message);
      }
      return replies;
    });
    const { call } = await connect(served);
    const done = textsOf(await call("execute_program", { code: "null;" }));
    expect(done).toContain("masked");
    expect(done).toContain("interceptors.dlp refuses it");
    expect(done).not.toContain("secret");
  });

  it("decide calls from the moment when they are configured", async () => {
    const served = await serveProject(TOOLS, { ...SETTINGS, interceptors: [] });
    const { call } = await connect(served);
    expect(textsOf(await call("mcp__desk__send", text("stop")))).toBe("stop");
    served.project.write("ptc.yaml", { ...served.configured, interceptors: SETTINGS.interceptors });
    expect(textsOf(await call("mcp__desk__send", text("stop")))).toContain("interceptors.dlp refuses it");
  });
});
