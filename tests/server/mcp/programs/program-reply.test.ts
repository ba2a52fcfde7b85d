import { describe, expect, it } from "vitest";
import { TYPESCRIPT_PRINTER as PRINTER } from "../../../../codegen/typescript/typescript-printer.ts";
import type { ObservedCall } from "../../../../execution/call-log.ts";
import { buildFailure } from "../../../../protocol/failure.ts";
import { ClientNotices } from "../../../../server/mcp/programs/client-request.ts";
import { buildProgramReply, endOfProgram, hintsFor } from "../../../../server/mcp/programs/program-reply.ts";
import { serversOf } from "../../../catalog/tool-of.ts";
import { CONNECT } from "../clients.ts";
import { executed, serve, viewOf } from "../served.ts";

const CONTEXT = {
  isReadOnly: (tool: string) => tool.includes("get_"),
  ...{ hints: [] as string[], maxReplyBytes: 16_384 },
};

/** The reply to a program that came to this. */
const replyTo = (
  result: Parameters<typeof executed>[0],
  rest: Parameters<typeof executed>[1] = {},
  { calls = [], ...context }: Partial<typeof CONTEXT> & { calls?: ObservedCall[] } = {},
) => buildProgramReply(executed(result, rest), calls, { ...CONTEXT, ...context });

function textOf(reply: ReturnType<typeof buildProgramReply>): string | undefined {
  const [first] = reply.content;
  return first?.type === "text" ? first.text : undefined;
}

function call(tool: string, rest: Partial<ObservedCall> = {}): ObservedCall {
  return {
    ...{ seq: 1, tool, arguments: {}, raw: false, startedMs: 0, durationMs: 1 },
    outcome: { ok: true, data: 1, raw: {}, bytes: 1, decision: "allowed" },
    ...rest,
  };
}

function failedCall(
  tool: string,
  decision: ObservedCall["outcome"]["decision"],
  raw?: unknown,
): ObservedCall {
  const error = { type: "ToolError" as const, server: "s", tool: "t", message: "no", retryable: false };
  const outcome = { ok: false as const, error, bytes: 0, decision };
  return call(tool, { outcome: raw === undefined ? outcome : { ...outcome, raw } });
}

describe("advice", () => {
  const advice = ["write globalThis.result = files"];

  it("on a value that was lost stands apart from the text, which is what the table of replies has", () => {
    const { content } = replyTo({ data: "" }, { resultFrom: "console", advice });
    expect(content).toEqual([
      { type: "text", text: "[Script executed successfully]\n(no output)" },
      { type: "text", text: "Write globalThis.result = files" },
    ]);
  });

  it("on a failure follows it, before the hints", () => {
    const failure = buildFailure("Timeout", "Execution exceeded 2s limit");
    const reply = replyTo(failure, { advice: ["a call was pending: x"] }, { hints: ["A hint"] });
    expect(textOf(reply)).toBe(
      "[Script execution failed]\nTimeoutError: Execution exceeded 2s limit\n\nA call was pending: x\nA hint",
    );
  });
});

describe("the reply to a program that ran", () => {
  it.each([
    ["printed", { data: "hi" }, { consoleText: "hi\n", resultFrom: "console" as const }, "hi"],
    ["printed nothing", { data: "" }, { resultFrom: "console" as const }, "(no output)"],
    ["printed spaces", { data: "" }, { consoleText: " \n", resultFrom: "console" as const }, "(no output)"],
    ["printed JSON last", { data: 42 }, { consoleText: "a\n42\n", resultFrom: "line" as const }, "a\n42"],
    [
      "printed JSON last, past what is shown",
      { data: 42 },
      { consoleText: "aa\n... (truncated)\n", isConsoleCut: true, resultFrom: "line" as const },
      "aa\n... (truncated)\n42",
    ],
    ["set a result", { data: { a: [1] } }, {}, '{"a":[1]}'],
    ["set null", { data: null }, {}, "null"],
    ["printed and set a result", { data: 1 }, { consoleText: "a\nb\n" }, "a\nb\n1"],
    [
      "printed too much",
      { data: "x" },
      { consoleText: "xx\n... (truncated)\n", isConsoleCut: true, resultFrom: "console" as const },
      "xx\n... (truncated)",
    ],
    ["logged", { data: 1 }, { stderrText: "careful\nvery\n" }, "1\n[stderr] careful\n[stderr] very"],
    [
      "only logged",
      { data: "" },
      { resultFrom: "console" as const, stderrText: "careful\n" },
      "(no output)\n[stderr] careful",
    ],
    [
      "has type warnings",
      { data: 1 },
      { typeWarning: "program.ts:1:1: no" },
      "1\nType warnings:\nprogram.ts:1:1: no",
    ],
  ])("that %s", (_, result, rest, text) => {
    const reply = replyTo(result, rest);
    expect(textOf(reply)).toBe(`[Script executed successfully]\n${text}`);
    expect(reply).not.toHaveProperty("isError");
    expect(reply).not.toHaveProperty("structuredContent");
  });
});

