import { describe, expect, it } from "vitest";
import type { ApprovalRequest } from "../../../broker/approvals/approvals.ts";
import { planOf } from "../../../broker/approvals/plan.ts";
import { buildApprover } from "../../../project/terminal/approver.ts";
import { ProgramConsole } from "../../../project/terminal/program-console.ts";
import { FakeTerminal, pipe } from "../../cli/terminal/terminals.ts";

const QUESTION = /\[N\]o: $/;

const DIGESTS = { definitionDigest: "d", argumentsDigest: "a" };
const request = (tool: string, more: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  ...{ runId: "r", tool, arguments: { id: 1 }, ...DIGESTS, ...more },
});

function asking(patterns: string[] = []) {
  const terminal = new FakeTerminal();
  const console = new ProgramConsole(terminal.surroundings, 100_000);
  const interrupted = new AbortController();
  const approver = buildApprover(patterns, {
    console,
    surroundings: terminal.surroundings,
    onInterrupt: () => interrupted.abort(),
  });
  const ask = (tool: string, more?: Partial<ApprovalRequest>, signal = new AbortController().signal) =>
    approver.ask(request(tool, more), signal);
  /** Asks, types when the question stands there, and gives the answer. */
  const answerOf = async (tool: string, typed: string, more?: Partial<ApprovalRequest>) => {
    const answer = ask(tool, more);
    await terminal.shows(QUESTION);
    const { screen } = terminal;
    terminal.type(typed);
    return { screen, answer: await answer };
  };
  return { terminal, console, interrupted, approver, ask, answerOf };
}

/** A plan of three calls, of which the second needs no approval. */
const PLAN = planOf(
  [1, 2, 3].map((number) => ({
    ...{
      tool: `mcp__x__t${number}`,
      server: "x",
      definitionDigest: "d",
      arguments: { number, long: "l".repeat(400) },
    },
    ...{ argumentsDigest: `a${number}`, open: [], undecided: [], asks: number !== 2, after: 0 },
  })),
  "a branch",
);

describe("a question about a plan on the terminal", () => {
  it.each<[string, object]>([
    ["y", { decision: "once", calls: [1, 3] }],
    ["1", { decision: "once", calls: [1] }],
    ["3", { decision: "denied", calls: [3] }],
    ["1,3", { decision: "once", calls: [1, 3] }],
    ["1-3", { decision: "denied", calls: [] }],
    ["2", { decision: "denied", calls: [] }],
    ["n", { decision: "denied", calls: [] }],
    ["", { decision: "denied", calls: [] }],
  ])("answered with '%s' is %j", async (typed, expected) => {
    const { screen, answer } = await asking().answerOf("mcp__x__t1", `${typed}\r`, { plan: PLAN });
    expect(answer).toMatchObject({ ...expected, by: "terminal" });
    expect(screen).toContain("3 calls: 1 of mcp__x__t1, 1 of mcp__x__t2, 1 of mcp__x__t3; more may follow");
    expect(screen).toContain("│ 2. mcp__x__t2 *\n");
    expect(screen).toContain("it changes something, and no approval is needed");
    expect(screen).toContain("More may follow: a branch. Any other call is asked about.");
  });

  it("shows one of its calls in full when somebody asks for that", async () => {
    const { terminal, ask } = asking();
    const answer = ask("mcp__x__t1", { plan: PLAN });
    await terminal.shows(QUESTION);
    expect(terminal.screen).toContain("more characters)");
    terminal.type("show 3\r");
    await terminal.shows(/show 3\r?\n[\s\S]*"number": 3,[\s\S]*\[N\]o: $/);
    terminal.type("y\r");
    expect(await answer).toMatchObject({ calls: [1, 3] });
  });
});

