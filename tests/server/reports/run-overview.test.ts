import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  formatAge,
  formatBytes,
  formatDuration,
  formatInstant,
  formatInstantWithZone,
  formatNumberOf,
  formatShare,
  formatTokens,
} from "../../../base/quantities.ts";
import { syntaxOf } from "../../../languages/languages.ts";
import { PYTHON } from "../../../languages/python/language.ts";
import { TYPESCRIPT } from "../../../languages/typescript/language.ts";
import { tokenizeLines } from "../../../server/pages/run-page.ts";
import { bucketDays, nameBucket } from "../../../server/reports/day-buckets.ts";
import { findFailingPlaces, layOutCalls, showJson, showText } from "../../../server/reports/run-overview.ts";

const failingPlaces = (message: string, fileName: string, lines: string[] = []) =>
  findFailingPlaces(message, { fileName, lines });

describe("the places that an error speaks of", () => {
  it("are the frames of a traceback of Python, which ends with the place where it failed", () => {
    const lines = [
      "def f(x):",
      "    return 1 / x",
      "",
      "try:",
      "  f(0)",
      "except Exception as e:",
      "  raise KeyError(e)",
    ];
    const message = `Traceback (most recent call last):
  File "my program.py", line 5, in <module>
    f(0)
  File "my program.py", line 2, in f
    return 1 / x
           ~~^~~
ZeroDivisionError: division by zero`;
    expect(failingPlaces(message, "my program.py", lines)).toEqual([
      { line: 2, column: 12, role: "failed" },
      { line: 5, column: 3, role: "caller" },
    ]);
    const second = `${message}

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "my program.py", line 7, in <module>
    raise KeyError(e)
KeyError: ZeroDivisionError('division by zero')`;
    expect(failingPlaces(second, "my program.py", lines).map(({ line, role }) => [line, role])).toEqual([
      [7, "failed"],
      [2, "caller"],
      [5, "caller"],
    ]);
    const group = `  + Exception Group Traceback (most recent call last):
  |   File "a.py", line 1, in <module>
  |     raise ExceptionGroup("no", [ValueError(1)])
  | ExceptionGroup: no (1 sub-exception)`;
    expect(failingPlaces(group, "a.py")).toEqual([{ line: 1, column: 1, role: "failed" }]);
    const syntax = `  File "a.py", line 3\n    x = = 1\n        ^\nSyntaxError: invalid syntax`;
    expect(failingPlaces(syntax, "a.py", ["", "", "  x = = 1"])).toEqual([
      { line: 3, column: 7, role: "failed" },
    ]);
    expect(failingPlaces(syntax, "b.py")).toEqual([]);
  });

  it("are the frames of what was thrown: where it failed, then who had called it", () => {
    const message =
      "Error: no\n    at inner (my program.ts:27:56)\n    at async outer (my program.ts:3:1)\n    at my program.ts:24:55";
    expect(failingPlaces(message, "my program.ts")).toEqual([
      { line: 27, column: 56, role: "failed" },
      { line: 3, column: 1, role: "caller" },
      { line: 24, column: 55, role: "caller" },
    ]);
  });

  it("are all the mistakes that were found in it", () => {
    const message = 'a.ts:2:11: Unexpected ";"\n    const b = ;\na.ts:9:1: no such name';
    expect(failingPlaces(message, "a.ts").map(({ line, role }) => [line, role])).toEqual([
      [2, "failed"],
      [9, "failed"],
    ]);
  });

  it("are none where the message speaks of other files, or of none", () => {
    for (const message of [
      "",
      "Timeout: 120 s",
      "    at other.ts:2:3",
      "    at ba.ts:2:3",
      "see a.ts:2:3",
      "a.ts:x:1: no",
    ])
      expect(failingPlaces(message, "a.ts")).toEqual([]);
  });
});