describe("the reply to a program that gave out more than a model is shown", () => {
  const MAX = 1_000;
  const shown = (consoleText: string, value: unknown, rest: Parameters<typeof executed>[1] = {}) => {
    const reply = replyTo({ data: value }, { consoleText, ...rest }, { maxReplyBytes: MAX });
    const [, ...lines] = (textOf(reply) ?? "").split("\n");
    return lines;
  };
  const gap = /^\[.*: read_output (\{.*\}), or filter, count or cut in the program and give less\]$/;
  const offsetIn = (line = "") => JSON.parse(gap.exec(line)?.[1] ?? "{}").offset as number;
  /** What `read_output` pages through. */
  const whole = (consoleText: string, value: unknown) =>
    [...(consoleText === "" ? [] : [consoleText.trimEnd()]), JSON.stringify(value)].join("\n");

  it("has head and tail of the console text and says how to read what lies between", () => {
    const printed = Array.from({ length: 500 }, (_, i) => `line ${i}`).join("\n");
    const lines = shown(`${printed}\n`, printed, { resultFrom: "console" });
    const at = lines.findIndex((line) => gap.test(line));
    expect(lines[0]).toBe("line 0");
    expect(lines.slice(-2)).toEqual(["line 499", "... (truncated)"]);
    expect(printed.slice(0, offsetIn(lines[at])).trimEnd()).toBe(lines.slice(0, at).join("\n"));
    expect(Buffer.byteLength(lines.join("\n"))).toBeLessThan(MAX + 210);
  });

  it.each([
    ["a list", Array.from({ length: 400 }, (_, i) => ({ i, text: '"é\n' }))],
    ["a text", 'one "line"\n'.repeat(400)],
  ])("has JSON in the place of %s, with its beginning and end, and says where to read on", (_, value) => {
    for (const consoleText of ["", "printed\n"]) {
      const lines = shown(consoleText, value);
      const last = lines.at(-1) ?? "";
      const ends = JSON.parse(last);
      const text = typeof value === "string" ? value : JSON.stringify(value);
      expect(ends).toEqual({
        truncated: true,
        bytes: Buffer.byteLength(JSON.stringify(value)),
        head: text.slice(0, ends.head.length),
        tail: text.slice(-ends.tail.length),
      });
      expect(ends.head.length).toBeGreaterThan(MAX / 4);
      expect(Buffer.byteLength(last)).toBeLessThanOrEqual(MAX);
      const offset = offsetIn(lines.at(-2));
      const before = JSON.stringify(ends.head).slice(1, typeof value === "string" ? -1 : undefined);
      const head = typeof value === "string" ? before : ends.head;
      expect(whole(consoleText, value).slice(0, offset).endsWith(head)).toBe(true);
    }
  });

  it("shares the room out between console text and result, and gives one what the other leaves", () => {
    const long = "x".repeat(2_000);
    const both = shown(`${long}\n`, [long]);
    expect(Buffer.byteLength(both[0] ?? "")).toBeLessThan(MAX / 2);
    expect(Buffer.byteLength(both.at(-1) ?? "")).toBeLessThanOrEqual(MAX / 2);
    const result = ["y".repeat(700)];
    const console = shown(`${long}\n`, result);
    expect(console.at(-1)).not.toBe(JSON.stringify(result));
    expect(shown(`${"x".repeat(200)}\n`, result).at(-1)).toBe(JSON.stringify(result));
  });

  it("is as before where it fits", () => {
    expect(shown("a\n", ["x".repeat(900)])).toEqual(["a", JSON.stringify(["x".repeat(900)])]);
  });
});

