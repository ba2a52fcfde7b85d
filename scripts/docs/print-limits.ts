import { MAX_PENDING, MAX_QUESTION_BYTES } from "../../execution/pending/pending-approvals.ts";
import * as emitted from "../../protocol/emitted.ts";
import * as limits from "../../protocol/limits.ts";
import { MAX_PROGRAM_FILES, MAX_PROGRAM_FILES_BYTES } from "../../protocol/program-files.ts";
import { SCRATCH_MB } from "../../sandbox/sandbox-profile.ts";
import { settingDefaults } from "./print-settings.ts";

/** One limit: what it bounds, its constants or its setting, and what happens beyond it. */
interface Limit {
  what: string;
  /** Names of constants in the code, for a fixed limit. */
  fixed?: readonly (keyof typeof VALUES)[];
  /** The setting whose default it is. */
  setting?: string;
  past: string;
}

const { PROTOCOL_VERSION: _, ENVELOPE_OVERHEAD_BYTES: __, MAX_CLAIM_FAILURE_BYTES: ___, ...WIRE } = limits;
const { MAX_EMITTED_BLOCKS, MAX_EMITTED_BYTES } = emitted;
const VALUES = {
  ...WIRE,
  MAX_PENDING,
  MAX_QUESTION_BYTES,
  MAX_EMITTED_BLOCKS,
  MAX_EMITTED_BYTES,
  MAX_PROGRAM_FILES,
  MAX_PROGRAM_FILES_BYTES,
  ...SCRATCH_MB,
};

const SECTIONS: Readonly<Record<string, readonly Limit[]>> = {
  "A program": [
    {
      what: "text of the program",
      fixed: ["MAX_CODE_BYTES"],
      past: "`BundleError`; hand data over as `data` or `--file`",
    },
    {
      what: "text, `data` and files together, as they are sent",
      fixed: ["MAX_REPLY_FRAME_BYTES"],
      past: "`BundleError`",
    },
    {
      what: "files of `--file`",
      fixed: ["MAX_PROGRAM_FILES", "MAX_PROGRAM_FILES_BYTES"],
      past: "`ptc run` exits 2",
    },
    {
      what: "time",
      setting: "execution.timeout_seconds",
      past: "`Timeout`; ptc ends the sandbox from outside",
    },
    {
      what: "memory, files of `/workspace` and `/tmp` included (MB)",
      setting: "execution.memory_mb",
      past: "`OutOfMemory`",
    },
    { what: "`/workspace` and `/tmp`", fixed: ["WORKSPACE_MB", "TMP_MB"], past: "writing fails (`ENOSPC`)" },
    { what: "processor cores", setting: "execution.cpus", past: "the program runs slower" },
    { what: "processes", setting: "execution.pids", past: "starting one fails (`EAGAIN`)" },
    {
      what: "programs at a time; by default ptc decides by cores and memory",
      setting: "execution.max_parallel_programs",
      past: "more wait",
    },
    { what: "programs of one principal that wait", setting: "execution.max_queued_programs", past: "`Busy`" },
  ],
  "What it gives out": [
    {
      what: "result and console text that a model is shown",
      setting: "execution.max_reply_bytes",
      past: "head and tail; `read_output` reads on",
    },
    {
      what: "console text and envelope",
      setting: "execution.max_output_bytes",
      past: "head and tail; `ptc runs show RUN --output` prints all",
    },
    { what: "stderr", setting: "execution.max_stderr_bytes", past: "cut, with a mark" },
    {
      what: "a result, and console text, that is kept",
      fixed: ["MAX_KEPT_OUTPUT_BYTES"],
      past: "result: `OutputLimit`; console text: cut, with a mark",
    },
    {
      what: "values in a result, in arguments and in a line of JSON",
      fixed: ["MAX_VALUES"],
      past: "result: `OutputLimit`, use `--out` or `emit`; arguments: the call fails",
    },
    {
      what: "members of one object in these, and in what a server answers",
      fixed: ["MAX_MEMBERS"],
      past: "result: `OutputLimit`, use `--out` or `emit`; else the call fails",
    },
    {
      what: "levels of nesting in these",
      fixed: ["MAX_NESTING_DEPTH"],
      past: "`ResultNotSerializable`; arguments: the call fails",
    },
    {
      what: "a result with `ptc run --out`",
      fixed: ["MAX_FILE_RESULT_BYTES", "MAX_FILE_RESULT_VALUES"],
      past: "`OutputLimit`",
    },
    {
      what: "what is emitted, as JSON with base64",
      fixed: ["MAX_EMITTED_BLOCKS", "MAX_EMITTED_BYTES"],
      past: "`emit` throws",
    },
    { what: "message of an error", fixed: ["MAX_ERROR_MESSAGE_CHARS"], past: "cut" },
    {
      what: "all that is written past these before the sandbox is ended",
      fixed: ["MAX_RAW_STREAM_BYTES"],
      past: "`OutputLimit`",
    },
  ],
  "Its calls": [
    { what: "calls of a program", setting: "execution.max_tool_calls", past: "further calls fail" },
    { what: "calls at a time", setting: "execution.max_parallel_calls", past: "more wait" },
    {
      what: "calls that wait on the host, and their bytes",
      fixed: ["MAX_QUEUED_CALLS", "MAX_QUEUED_CALL_BYTES"],
      past: "more wait in the sandbox",
    },
    { what: "arguments of a call", fixed: ["MAX_CALL_FRAME_BYTES"], past: "the call fails" },
    {
      what: "what a call gives the program",
      fixed: ["MAX_REPLY_FRAME_BYTES"],
      past: "the call fails, and says that it was made",
    },
    {
      what: "time of a call",
      setting: "execution.tool_call_timeout_seconds",
      past: "the call fails; whether it took effect is not known",
    },
    { what: "name of a tool", fixed: ["MAX_TOOL_NAME_CHARS"], past: "ptc ends the program" },
    {
      what: "output of a command of `tools.local`",
      setting: "tools.local[].max_output_bytes",
      past: "ptc kills the command, and the call fails",
    },
    { what: "calls of `extract` in a program", setting: "extract.max_calls", past: "the call fails" },
    { what: "input of a call of `extract`", setting: "extract.max_input_bytes", past: "the call fails" },
  ],
  "What is kept": [
    { what: "age of a run", setting: "archive.keep_days", past: "ptc deletes it" },
    {
      what: "each series in the trace of a run, and traces of a run",
      fixed: ["MAX_TRACE_SERIES_CHARS", "MAX_TRACES"],
      past: "a replay continues with real clocks",
    },
    { what: "sessions at a time", setting: "sessions.max", past: "ptc refuses another" },
    { what: "idle time of a session", setting: "sessions.idle_minutes", past: "the session ends" },
    { what: "time that a suspended run waits", setting: "approvals.expire_minutes", past: "the run expires" },
    {
      what: "runs of one principal that wait for approvals, and their questions with arguments",
      fixed: ["MAX_PENDING", "MAX_QUESTION_BYTES"],
      past: "the call is denied, and says so",
    },
    { what: "age of an audit file", setting: "audit.keep_days", past: "ptc removes it" },
    { what: "connections of a sandbox", fixed: ["MAX_CONNECTIONS"], past: "ptc refuses another" },
  ],
};

