import type { CallRecord, ValueFlow } from "../../archive/run-record.ts";
import { describeValues } from "../../broker/policy/data-flow.ts";

/** Where the values of a recorded call came from, a line for each argument. */
export function describeRecordedValues(values: readonly ValueFlow[] = []): string[] {
  return describeValues({
    leaves: values.map(({ path, origins, labels, undecided = [] }) => ({
      path,
      labels,
      undecided,
      isSaid: origins.some(({ kind }) => kind === "user"),
      origins: origins.map(({ kind, tool, call, earlier, labels: own }) => ({
        kind,
        labels: own,
        ...(tool === undefined ? {} : { tool, seq: (call ?? 0) + 1 }),
        ...(earlier === undefined ? {} : { isEarlier: earlier }),
      })),
    })),
  });
}

/** The data that flowed from one place into one call. */
export interface RecordedFlow {
  /** The call whose answer it was, by its number from 0; `undefined` if it was no answer of this run. */
  readonly from: number | undefined;
  /** That place in words, where it is no call of this run. */
  readonly place: string;
  /** The call that it went into, by its number from 0. */
  readonly to: number;
  readonly paths: readonly string[];
  readonly labels: readonly string[];
}

const PLACES = {
  user: "the user",
  program: "the program",
  data: "the data",
  result: "an earlier run",
} as const;

/** What flowed from reads to calls of a run, in the order of the calls. */
export function flowsIn(calls: readonly CallRecord[]): RecordedFlow[] {
  return calls.flatMap(({ seq, values = [] }) => {
    const flows = new Map<
      string,
      { from: number | undefined; place: string; paths: Set<string>; labels: Set<string> }
    >();
    for (const { path, origins } of values)
      for (const { kind, tool, call, earlier, labels } of origins) {
        if (kind === "program" || kind === "data") continue;
        const from = kind === "result" && earlier === undefined ? call : undefined;
        const place = tool !== undefined && earlier === true ? `${tool} in an earlier run` : PLACES[kind];
        const key = `${from} ${place}`;
        const known = flows.get(key) ?? { from, place, paths: new Set(), labels: new Set() };
        known.paths.add(path.split(/[.[]/, 1)[0] ?? path);
        for (const label of labels) known.labels.add(label);
        flows.set(key, known);
      }
    return [...flows.values()].map(({ from, place, paths, labels }) => ({
      from,
      place,
      to: seq,
      paths: [...paths],
      labels: [...labels].sort(),
    }));
  });
}