describe("the lanes of a timeline", () => {
  const call = fc.record({
    started_ms: fc.integer({ min: 0, max: 50 }),
    duration_ms: fc.integer({ min: 0, max: 20 }),
  });

  it("hold no two calls that ran at the same time, and are as few as that allows", () => {
    fc.assert(
      fc.property(fc.array(call, { maxLength: 40 }), (calls) => {
        const { lanes, bars } = layOutCalls(calls, 0);
        const overlap = (a: number, b: number) => {
          const [first, second] = [calls[a], calls[b]];
          if (first === undefined || second === undefined) return false;
          return (
            first.started_ms < second.started_ms + second.duration_ms &&
            second.started_ms < first.started_ms + first.duration_ms
          );
        };
        calls.forEach((_, a) => {
          for (let b = 0; b < a; b++) if (bars[a]?.lane === bars[b]?.lane) expect(overlap(a, b)).toBe(false);
        });
        const running = calls.map(
          ({ started_ms: now }) =>
            calls.filter(
              ({ started_ms, duration_ms }) =>
                started_ms <= now && now < started_ms + Math.max(duration_ms, 0.5),
            ).length,
        );
        expect(lanes).toBeLessThanOrEqual(Math.max(0, ...running));
      }),
    );
  });

  it("end with the program, or with the call that ended after it", () => {
    const calls = [{ started_ms: 10, duration_ms: 30 }];
    expect(layOutCalls(calls, 100)).toEqual({
      endMs: 100,
      lanes: 1,
      bars: [{ lane: 0, start: 0.1, length: 0.3 }],
    });
    expect(layOutCalls(calls, 20).endMs).toBe(40);
    expect(layOutCalls([], 0)).toEqual({ endMs: 1, lanes: 0, bars: [] });
  });
});

describe("text that is too long to show", () => {
  it("is cut with what is missing said, and never within a character", () => {
    expect(showText("abc", 3)).toEqual({ text: "abc", bytes: 3, cut: "" });
    expect(showText("ab\u{1f600}c", 3)).toEqual({ text: "ab", bytes: 7, cut: "the first 2 B of 7 B" });
  });

  it("is measured as the JSON that was sent, and not as it is shown", () => {
    expect(showJson({ a: [1] }, 100)).toEqual({ text: '{\n  "a": [\n    1\n  ]\n}', bytes: 9, cut: "" });
    expect(showJson("x".repeat(1_000_000), 1_000)).toMatchObject({
      bytes: 1_000_002,
      cut: "the beginning of 1.0 MB",
    });
    expect(showJson(undefined, 10).text).toBe("null");
  });
});

describe("the tokens of a program", () => {
  it("are all of it, line by line, whatever it is", () => {
    const code = fc.string({ unit: fc.constantFrom(..."ab1 \n\\/*\"'`${}.", "const ") });
    fc.assert(
      fc.property(code, (text) => {
        const lines = tokenizeLines(text, TYPESCRIPT.syntax).map((tokens) =>
          tokens.map((token) => token.text).join(""),
        );
        expect(lines.join("\n")).toBe(text);
      }),
    );
  });

  it("are all of a program in Python, too, in time that is in proportion to it", () => {
    const code = fc.string({ unit: fc.constantFrom(..."ab1 \n\\#\"'{}.r", '"""', "def ") });
    fc.assert(
      fc.property(code, (text) => {
        const lines = tokenizeLines(text, PYTHON.syntax).map((tokens) =>
          tokens.map((token) => token.text).join(""),
        );
        expect(lines.join("\n")).toBe(text);
      }),
    );
    for (const piece of ['"""', '"\\', "f'", "#", "b", "def "])
      expect(tokenizeLines(piece.repeat(200_000), PYTHON.syntax).flat().length).toBeGreaterThan(0);
    const tokens = tokenizeLines(`for a in rb'#': # "x"\n  """b\n"c" """ + None // 2`, PYTHON.syntax);
    expect(tokens.flat().filter(({ kind }) => kind !== "plain")).toEqual([
      { kind: "keyword", text: "for" },
      { kind: "keyword", text: "in" },
      { kind: "string", text: "rb'#'" },
      { kind: "comment", text: '# "x"' },
      { kind: "string", text: '"""b' },
      { kind: "string", text: '"c" """' },
      { kind: "keyword", text: "None" },
      { kind: "number", text: "2" },
    ]);
    expect([syntaxOf("python"), syntaxOf("javascript"), syntaxOf("gone")]).toEqual([
      PYTHON.syntax,
      TYPESCRIPT.syntax,
      TYPESCRIPT.syntax,
    ]);
  });

  it("tell comments, strings, numbers and keywords apart", () => {
    const [line = []] = tokenizeLines(`const a1 = "//"; // 'x'`, TYPESCRIPT.syntax);
    expect(line.filter(({ kind }) => kind !== "plain")).toEqual([
      { kind: "keyword", text: "const" },
      { kind: "string", text: '"//"' },
      { kind: "comment", text: "// 'x'" },
    ]);
    const two = tokenizeLines("/* a\nb */ 12", TYPESCRIPT.syntax);
    expect(two.map((tokens) => tokens.map(({ kind }) => kind))).toEqual([
      ["comment"],
      ["comment", "plain", "number"],
    ]);
  });

  it("take time in proportion to the program", () => {
    for (const piece of ["/*", '"\\', "`${", "'", "//", "1.", "const "])
      expect(tokenizeLines(piece.repeat(200_000), TYPESCRIPT.syntax).flat().length).toBeGreaterThan(0);
  });
});

