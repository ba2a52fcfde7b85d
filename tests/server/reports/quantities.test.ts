import { describe, expect, it } from "vitest";
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
