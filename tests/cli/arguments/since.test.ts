import { describe, expect, it } from "vitest";
import { UsageError } from "../../../cli/command.ts";
import { parseMoment } from "../../../cli/commands/archived-runs.ts";

const NOW = Date.UTC(2030, 0, 10, 12);

describe("a moment", () => {
  it.each([
    ["90m", Date.UTC(2030, 0, 10, 10, 30)],
    ["24h", Date.UTC(2030, 0, 9, 12)],
    ["7d", Date.UTC(2030, 0, 3, 12)],
    ["2w", Date.UTC(2029, 11, 27, 12)],
    ["2029-12-31", Date.UTC(2029, 11, 31)],
    ["2028-02-29", Date.UTC(2028, 1, 29)],
    ["2029-12-31T10:00:00Z", Date.UTC(2029, 11, 31, 10)],
    ["2029-12-31T10:00:00+02:00", Date.UTC(2029, 11, 31, 8)],
  ])("can be %s", (text, moment) => {
    expect(parseMoment("--since", text, NOW)).toBe(moment);
  });

  it.each([
    "",
    "yesterday",
    "7",
    "7y",
    "-7d",
    "2029-13-01",
    "2029-02-31",
    "2029-1-1",
    "1e3d",
    "9999999d",
    "d",
  ])("cannot be %j", (text) => {
    expect(() => parseMoment("--since", text, NOW)).toThrow(UsageError);
  });
});