it.each([
  ["succeeded", { data: 1 }],
  ["failed", buildFailure("ScriptError", "x")],
])(
  "a program that %s unchecked is said to be, apart from what it said, once for each reason",
  async (_, result) => {
    const client = { notices: new ClientNotices(), known: async () => viewOf([]) };
    const shown = { printers: () => [PRINTER] as const, limits: () => ({ maxReplyBytes: 16_384 }) };
    const reply = async (unchecked?: string) =>
      (
        await endOfProgram(executed(result, { unchecked }), client, shown).reply([], {
          hints: [],
          notes: ["note"],
        })
      ).content;
    const checked = (await reply()).slice(0, -1);
    const note = (text: string) => ({ type: "text", text });
    const said = (why: string) => note(`The program's types were not checked: ${why}`);
    expect(await reply("too late")).toEqual([...checked, said("too late"), note("note")]);
    expect(await reply("too late")).toEqual([...checked, note("note")]);
    expect(await reply("no checker")).toEqual([...checked, said("no checker"), note("note")]);
  },
);

it("a run that could not be recorded is reported with the next reply, once", async () => {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const problems = [promise];
  const served = serve(async () =>
    executed({ data: 1 }, { recorded: problems.shift() ?? Promise.resolve(undefined) }),
  );
  const client = await CONNECT["2025-11-25"](served);
  const run = async () =>
    (await client.callTool({ name: "execute_program", arguments: { code: "1" } })).content;
  const plain = { type: "text", text: "[Script executed successfully]\n1" };
  expect(await run()).toEqual([plain]);
  resolve("the archive /x is full");
  await promise;
  const told = "A run of this session was not recorded; tell the user: the archive /x is full";
  expect(await run()).toEqual([plain, { type: "text", text: told }]);
  expect(await run()).toEqual([plain]);
});

it("a program that only emitted is not told that nothing came of it", () => {
  const emitted = [{ type: "text" as const, text: "hi" }];
  const { content } = replyTo({ data: "" }, { resultFrom: "console", emitted });
  expect(content).toEqual([{ type: "text", text: "[Script executed successfully]" }, ...emitted]);
});

describe("the reply to a program that failed", () => {
  it.each([
    [
      buildFailure("ScriptError", "TypeError: x\n    at program.ts:1:2"),
      "TypeError: x\n    at program.ts:1:2",
    ],
    [buildFailure("Timeout", "Execution exceeded 120s limit"), "TimeoutError: Execution exceeded 120s limit"],
    [buildFailure("ToolError", "'mcp__a__b' failed: no"), "ToolError: 'mcp__a__b' failed: no"],
    [buildFailure("BundleError", "program.ts:1:1: no"), "BundleError: program.ts:1:1: no"],
    [
      buildFailure(
        "ToolError",
        "Traceback (most recent call last):\n  File\nToolError: 'mcp__a__b' failed: no",
      ),
      "Traceback (most recent call last):\n  File\nToolError: 'mcp__a__b' failed: no",
    ],
  ])("says why", (failure, text) => {
    const reply = replyTo(failure);
    expect(textOf(reply)).toBe(`[Script execution failed]\n${text}`);
    expect(reply).toMatchObject({
      isError: true,
      _meta: { "ptc/envelope": { run_id: "run-1", result: { error: { type: failure.type } } } },
    });
  });

  it("carries hints and the end of what was printed", () => {
    const failure = buildFailure("ScriptError", "Error: x");
    const consoleText = `${"a".repeat(5_000)}the end\n`;
    const text = textOf(replyTo(failure, { consoleText }, { hints: ["Try y"] }));
    expect(text).toMatch(
      /^\[Script execution failed\]\nError: x\n\nTry y\n\nThe last that it had printed:\n\[1008 characters left out: read_output \{"run":"run-1","offset":0\}\]\na+the end$/,
    );
    expect(text?.length).toBeLessThan(4_200);
  });

  it("carries the end of what was logged, told from what was printed", () => {
    const failure = buildFailure("ScriptError", "Error: x");
    const stderrText = `${"log\n".repeat(5_000)}last\n`;
    const text = textOf(replyTo(failure, { consoleText: "out\n", stderrText })) ?? "";
    expect(text).toMatch(
      /^\[Script execution failed\]\nError: x\n\nIt had printed:\nout\n\n\[\d+ characters of stderr left out: read_output \{"run":"run-1","offset":4\}\]\n\[stderr\] /,
    );
    expect(text).toMatch(/\n\[stderr\] log\n\[stderr\] last$/);
    for (const line of text.split("\n").slice(7)) expect(line).toMatch(/^\[stderr\] /);
    expect(text.length).toBeLessThan(15_000);
  });

  it("tells what it had done, calls that may have changed something first", () => {
    const calls = [
      call("mcp__s__get_a"),
      call("mcp__s__get_a"),
      call("mcp__s__create_b", { arguments: { title: "x".repeat(200) } }),
      failedCall("mcp__s__create_c", "allowed"),
      failedCall("mcp__s__create_d", "invalid"),
      failedCall("mcp__s__create_e", "allowed", { isError: true }),
      failedCall("mcp__s__get_f", "allowed"),
      failedCall("mcp__s__send_g", "unanswered"),
    ];
    const text = textOf(replyTo(buildFailure("ScriptError", "Error"), {}, { calls })) ?? "";
    expect(text.split("\n\n").slice(1)).toEqual([
      `Before it failed, 1 call had completed and may have changed something; do not repeat what must happen once:\nmcp__s__create_b({"title":"${"x".repeat(150)}...)`,
      "Not known whether these took effect: mcp__s__create_c, mcp__s__send_g",
      "Completed and only read: mcp__s__get_a x2",
    ]);
  });

  it("stays short after a thousand calls", () => {
    const calls = Array.from({ length: 1_000 }, (_, i) => call(`mcp__s__set_${i % 50}`));
    const text = textOf(replyTo(buildFailure("ScriptError", "Error"), {}, { calls }));
    expect(text).toContain("1000 calls had completed");
    expect(text).toContain("and 980 more");
    expect(text?.length).toBeLessThan(2_000);
  });
});