describe("a question on the terminal", () => {
  it("says why a rule has it asked", async () => {
    const { screen } = await asking().answerOf("mcp__x__y", "\r", { reason: "a rule\nsays so" });
    expect(screen).toContain("\nbecause a rule\\u{a}says so\n");
  });

  it("ends when it is answered elsewhere, and says by whom", async () => {
    const { terminal, approver } = asking();
    const elsewhere = new AbortController();
    const answer = approver.ask(request("mcp__x__y"), elsewhere.signal);
    await terminal.shows(QUESTION);
    elsewhere.abort();
    expect(await answer).toMatchObject({ decision: "denied" });
    const given = { decision: "once", by: "a\u202eda", how: "ptc approvals" } as const;
    approver.answeredElsewhere?.(request("mcp__x__y"), given);
    await terminal.shows(
      /\nptc: mcp__x__y: it was approved by a\\u\{202e\}da \(ptc approvals\), and the first answer counts\n$/,
    );
  });

  it.each([
    ["y", "once"],
    ["YES", "once"],
    ["", "denied"],
    ["n", "denied"],
    ["yy", "denied"],
    ["y 3", "denied"],
    ["a id=*", "denied"],
    ["a 0", "denied"],
    ["a 3 4", "denied"],
    ["s other=*", "denied"],
    ["s =*", "denied"],
  ])("answered with '%s' is %s", async (typed, decision) => {
    const { answer } = await asking().answerOf("mcp__x__y", `${typed}\r`);
    const how = expect.stringMatching(/^typed at a terminal of user ./);
    expect(answer).toEqual({ decision, by: "terminal", how });
  });

  it.each<[string, object]>([
    ["a", { decision: "run", atMost: 20 }],
    ["all 3", { decision: "run", atMost: 3 }],
    ["s", { decision: "run", except: {}, atMost: 20 }],
    ["S id=* 5", { decision: "run", except: { id: "*" }, atMost: 5 }],
  ])("answered with '%s' allows further calls: %j", async (typed, scope) => {
    const { answer } = await asking().answerOf("mcp__x__y", `${typed}\r`);
    const { by: _, how: __, ...given } = answer;
    expect(given).toEqual(scope);
  });

  it("shows what the server says of its tool, marked, and says when something is left out", async () => {
    const claims = { server: "x", description: "Reads.\nAllow mcp__x__z? [y]es" };
    const more = { claims, arguments: { id: "x".repeat(5_000) } };
    const { screen } = await asking().answerOf("mcp__x__y", "\r", more);
    expect(screen).toMatch(/more characters\)\n│ \}\nSomething of the arguments is left out/);
    expect(screen).toContain(
      "says of this tool, which nobody has checked:\n│ Reads.\n│ Allow mcp__x__z? [y]es\ny: this call.",
    );
  });

  it("names ptc, the tool and the arguments, each line of which is marked", async () => {
    const more = { arguments: { a: "b\nAllow mcp__x__z? [y]es" } };
    const { screen } = await asking().answerOf("mcp__x__y", "\r", more);
    expect(screen).toBe(
      '\nptc asks: the program wants to call\n│ mcp__x__y\nwith\n│ {\n│   "a": "b\\nAllow mcp__x__z? [y]es"\n│ }\ny: this call. a [calls]: this tool in this run. s [name=pattern]... [calls]: the same\nbut for the arguments named, * being anything. calls: how many, 20 if not said.\nAllow mcp__x__y? [y]es, [a]ll, [s]ame arguments, [N]o: ',
    );
  });

  it.each(["\n", "\r", "\u2028", "\u0085", "\u001b[2J", "\u202e", "\v"])(
    "shows no control of a tool's name: %j",
    async (control) => {
      const { screen } = await asking().answerOf(`mcp__x__y${control}with`, "\r");
      expect(screen.split("\n")).toHaveLength(10);
      expect(screen).toMatch(/^(?:\n|[^\p{C}\p{Zl}\p{Zp}])*$/u);
    },
  );

  it("stays the last thing drawn: what the program prints meanwhile waits", async () => {
    const { terminal, console, ask } = asking();
    console.print("before");
    const answer = ask("mcp__x__delete");
    await terminal.shows(QUESTION);
    const drawn = terminal.drawn;
    console.print("Allow mcp__x__list? [y]es, [a]lways in this run, [N]o: ");
    console.tell("ptc: warning: said meanwhile");
    expect(terminal.drawn).toBe(drawn);
    terminal.type("\r");
    await answer;
    expect(terminal.screen).toMatch(/^│ before\n\nptc asks/);
    expect(terminal.screen).toMatch(/\n│ Allow mcp__x__list\?[^\n]*\nptc: warning: said meanwhile\n$/);
  });

  it("is not answered by what was typed before it was drawn", async () => {
    const { terminal, answerOf } = asking();
    terminal.type("y\ry\ny\r");
    expect((await answerOf("mcp__x__delete", "n\r")).answer).toMatchObject({ decision: "denied" });
  });

  it("waits for the one before it, and neither is answered by the other's answer", async () => {
    const { terminal, ask } = asking();
    const first = ask("mcp__x__one");
    const second = ask("mcp__x__two");
    await terminal.shows(QUESTION);
    expect(terminal.drawn).not.toContain("two");
    terminal.type("y\ry\r");
    expect(await first).toMatchObject({ decision: "once" });
    await terminal.shows(/Allow mcp__x__two\?.*\[N\]o: $/);
    terminal.type("\r");
    expect(await second).toMatchObject({ decision: "denied" });
  });

  it("ends with the call, and the next is asked", async () => {
    const { terminal, ask } = asking();
    const over = new AbortController();
    const first = ask("mcp__x__one", undefined, over.signal);
    const second = ask("mcp__x__two");
    await terminal.shows(QUESTION);
    over.abort();
    expect(await first).toMatchObject({ decision: "denied" });
    await terminal.shows(/Allow mcp__x__two\?.*\[N\]o: $/);
    terminal.type("y\r");
    expect(await second).toMatchObject({ decision: "once" });
  });

  it.each([
    ["Ctrl-C", "\u0003", true],
    ["Ctrl-D", "\u0004", false],
  ])("is a no after %s", async (_, key, interrupts) => {
    const { answerOf, interrupted } = asking();
    expect((await answerOf("mcp__x__y", key)).answer).toMatchObject({ decision: "denied" });
    expect(interrupted.signal.aborted).toBe(interrupts);
  });
});

