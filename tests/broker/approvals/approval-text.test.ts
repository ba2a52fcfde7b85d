import { describe, expect, it } from "vitest";
import { renderApprovalArguments } from "../../../broker/approvals/approval-text.ts";

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

  it("may be nothing at all", () => {
    expect(renderApprovalArguments(undefined)).toBe("nothing");
  });
});
