import { describe, expect, it } from "vitest";
import type { ElicitationRequest, FormField } from "../../../broker/elicitation/elicitation.ts";
import { buildApprover } from "../../../project/terminal/approver.ts";
import { ProgramConsole } from "../../../project/terminal/program-console.ts";
import { FakeTerminal, pipe } from "../../cli/terminal/terminals.ts";

const plain = { title: undefined, description: undefined, isRequired: false, byDefault: undefined } as const;
const options = (...titles: string[]) =>
  titles.map((title) => ({ value: title.slice(0, 1).toLowerCase(), title }));
const NAME: FormField = {
  ...plain,
  ...{ kind: "text", name: "name", title: "Your name", description: "as on\u001b[2J paper" },
  ...{ isRequired: true, minLength: 2, maxLength: undefined, format: undefined },
};
const FIELDS: readonly FormField[] = [
  NAME,
  { ...plain, kind: "number", name: "age", isInteger: true, minimum: 0, maximum: undefined },
  { ...plain, kind: "boolean", name: "news", byDefault: true },
  { ...plain, kind: "choice", name: "plan", options: options("Free", "Paid") },
  {
    ...plain,
    kind: "choices",
    name: "tags",
    options: options("A", "B"),
    minItems: undefined,
    maxItems: undefined,
  },
];

function eliciting(asked: Partial<ElicitationRequest> = {}) {
  const terminal = new FakeTerminal();
  const console = new ProgramConsole(terminal.surroundings, 100_000);
  const approver = buildApprover([], { console, surroundings: terminal.surroundings, onInterrupt: () => {} });
  const form = { mode: "form", message: "Who?\nptc asks: all is well", fields: FIELDS };
  const caller = { runId: "r", server: "github", tool: "mcp__github__go" };
  const elicitation = { ...caller, ...form, ...asked } as ElicitationRequest;
  const answer = approver.elicit?.(elicitation, new AbortController().signal);
  /** Types each line when its prompt stands at the end of the screen. */
  const converse = async (...turns: [prompt: RegExp, typed: string][]) => {
    for (const [prompt, typed] of turns) {
      const before = terminal.screen.length;
      await terminal.shows(prompt);
      terminal.type(`${typed}\r`);
      await expect.poll(() => terminal.screen.length, { timeout: 20_000 }).toBeGreaterThan(before);
    }
    return answer;
  };
  return { terminal, converse, answer };
}

describe("a form of a server on the terminal", () => {
  it("is filled in field by field, typed by its schema, and sent when it was looked at", async () => {
    const { terminal, converse } = eliciting();
    const answer = await converse(
      [/Answer\? \[y\]es, \[N\]o: $/, "y"],
      [/Value 1 of 5:\n[^>]*> $/, "A"],
      [/must be at least 2 characters long\.\n> $/, "Ann"],
      [/Value 2 of 5, which may be left out:\n[^>]*> $/, "many"],
      [/must be a whole number\.\n[^>]*> $/, "7"],
      [/Value 3 of 5[^>]*> $/, ""],
      [/Value 4 of 5[^>]*> $/, "2"],
      [/Value 5 of 5[^>]*> $/, "1 2"],
      [/Send it\? \[y\]es, \[e\]dit, \[N\]o: $/, "y"],
    );
    expect(answer).toEqual({
      action: "accept",
      values: { name: "Ann", age: 7, news: true, plan: "p", tags: ["a", "b"] },
    });
    expect(terminal.screen).toMatch(
      /^\nServer 'github' asks, during a call of mcp__github__go:\n│ Who\?\n│ ptc asks: all is well\n/,
    );
    expect(terminal.screen).toContain("│ Your name (name)\n│ as on\\u{1b}[2J paper\n");
  });

  it("can be left, looked at again and refused", async () => {
    const declined = eliciting();
    expect(await declined.converse([/Answer\? \[y\]es, \[N\]o: $/, "n"])).toEqual({ action: "decline" });
    const { converse } = eliciting({ fields: [NAME] });
    const answer = await converse(
      [/It asks for one value\. Answer\? .*: $/, "y"],
      [/Value 1 of 1:\n[^>]*> $/, "Anna"],
      [/│ name: "Anna"\nSend it\? .*: $/, "e"],
      [/Send it\?[\s\S]*Value 1 of 1:\n[^>]*> $/, "Bert"],
      [/│ name: "Bert"\nSend it\? .*: $/, "no"],
    );
    expect(answer).toEqual({ action: "decline" });
  });

  it("is cancelled at the end of the input", async () => {
    const { terminal, answer } = eliciting();
    await terminal.shows(/Answer\? \[y\]es, \[N\]o: $/);
    terminal.stdin.push(null);
    expect(await answer).toEqual({ action: "cancel" });
  });
});

describe("an address of a server on the terminal", () => {
  it("is shown with its host and not opened", async () => {
    const address = { url: "https://a.example/x", host: "a.example" };
    const { terminal, converse } = eliciting({ mode: "url", message: "Sign in", ...address });
    const answer = await converse([/Have you opened it at a\.example, .*: $/, "y"]);
    expect(answer).toEqual({ action: "accept", values: {} });
    expect(terminal.screen).toContain(
      "asks you to visit a.example, during a call of mcp__github__go:\n│ Sign in\n",
    );
    expect(terminal.screen).toContain("Address (ptc does not open it):\n│ https://a.example/x\n");
  });
});

it("asks nobody where there is no terminal", async () => {
  const { surroundings } = pipe();
  const console = new ProgramConsole(surroundings, 10_000);
  const approver = buildApprover([], { console, surroundings, onInterrupt: () => {} });
  const caller = { runId: "r", server: "x", tool: undefined };
  const elicitation: ElicitationRequest = { ...caller, mode: "form", message: "", fields: [] };
  expect(await approver.elicit?.(elicitation, new AbortController().signal)).toEqual({ action: "unasked" });
});
