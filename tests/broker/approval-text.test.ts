import { describe, expect, it } from "vitest";
import { renderApprovalArguments } from "../../broker/approval-text.ts";

describe("the arguments that a person decides about", () => {
  it("are shown as they are when they are short", () => {
    expect(renderApprovalArguments({ table: "users", rows: [1, null] })).toBe(
      JSON.stringify({ table: "users", rows: [1, null] }, null, 2),
    );
  });

  it("are never hidden behind a long one", () => {
    const text = renderApprovalArguments({ aaa: "x".repeat(3_000), id: "PROD-DATABASE" });
    expect(text).toContain("... (2700 more characters)");
    expect(text).toContain('"id": "PROD-DATABASE"');
  });

  it("say what is left out of them", () => {
    expect(renderApprovalArguments({ ids: Array.from({ length: 1_000 }, (_, i) => i) })).toContain(
      "... (980 more entries)",
    );
    const wide = renderApprovalArguments(
      Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, i])),
    );
    expect(wide).toContain('"...": "30 more members"');
    const deep = renderApprovalArguments(JSON.parse(`${'{"a":'.repeat(50)}1${"}".repeat(50)}`));
    expect(deep).toContain("... (1 entries)");
    const many = Array.from({ length: 20 }, () => Array.from({ length: 20 }, () => "y".repeat(300)));
    expect(renderApprovalArguments(many)).toMatch(/\n\.\.\. \(\d+ more characters are not shown\)$/);
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