describe("days in buckets", () => {
  const day = (name: string, runs: number) => ({
    day: name,
    runs,
    failed: 1,
    calls: 2,
    duration_ms: 3,
    result_bytes: 4,
    kept_bytes: 5,
  });

  it("include days on which nothing ran", () => {
    const buckets = bucketDays([day("2026-02-27", 1), day("2026-03-02", 2)], 10);
    expect(buckets.map(({ from, runs }) => [from, runs])).toEqual([
      ["2026-02-27", 1],
      ["2026-02-28", 0],
      ["2026-03-01", 0],
      ["2026-03-02", 2],
    ]);
    expect(bucketDays([], 10)).toEqual([]);
  });

  it("are as long as it takes to have no more of them than fit", () => {
    const buckets = bucketDays([day("2026-01-01", 1), day("2026-01-04", 2), day("2026-01-07", 4)], 3);
    expect(buckets.map((bucket) => [nameBucket(bucket), bucket.runs, bucket.kept_bytes])).toEqual([
      ["2026-01-01 to 2026-01-03", 1, 5],
      ["2026-01-04 to 2026-01-06", 2, 5],
      ["2026-01-07", 4, 5],
    ]);
  });
});

test("calls at the same time lie in different lanes, up to a number that a hundred thousand of them cannot pass", () => {
  const calls = Array.from({ length: 100_000 }, (_, i) => ({ started_ms: i, duration_ms: 1e9 }));
  expect(layOutCalls(calls.slice(0, 3), 0).bars.map(({ lane }) => lane)).toEqual([0, 1, 2]);
  const { lanes, bars } = layOutCalls(calls, 0);
  expect(lanes).toBe(500);
  expect(bars).toHaveLength(100_000);
});

const HOUR = 3_600_000;

describe("quantities", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [1_000, "1.0 kB"],
    [9_949, "9.9 kB"],
    [9_950, "10 kB"],
    [999_499, "999 kB"],
    [999_500, "1.0 MB"],
    [34_000_000, "34 MB"],
    [5_000_000_000_000, "5.0 TB"],
  ])("writes %d bytes as %s", (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it.each([
    [0, "0 ms"],
    [0.44, "0.4 ms"],
    [9.94, "9.9 ms"],
    [9.96, "10 ms"],
    [999.4, "999 ms"],
    [999.6, "1.00 s"],
    [9_994, "9.99 s"],
    [9_996, "10.0 s"],
    [59_949, "59.9 s"],
    [59_951, "1 min"],
    [200_000, "3 min 20 s"],
    [2 * HOUR + 3 * 60_000, "2 h 3 min"],
    [97 * HOUR, "4 d 1 h"],
  ])("writes %d milliseconds as %s", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it.each([
    [950, "950"],
    [1_234, "1.2k"],
    [34_000_000, "34M"],
  ])("writes %d tokens as %s", (tokens, text) => {
    expect(formatTokens(tokens)).toBe(text);
  });

  it("writes times as they are where ptc runs, and says where that is to others", () => {
    const ms = new Date(2026, 10, 3, 7, 5, 9).getTime();
    expect(formatInstant(ms)).toBe("2026-11-03 07:05:09");
    const [day, time, zone] = formatInstantWithZone(ms).split(" ");
    expect(Date.parse(`${day}T${time}${zone === "UTC" ? "Z" : zone}`)).toBe(ms);
  });

  it("writes how long ago something was, and the day of what is long ago or to come", () => {
    const now = new Date(2026, 10, 21, 12).getTime();
    const ages = [30_000, 5 * 60_000, HOUR, 47 * HOUR, 49 * HOUR, 40 * 24 * HOUR, -HOUR];
    expect(ages.map((age) => formatAge(now - age, now))).toEqual([
      "just now",
      "5 min ago",
      "1 h ago",
      "47 h ago",
      "2 d ago",
      "2026-10-12",
      "2026-11-21",
    ]);
  });

  it("writes counts and shares", () => {
    expect([formatNumberOf(1, "call"), formatNumberOf(12_345, "call")]).toEqual(["1 call", "12,345 calls"]);
    expect([formatShare(0, 0), formatShare(1, 3)]).toEqual(["0 %", "33.3 %"]);
  });
});
