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

  it("answer what a person would be asked where the policy names a reviewer, and nothing else", async () => {
    const REVIEW = `
      let text = "";
      process.stdin.on("data", (part) => (text += part)).on("end", () => {
        const { type, data } = JSON.parse(text);
        const said = JSON.stringify(data.arguments);
        if (type === "call") return console.log(JSON.stringify({ decision: said.includes("check") ? "ask" : "allow" }));
        console.log(JSON.stringify({ decision: /no/.test(said) ? "deny" : /hm/.test(said) ? "ask" : "allow", reason: "by a word" }));
      });`;
    const tools = [...TOOLS, toolNamed("drop", { annotations: { destructiveHint: true } })];
    const served = await serveProject(tools, {
      ...SETTINGS,
      approvals: {
        ask: ["mcp__desk__*"],
        reviewer: { by: "own", tools: ["mcp__desk__*", "mcp__desk__send"] },
      },
      interceptors: [
        {
          name: "own",
          on: ["call", "question"],
          command: [process.execPath, "-e", REVIEW],
          timeout_seconds: 60,
        },
      ],
    });
    const questions: string[] = [];
    const { call } = await connect(served, (message) => {
      questions.push(message);
      return { action: "accept", content: { decision: "deny" } };
    });
    const failsWith = async (tool: string, said: string) => {
      const { isError, content } = await call(tool, text(said));
      return isError === true ? textsOf({ content }) : "";
    };
    expect(await failsWith("mcp__desk__send", "fine")).toBe("");
    expect(await failsWith("mcp__desk__send", "no")).toContain("interceptors.own refuses it: by a word");
    expect(questions).toEqual([]);
    // It leaves this one to a person, a check of the call wants a person, and a pattern does not name what destroys.
    expect(await failsWith("mcp__desk__send", "hm")).toContain("needs an approval");
    expect(await failsWith("mcp__desk__send", "check")).toContain("needs an approval");
    expect(await failsWith("mcp__desk__drop", "fine")).toContain("needs an approval");
    expect(questions).toHaveLength(3);
    expect(questions[0]).toContain("interceptors.own leaves it to a person: by a word");
    const decisions = served.auditLines().filter(({ event }) => event === "decision");
    expect(decisions).toContainEqual(
      expect.objectContaining({ decision: "ask", rule: "interceptors.own", reason: "by a word" }),
    );
    const approvals = served.auditLines().filter(({ event }) => event === "approval");
    expect(approvals.map(({ decision, approver, how }) => [decision, approver, how])).toEqual([
      ["approved", "interceptors.own", "approvals.reviewer: by a word"],
      ["denied", "interceptors.own", "approvals.reviewer: by a word"],
      ...Array.from({ length: 3 }, () => [
        "denied",
        expect.not.stringContaining("interceptors"),
        expect.anything(),
      ]),
    ]);
  });

  it("decide calls from the moment when they are configured", async () => {
    const served = await serveProject(TOOLS, { ...SETTINGS, interceptors: [] });
    const { call } = await connect(served);
    expect(textsOf(await call("mcp__desk__send", text("stop")))).toBe("stop");
    served.project.write("ptc.yaml", { ...served.configured, interceptors: SETTINGS.interceptors });
    expect(textsOf(await call("mcp__desk__send", text("stop")))).toContain("interceptors.dlp refuses it");
  });
});
