import { describe, expect, it } from "vitest";
import { RunApprovals } from "../../../broker/approvals/approvals.ts";
import { type CallOutcome, Dispatcher } from "../../../broker/dispatcher.ts";
import { type Authorizer, type Decision, PolicyAuthorizer } from "../../../broker/policy/authorizer.ts";
import type { Tool } from "../../../catalog/tool.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import { toolOf } from "../../catalog/tool-of.ts";

const READ = "mcp__files__read";
const BOB: RunContext = { principal: "bob", source: "serve", session: "s-1" };

/** Asks a service of its own: nobody but Ada reads salaries, and when it is out of order nothing can be decided. */
class AskingAuthorizer implements Authorizer {
  readonly asked: unknown[] = [];
  isDown = false;

  async authorize(context: RunContext, tool: Tool, args: unknown): Promise<Decision> {
    await new Promise((resolve) => setImmediate(resolve));
    this.asked.push([context, tool.namespacedName, args]);
    if (this.isDown) throw new Error("the policy service\ndoes not answer");
    const { path } = args as { path: string };
    if (path === "hidden") return { kind: "unavailable" };
    if (path === "salaries" && context.principal !== "ada")
      return { kind: "deny", reason: `${context.principal} may not read ${path}` };
    return { kind: "allow" };
  }

  isVisible(): boolean {
    return true;
  }
}

function dispatching(context: RunContext, authorizer: Authorizer) {
  const connected: string[] = [];
  const dispatcher = new Dispatcher({
    context,
    authorizer,
    tools: new Map([[READ, toolOf("files", "read", { definitionDigest: "d" })]]),
    servers: {
      async connect(server) {
        connected.push(server);
        return {
          definitionDigest: () => "d",
          call: async () => ({ content: [{ type: "text", text: "hi" }] }),
        };
      },
    },
    validator: { check: async () => undefined, close: async () => {} },
  });
  const approvals = new RunApprovals("run-1", { ask: async () => ({ decision: "denied", by: "nobody" }) });
  const { signal } = new AbortController();
  const read = (path: string) =>
    dispatcher.dispatch({ tool: READ, arguments: { path } }, { approvals, signal });
  return { read, connected };
}

const messageOf = (outcome: CallOutcome) => (outcome.ok ? undefined : outcome.error.message);

describe("an authorizer", () => {
  it("decides by who runs the program and by the arguments of the call", async () => {
    const authorizer = new AskingAuthorizer();
    const bobs = dispatching(BOB, authorizer);
    expect(await bobs.read("notes")).toMatchObject({ ok: true, decision: "allowed" });
    const message = `'${READ}' was not called: bob may not read salaries`;
    const error = { type: "ToolError", message, retryable: false };
    expect(await bobs.read("salaries")).toMatchObject({ ok: false, decision: "forbidden", error });
    expect(messageOf(await bobs.read("hidden"))).toBe(`'${READ}' is not available in execute_program`);
    expect(bobs.connected, "nothing is done for a call that is refused").toEqual(["files"]);
    const adas = dispatching({ principal: "ada", source: "run" }, authorizer);
    expect(await adas.read("salaries")).toMatchObject({ ok: true });
    const asked = [{ principal: "ada", source: "run" }, READ, { path: "salaries" }];
    expect(authorizer.asked.at(-1)).toEqual(asked);
  });

  it("that cannot decide has the call denied, and later calls go on", async () => {
    const authorizer = new AskingAuthorizer();
    const { read, connected } = dispatching(BOB, authorizer);
    authorizer.isDown = true;
    const denied = await read("notes");
    expect(denied).toMatchObject({ ok: false, decision: "forbidden" });
    expect(messageOf(denied)).toBe(
      `'${READ}' was not called: whether it may be could not be decided (the policy service does not answer)`,
    );
    expect(connected).toEqual([]);
    authorizer.isDown = false;
    expect(await read("notes")).toMatchObject({ ok: true });
  });
});

describe("the lists of ptc.yaml", () => {
  const lists = { block: ["mcp__files__drop"], ask: ["mcp__files__read"], neverAsk: [] };
  const authorizer = new PolicyAuthorizer({ allow: undefined, ...lists, byDefault: "annotated" });

  it.each([
    ["read", { kind: "ask", rule: "approvals.ask: mcp__files__read" }, true],
    ["list", { kind: "allow" }, true],
    ["drop", { kind: "unavailable", rule: "tools.block: mcp__files__drop" }, false],
  ])("are the same for everybody (%s), and named", async (name, decision, isVisible) => {
    for (const principal of ["local", "bob"]) {
      const tool = toolOf("files", name);
      expect(await authorizer.authorize({ principal, source: "run" }, tool)).toEqual(decision);
      expect(authorizer.isVisible({ principal }, tool)).toBe(isVisible);
    }
  });

  it("show a tool that is asked for", () => {
    const tool = toolOf("files", "read", { annotations: { destructiveHint: true } });
    expect(authorizer.isVisible({ principal: "local" }, tool)).toBe(true);
  });
});
