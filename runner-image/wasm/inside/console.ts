/** The console of programs in an interpreter: as that of Node.js, with every value printed whole and on one line. */

import type { HostFunctions } from "../host-functions.ts";
import { formatWithOptions, inspect, textWidth } from "./util.ts";

const INSPECT = {
  depth: Number.POSITIVE_INFINITY,
  maxArrayLength: Number.POSITIVE_INFINITY,
  maxStringLength: Number.POSITIVE_INFINITY,
  breakLength: Number.POSITIVE_INFINITY,
  compact: true,
} as const;

const INDENT = "  ";
const TICKS_PER_MS = 100;

type Cells = Map<string, string>;

export function makeConsole({ print, ticks }: Pick<HostFunctions, "print" | "ticks">) {
  let indent = "";
  const counts = new Map<string, number>();
  const started = new Map<string, number>();

  const write = (stream: "out" | "err", text: string) => {
    const shown = indent === "" ? text : indent + text.replaceAll("\n", `\n${indent}`);
    print(stream, `${shown}\n`);
  };
  const printer =
    (stream: "out" | "err") =>
    (...data: unknown[]): void =>
      write(stream, formatWithOptions(INSPECT, ...(data as [])));
  const log = printer("out");
  const error = printer("err");
  const warnLabel = (text: string) => print("err", `Warning: ${text}\n`);

  const showTime = (method: string, label: string, data: unknown[]): boolean => {
    const start = started.get(label);
    if (start === undefined) {
      warnLabel(`No such label '${label}' for console.${method}()`);
      return false;
    }
    log("%s: %s", label, formatDuration((ticks() - start) / TICKS_PER_MS), ...data);
    return true;
  };

  return {
    log,
    info: log,
    debug: log,
    error,
    warn: error,
    dir(value: unknown, options?: object) {
      write("out", inspect(value, { ...INSPECT, customInspect: false, ...options }));
    },
    dirxml: log,
    trace(...data: unknown[]) {
      const stack = new Error().stack?.split("\n").slice(2).join("\n") ?? "";
      error(`Trace: ${formatWithOptions(INSPECT, ...(data as []))}\n${stack}`);
    },
    assert(condition?: unknown, ...data: unknown[]) {
      if (condition) return;
      if (typeof data[0] === "string") error(`Assertion failed: ${data[0]}`, ...data.slice(1));
      else error("Assertion failed", ...data);
    },
    group(...data: unknown[]) {
      if (data.length > 0) log(...data);
      indent += INDENT;
    },
    groupCollapsed(...data: unknown[]) {
      if (data.length > 0) log(...data);
      indent += INDENT;
    },
    groupEnd() {
      indent = indent.slice(INDENT.length);
    },
    count(label: unknown = "default") {
      const name = String(label);
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      log(`${name}: ${count}`);
    },
    countReset(label: unknown = "default") {
      if (!counts.delete(String(label))) warnLabel(`Count for '${String(label)}' does not exist`);
    },
    time(label: unknown = "default") {
      const name = String(label);
      if (started.has(name)) warnLabel(`Label '${name}' already exists for console.time()`);
      else started.set(name, ticks());
    },
    timeLog(label: unknown = "default", ...data: unknown[]) {
      showTime("timeLog", String(label), data);
    },
    timeEnd(label: unknown = "default") {
      if (showTime("timeEnd", String(label), [])) started.delete(String(label));
    },
    table(data: unknown, columns?: readonly string[]) {
      const text = tableOf(data, columns);
      if (text === undefined) log(data);
      else write("out", text);
    },
    clear() {},
  };
}

function formatDuration(ms: number): string {
  return ms < 1_000 ? `${Number(ms.toFixed(3))}ms` : `${(ms / 1_000).toFixed(3)}s`;
}

const KEY = "Key";
const VALUES = "Values";

/** A table as Node.js prints it, or `undefined` for a value that has no rows. */
function tableOf(data: unknown, columns: readonly string[] | undefined): string | undefined {
  if (typeof data !== "object" || data === null) return undefined;
  const isMap = data instanceof Map;
  const isKeyed = isMap || data instanceof Set;
  const rowsOfMap = isMap ? [...(data as Map<unknown, unknown>)] : [];
  const entries: [string, unknown][] = isMap
    ? rowsOfMap.map(([, value], index) => [String(index), value])
    : isKeyed
      ? [...(data as Set<unknown>)].map((each, index) => [String(index), each])
      : Object.entries(data);
  const cell = (value: unknown) => inspect(value, INSPECT);
  const names: string[] = [];
  let hasValues = false;
  const rows = entries.map(([index, value], at): [string, Cells] => {
    const cells: Cells = new Map();
    if (isMap) cells.set(KEY, cell(rowsOfMap[at]?.[0]));
    if ((typeof value === "object" && value !== null) || typeof value === "function")
      for (const [name, member] of Object.entries(value)) {
        if (columns !== undefined && !columns.includes(name)) continue;
        if (!names.includes(name)) names.push(name);
        cells.set(name, cell(member));
      }
    else {
      hasValues = true;
      cells.set(VALUES, cell(value));
    }
    return [index, cells];
  });
  const shownNames = columns ?? names;
  const index = isKeyed ? "(iteration index)" : "(index)";
  const heads = [
    index,
    ...(isMap ? [KEY] : []),
    ...shownNames,
    ...(hasValues || (isKeyed && rows.length === 0) ? [VALUES] : []),
  ];
  const lines = rows.map(([name, cells]) => [name, ...heads.slice(1).map((head) => cells.get(head) ?? "")]);
  return renderTable(heads, lines);
}

function renderTable(heads: readonly string[], lines: readonly (readonly string[])[]): string {
  const widths = heads.map((head, column) =>
    [head, ...lines.map((line) => line[column] ?? "")].reduce(
      (most, text) => Math.max(most, textWidth(text) + 2),
      0,
    ),
  );
  const rule = (left: string, middle: string, right: string) =>
    left + widths.map((width) => "─".repeat(width)).join(middle) + right;
  const row = (cells: readonly string[]) =>
    `│${cells.map((text, column) => padded(` ${text}`, widths[column] ?? 0)).join("│")}│`;
  return [rule("┌", "┬", "┐"), row(heads), rule("├", "┼", "┤"), ...lines.map(row), rule("└", "┴", "┘")].join(
    "\n",
  );
}

/** Pads a text to as many columns of a terminal. */
function padded(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - textWidth(text)));
}
