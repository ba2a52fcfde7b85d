import { describe, expect, it } from "vitest";
import { renderApprovalOverview } from "../../../broker/approvals/approval-overview.ts";

const LONG = `begin ${"x".repeat(3_000)} end`;
const overview = (args: unknown, tool = "mcp__files__write") => renderApprovalOverview(tool, args);

describe("what a person sees first of a call", () => {
  it("is the tool and one line for each argument", () => {
    expect(overview({ path: "/tmp/a", mode: 420, tags: ["a", { b: null }] })).toEqual({
      lines: [
        "Allow mcp__files__write with 3 arguments?",
        'path: "/tmp/a"',
        "mode: 420",
        'tags: ["a",{"b":null}]',
      ],
      isCut: false,
    });
    expect(overview({}).lines).toEqual(["Allow mcp__files__write without arguments?"]);
    expect(overview(undefined).lines).toEqual(["Allow mcp__files__write without arguments?"]);
    expect(overview("text").lines[1]).toBe('arguments: "text"');
  });

  it("has the beginning and the end of a long value, and how many characters are between them", () => {
    const [, path, content = ""] = overview({ path: "/tmp/a", content: LONG }).lines;
    expect(path).toBe('path: "/tmp/a"');
    const [, head = "", leftOut, tail = ""] =
      /^content: "(.*)" \.\.\.(\d+) characters\.\.\. "(.*)"$/.exec(content) ?? [];
    expect(LONG.startsWith(head) && LONG.endsWith(tail)).toBe(true);
    expect(head.length + Number(leftOut) + tail.length).toBe(LONG.length);
    expect(content).toHaveLength(72);
  });

  it.each([4, 6, 8])("has each of %d arguments in the three lines that every client shows", (count) => {
    const names = Array.from({ length: count }, (_, i) => `k${i}`);
    const args = Object.fromEntries(names.map((name, i) => [name, i % 2 === 0 ? LONG : i]));
    const { lines, isCut } = overview(args);
    expect({ count: lines.length, isCut }).toEqual({ count: 3, isCut: true });
    for (const name of names) expect(lines.join("\n")).toContain(`${name}: `);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(72);
  });

  it("puts the short ones of many together, so that a long one shows something of itself", () => {
    const short = { owner: "acme", repo: "web", path: "src/index.ts", message: "Fix", branch: "main" };
    expect(overview({ ...short, content: LONG }).lines.slice(1)).toEqual([
      'owner: "acme"  repo: "web"  message: "Fix"  branch: "main"',
      expect.stringMatching(/^path: "src\/index.ts" {2}content: "begin x+" \.\.\.\d+\.\.\. "x+ end"$/),
    ]);
  });

  it("counts the arguments that have no place", () => {
    const args = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [`key_number_${i}`, "v".repeat(99)]),
    );
    expect(overview(args).lines[0]).toBe("Allow mcp__files__write with 40 arguments?");
    expect(overview(args).lines[2]).toMatch(/\.\.\. \(\d+ more\)$/);
  });

  it("keeps three lines in sight, and has no argument in the fourth where more follows", () => {
    expect(overview({ a: LONG, b: 1, c: 2 })).toMatchObject({
      isCut: true,
      lines: [expect.anything(), "b: 1  c: 2", expect.stringMatching(/^a: "begin/)],
    });
    expect(renderApprovalOverview("t", { a: 1, b: 1, c: 2 }, true).lines).toEqual([
      "Allow t with 3 arguments?",
      "a: 1  b: 1  c: 2",
    ]);
    expect(overview({ a: LONG, b: 1 })).toMatchObject({ isCut: true });
    expect(overview({ a: 1, b: 1, c: 2 }, `mcp__${"n".repeat(99)}`)).toMatchObject({
      isCut: true,
      lines: [
        expect.stringMatching(/^Allow mcp__n+ \.\.\.\d+ characters\.\.\. n+ with 3 arguments\?$/),
        "a: 1  b: 1  c: 2",
      ],
    });
  });

  it("cannot be imitated by a value or a name", () => {
    const forged = 'a"\nid: "harmless" ...9 characters... "b\u202e\u001b[2J';
    const { lines } = overview({ [forged]: forged, id: "PROD" });
    expect(lines).toHaveLength(3);
    expect(lines.join("")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(lines[1]).toMatch(/^"a\\"\\nid/);
    expect(lines[2]).toBe('id: "PROD"');
  });

  it("fits a terminal also in wide characters", () => {
    const [, line = ""] = overview({ text: "日本".repeat(100) }).lines;
    expect([...line].reduce((sum, character) => sum + (character < "\u007f" ? 1 : 2), 0)).toBeLessThanOrEqual(
      72,
    );
    expect(line).toMatch(/[日本]" \.\.\.\d+ characters\.\.\. "/);
  });
});