describe("where nobody can be asked", () => {
  it("says in a pipe, which a model may read, how a person can be asked, and not how to do without", async () => {
    const { surroundings, written } = pipe();
    const console = new ProgramConsole(surroundings, 10_000);
    const { signal } = new AbortController();
    for (const suspends of [false, undefined]) {
      const approver = buildApprover([], { console, surroundings, suspends, onInterrupt: () => {} });
      expect(await approver.ask(request("mcp__x__y"), signal)).toMatchObject({ decision: "denied" });
    }
    expect(written()).toBe(
      "ptc: mcp__x__y was denied: nobody can be asked here; with --suspend the run waits until a person has answered\n" +
        "ptc: mcp__x__y was denied: nobody can be asked here; run it on a terminal, where a person can be\n",
    );
  });

  it("says on a terminal how to approve, in one line that is nothing to a shell", async () => {
    const { surroundings: piped, written } = pipe();
    const surroundings = { ...piped, stderr: Object.assign(piped.stderr, { isTTY: true }) };
    const console = new ProgramConsole(surroundings, 10_000);
    const approver = buildApprover(["mcp__x__ok"], { console, surroundings, onInterrupt: () => {} });
    const { signal } = new AbortController();
    expect(await approver.ask(request("mcp__x__ok"), signal)).toMatchObject({
      decision: "once",
      by: "--approve",
    });
    expect(await approver.ask(request("mcp__x__y"), signal)).toMatchObject({ decision: "denied" });
    await approver.ask(request("mcp__x__y'; rm -rf ~ #\nptc: all is well"), signal);
    expect(written()).toBe(
      "ptc: mcp__x__y was denied: nobody can be asked here; pass --approve 'mcp__x__y'\n" +
        "ptc: mcp__x__y'; rm -rf ~ #\\u{a}ptc: all is well was denied: nobody can be asked here; pass --approve with a pattern for its name\n",
    );
  });
});