it.each([
  ["a success", { data: 1 }],
  ["a failure", buildFailure("ScriptError", "Error: no")],
])("says of %s which answers contradicted their tools' schemas, apart from the text", (_what, result) => {
  const warnings = [
    "'mcp__a__x' answered against its own outputSchema: structuredContent.n is missing (and so 3 more)",
  ];
  expect(replyTo(result, { warnings }).content.at(-1)).toEqual({
    type: "text",
    text: `These calls were made, and what they answered was given as it is:\n- ${warnings[0]}`,
  });
});

const known = viewOf(serversOf({ github: [{ name: "list_issues" }] }));
const HINT = "There is no server 'githb'; did you mean github?";

describe("a hint about a program that failed", () => {
  it("is given for a server that it imports, whatever the message says", async () => {
    const failure = buildFailure("BundleError", "it does not work");
    const unknown = [{ code: "unknown_import", path: "x" } as const];
    const reasons = [...unknown, { code: "unknown_server", module: "githb" } as const];
    expect(await hintsFor(executed(failure, { reasons }), [], known, PRINTER)).toEqual([HINT]);
  });

  it("is not taken from a message that says the same", async () => {
    const failure = buildFailure("ScriptError", "there is no server module 'githb'");
    expect(await hintsFor(executed(failure), [], known, PRINTER)).toEqual([]);
  });

  it("says what a rule says of a tool that it forbids, also where the program was refused before it ran", async () => {
    const why = () => "it is forbidden by rule a: ask ops";
    const hidden = known.visibleTo(() => false, { whyHidden: why });
    const message =
      "'mcp__github__list_issues' is not available in execute_program: the configuration does not allow it";
    const refused = executed(buildFailure("TypeCheckError", message));
    expect(await hintsFor(refused, [], hidden, PRINTER)).toEqual([
      "'mcp__github__list_issues' is blocked by the configuration of ptc: it is forbidden by rule a: ask ops",
    ]);
    const silent = known.visibleTo(() => false);
    expect(await hintsFor(refused, [], silent, PRINTER)).toEqual([]);
  });

  it("names the tool that a program made up as it ran", async () => {
    const failure = buildFailure("ScriptError", "ReferenceError: mcp__github__list_isues is not defined");
    expect(await hintsFor(executed(failure), [], known, PRINTER)).toEqual([
      "There is no tool 'mcp__github__list_isues'; did you mean mcp__github__list_issues?",
    ]);
  });
});
