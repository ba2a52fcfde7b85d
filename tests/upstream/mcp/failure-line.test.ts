import fc from "fast-check";
import { expect, it } from "vitest";
import { failureLine } from "../../../upstream/mcp/failure-line.ts";
import { rowsBeside } from "../../rows.ts";

const rows = rowsBeside(import.meta.filename);
const causes = rows<[what: string, line: string, stderr: string]>("causes");

it.each(causes)("names the cause of a failed start: %s", (_, line, stderr) => {
  expect(failureLine(stderr)).toBe(line);
});

const NOISE = [
  "    at Module._load (node:internal/modules/cjs/loader:1038:27)",
  "npm error A complete log of this run can be found in: /x.log",
  "npm notice New major version of npm available! 10.8.2 -> 11.6.4",
  "npm warn deprecated glob@7.2.3: Glob versions prior to v9 are no longer supported",
  "Node.js v20.20.2",
  "Traceback (most recent call last):",
  '  File "/srv/server.py", line 3, in <module>',
  "goroutine 1 [running]:",
  "  ^",
  "Run 'docker run --help' for more information",
  "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
  "",
];

it("names a cause whatever is printed around it, and never what is around it", () => {
  const told = causes.filter(([, line]) => line !== "" && !line.includes(" | "));
  fc.assert(
    fc.property(
      fc.constantFrom(...told),
      fc.array(fc.constantFrom(...NOISE), { maxLength: 12 }),
      fc.array(fc.constantFrom(...NOISE), { maxLength: 12 }),
      ([, line, stderr], before, after) => {
        expect(failureLine([...before, stderr, ...after].join("\n"))).toBe(line);
        expect(failureLine(before.join("\n"))).toBe("");
      },
    ),
  );
});

it("is one short line of whatever is printed", () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { maxLength: 8 }), (lines) => {
      const line = failureLine(lines.join("\n"));
      expect(line.length).toBeLessThanOrEqual(303);
      expect(line).not.toMatch(/[\r\n]/);
    }),
  );
});
