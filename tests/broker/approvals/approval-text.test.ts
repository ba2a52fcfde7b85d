import { describe, expect, it } from "vitest";
import {
  describeAnswerElsewhere,
  renderApprovalArguments,
  renderAskedArguments,
  renderClaims,
  renderOrigins,
} from "../../../broker/approvals/approval-text.ts";

describe("the arguments that a person decides about", () => {
  it("are shown as they are when they are short", () => {
    expect(renderApprovalArguments({ table: "users", rows: [1, null] })).toBe(
      JSON.stringify({ table: "users", rows: [1, null] }, null, 2),
    );
  });

  it("are never hidden behind a long one", () => {
    const text = renderApprovalArguments({ aaa: "x".repeat(6_000), id: "PROD-DATABASE" });
    expect(text).toContain("... (2000 more characters)");
    expect(text).toContain('"id": "PROD-DATABASE"');
  });

  it("say what is left out of them", () => {
    expect(renderApprovalArguments({ ids: Array.from({ length: 1_000 }, (_, i) => i) })).toContain(
      "... (900 more entries)",
    );
    const wide = renderApprovalArguments(
      Object.fromEntries(Array.from({ length: 130 }, (_, i) => [`k${i}`, i])),
    );
    expect(wide).toContain("\n  ... (30 more members)\n");
    const deep = renderApprovalArguments(JSON.parse(`${'{"a":'.repeat(50)}1${"}".repeat(50)}`));
    expect(deep).toContain("{ ... (1 member) }");
    const many = Array.from({ length: 100 }, () => Array.from({ length: 20 }, () => "y".repeat(300)));
    expect(renderApprovalArguments(many)).toContain("[ ... (20 entries) ]");
  });

  it("are all named, however much the first of them holds", () => {
    const rows = Array.from({ length: 20 }, () => "y".repeat(300));
    const text = renderApprovalArguments({ rows: [rows, rows, rows], zzz: "DROP" });
    expect(text).toContain('"zzz": "DROP"');
    expect(text.length).toBeLessThan(24_000);
  });

  it("cannot hide one behind another of nearly the same name, nor imitate what is said of what is left out", () => {
    const long = "n".repeat(5_000);
    const text = renderApprovalArguments({ [`${long}a`]: "first", [`${long}b`]: "second" });
    expect(text).toContain('"first"');
    expect(text).toContain('"second"');
    const marks = renderApprovalArguments({ "...": "30 more members", a: "x... (9 more characters)" });
    expect(marks).toContain('"...": "30 more members"');
    expect(marks).not.toMatch(/" \.\.\. \(/);
  });

  it.each(["\n", "\r", "\u0085", "\u2028", "\u2029", "\v", "\f"])("keep to their line: %j", (end) => {
    const forged = `a",${end}  "id": "harmless`;
    const text = renderApprovalArguments({ [forged]: 1, id: forged });
    expect(text.split(/[\n\r\u0085\u2028\u2029\v\f]/)).toHaveLength(4);
  });

  it("cannot repaint the question", () => {
    expect(renderApprovalArguments("\u001b[2J\u202eevil\r").split("")).not.toEqual(
      expect.arrayContaining(["\u001b"]),
    );
    expect(renderApprovalArguments({ "\u202ek": 1 })).not.toContain("\u202e");
  });

  it.each<[unknown, string]>([
    [{ a: {}, b: [] }, '{\n  "a": {},\n  "b": []\n}'],
    [Array(100).fill(0), `[\n${Array(100).fill("  0").join(",\n")}\n]`],
    [Array(101).fill(0), `[\n${Array(100).fill("  0").join(",\n")}\n  ... (1 more entry)\n]`],
    [
      Array(301).fill([0]),
      `[\n${Array(100).fill("  [\n    0\n  ]").join(",\n")}\n  ... (201 more entries)\n]`,
    ],
    ["x".repeat(4_000), `"${"x".repeat(4_000)}"`],
    ["x".repeat(4_001), `"${"x".repeat(4_000)}" ... (1 more characters)`],
    [5, "5"],
    [null, "null"],
    [[undefined], "[\n  nothing\n]"],
  ])("are written to the last that has room: %j", (value, text) => {
    expect(renderApprovalArguments(value)).toBe(text);
  });

  it("are counted where they are too deep", () => {
    const deep = (levels: number, inner: unknown) => {
      let value = inner;
      for (let i = 0; i < levels; i++) value = [value];
      return renderApprovalArguments(value);
    };
    expect(deep(15, [1])).toContain("1");
    expect(deep(15, [1])).not.toContain("...");
    expect(deep(16, [1])).toContain("[ ... (1 entry) ]");
    expect(deep(16, { a: 1, b: 2 })).toContain("{ ... (2 members) }");
    expect(deep(16, [])).not.toContain("...");
  });

  it("say where to read the rest where something is left out", () => {
    expect(renderAskedArguments({ a: 1 })).toEqual({ text: '{\n  "a": 1\n}', rest: undefined });
    const long = "x".repeat(5_000);
    const cut = `"${"x".repeat(4_000)}" ... (1000 more characters)`;
    expect(renderAskedArguments(long)).toEqual({
      text: cut,
      rest: "Something of the arguments is left out; to read the rest first, refuse the call, and look at what the program passes",
    });
    expect(renderAskedArguments(long, "t1")).toEqual({
      text: cut,
      rest: "Something of the arguments is left out; `ptc approvals show t1` shows it",
    });
  });

  it("may be nothing at all", () => {
    expect(renderApprovalArguments(undefined)).toBe("nothing");
  });
});

describe("what a person is told beside them", () => {
  it("is where values come from, on a line each", () => {
    expect(renderOrigins([])).toEqual([]);
    expect(renderOrigins(["to: a\nb", "cc: c"])).toEqual([
      "Where its values come from:",
      expect.stringMatching(/^ {2}to: a.+b$/),
      "  cc: c",
    ]);
  });

  it("is what the server says of its tool, bounded, as lines that nothing can leave", () => {
    expect(renderClaims(undefined)).toBeUndefined();
    expect(renderClaims({ server: "desk" })).toBeUndefined();
    expect(renderClaims({ server: "desk", description: "" })).toBeUndefined();
    const heading = "Its server 'desk' says of this tool, which nobody has checked:";
    expect(
      renderClaims({
        server: "desk",
        description: "One.\r\nTwo.\n\nThree.",
        annotations: { readOnlyHint: true },
      }),
    ).toEqual({ heading, said: ["One.", "Two.", "", "Three.", '{"readOnlyHint":true}'] });
    expect(renderClaims({ server: "desk", annotations: {} })).toEqual({ heading, said: ["{}"] });
    const most = "d".repeat(2_000);
    expect(renderClaims({ server: "desk", description: most })?.said).toEqual([most]);
    expect(renderClaims({ server: "desk", description: `${most}ee` })?.said).toEqual([
      `${most} ... (2 more characters)`,
    ]);
    expect(renderClaims({ server: "d\ne", description: "x\u202ey" })).not.toMatchObject({
      heading: expect.stringContaining("\n"),
      said: [expect.stringContaining("\u202e")],
    });
  });

  it("is who answered first", () => {
    expect(describeAnswerElsewhere(undefined)).toBe(
      "it was answered by another way, and the first answer counts",
    );
    expect(describeAnswerElsewhere({ decision: "denied", by: "ann" })).toBe(
      "it was denied by ann, and the first answer counts",
    );
    expect(describeAnswerElsewhere({ decision: "run", by: "ann\nbob", how: "a form" })).toMatch(
      /^it was approved by ann.+bob \(a form\), and the first answer counts$/,
    );
  });
});
