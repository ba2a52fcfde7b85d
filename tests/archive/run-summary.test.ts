import { expect, it } from "vitest";
import type { CallRecord, RunRecord } from "../../archive/run-record.ts";
import { summarizeRun, summarizeTools } from "../../archive/run-summary.ts";
import type { Envelope } from "../../protocol/envelope.ts";

type Times = Pick<CallRecord, "started_ms" | "duration_ms"> & { waited_ms?: number; connect_ms?: number };

const callOf = (times: Times) =>
  ({ tool: "mcp__a__b", server: "a", ok: true, result_bytes: 1, ...times }) as CallRecord;

/** The time of a run of a minute with these calls, and that of its tool. */
function times(...calls: Times[]): [run: number, tool: number | undefined] {
  const records = calls.map(callOf);
  const record = { calls: records, principal: "local", file_name: "a.ts" } as unknown as RunRecord;
  const envelope = { duration_ms: 60_000, result: { ok: true, data: null } } as unknown as Envelope;
  const run = summarizeRun(record, { code: "", consoleText: "", envelope });
  return [run.duration_ms, summarizeTools(records)[0]?.duration_ms];
}

it.each<[string, Times[], number, number | undefined]>([
  ["nobody was asked", [{ started_ms: 5, duration_ms: 100 }], 60_000, 100],
  ["a person took most of a call", [{ started_ms: 5, duration_ms: 50_100, waited_ms: 50_000 }], 10_000, 100],
  [
    "two calls waited at once",
    [
      { started_ms: 0, duration_ms: 30_010, waited_ms: 30_000 },
      { started_ms: 10_000, duration_ms: 30_010, waited_ms: 30_000 },
    ],
    20_000,
    20,
  ],
  [
    "a server was started for the first of two calls",
    [
      { started_ms: 0, duration_ms: 9_010, connect_ms: 9_000 },
      { started_ms: 9_010, duration_ms: 20 },
    ],
    60_000,
    30,
  ],
  ["a record has more than can be", [{ started_ms: 0, duration_ms: 5, waited_ms: 90_000 }], 0, 0],
])(
  "the counted time of a run is without a person's, and that of a tool without its server's start: %s",
  (_, calls, run, tool) => {
    expect(times(...calls)).toEqual([run, tool]);
  },
);