/** Renders the page of all limits. @throws Error if a limit of the protocol is missing, so that none is added silently. */
export function printLimits(): string {
  const defaults = settingDefaults();
  const all = Object.values(SECTIONS).flat();
  const told = new Set(all.flatMap(({ fixed = [] }) => fixed));
  const untold = Object.keys(VALUES).filter((name) => !told.has(name as keyof typeof VALUES));
  if (untold.length > 0) throw new Error(`scripts/docs/print-limits.ts lacks ${untold.join(", ")}`);
  const value = ({ fixed, setting = "" }: Limit): string => {
    if (fixed !== undefined) return fixed.map((name) => shown(name, VALUES[name])).join(", ");
    if (!defaults.has(setting)) throw new Error(`scripts/docs/print-limits.ts names no setting: ${setting}`);
    const usual = defaults.get(setting);
    return typeof usual === "number" ? shown(setting, usual) : "";
  };
  const sections = Object.entries(SECTIONS).map(([name, rows]) =>
    [
      `## ${name}`,
      "",
      "| limit of | default | setting | past it |",
      "|---|---|---|---|",
      ...rows.map(
        (row) =>
          `| ${row.what} | ${value(row)} | ${row.setting === undefined ? "fixed" : `\`${row.setting}\``} | ${row.past} |`,
      ),
    ].join("\n"),
  );
  return `${INTRODUCTION}\n${sections.join("\n\n")}\n`;
}

const INTRODUCTION = `# Limits

What a program and its calls may use. Some limits are fixed; a [setting](settings.md) changes the others. Generated by \`node scripts/docs.ts\`.
`;

/** A number with its unit, which follows from the end of its name. */
function shown(name: string, value: number): string {
  const count = value.toLocaleString("en-US");
  if (!/bytes$/i.test(name)) {
    const unit = /(?:_|\.)(mb|chars|seconds|minutes|days)$/i.exec(name)?.[1]?.toLowerCase();
    const word = { mb: " MiB", chars: " characters", seconds: " s", minutes: " min", days: " days" }[
      unit ?? ""
    ];
    const noun = /VALUES$/.test(name)
      ? " values"
      : /BLOCKS$/.test(name)
        ? " blocks"
        : /FILES$/.test(name)
          ? " files"
          : "";
    return `${count}${word ?? noun}`;
  }
  const [size, unit] = value % (1024 * 1024) === 0 ? [value / (1024 * 1024), "MiB"] : [value / 1024, "KiB"];
  return `${size} ${unit}`;
}
