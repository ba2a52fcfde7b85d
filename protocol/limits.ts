import { MAX_JSON_MEMBERS } from "../base/json.ts";

/**
 * Every size and count that the boundary between host and sandbox enforces. The configuration holds the limits that a user may set
 * (output bytes, calls per run, time). The limits here are properties of the protocol and cannot be turned off.
 */

/** Version of the frame protocol. The runner states it in its hello, and the host refuses any other. */
export const PROTOCOL_VERSION = 4;

/** Largest frame a sandbox may send: one call with its arguments. */
export const MAX_CALL_FRAME_BYTES = 16 * 1024 * 1024;

/** Largest frame the host may send: a program, or the result of one call including its large texts. */
export const MAX_REPLY_FRAME_BYTES = 64 * 1024 * 1024;

/** Deepest nesting of arrays and objects in anything that leaves the sandbox. */
export const MAX_NESTING_DEPTH = 128;

/** Values in anything that leaves the sandbox, including those in arrays and objects. */
export const MAX_VALUES = 250_000;

/** Members of one object in anything that leaves the sandbox, unless it goes to a file. */
export const MAX_MEMBERS = MAX_JSON_MEMBERS;

/** Connections one sandbox may have open to its socket. */
export const MAX_CONNECTIONS = 1;

/** Calls of one sandbox that wait on the host while others are in flight. At this number the host stops reading. */
export const MAX_QUEUED_CALLS = 1_000;

/** Bytes of all calls that wait on the host. At this number the host stops reading. */
export const MAX_QUEUED_CALL_BYTES = 32 * 1024 * 1024;

/** Largest program, in bytes of UTF-8. */
export const MAX_CODE_BYTES = 2 * 1024 * 1024;

/** Longest error message in an envelope, in characters. */
export const MAX_ERROR_MESSAGE_CHARS = 4_000;

/** Bytes a program may write past its caps (raw stdout, raw stderr) before its sandbox is killed. */
export const MAX_RAW_STREAM_BYTES = 512 * 1024 * 1024;

/** Bytes of console text, and of a result as JSON, that ptc keeps of a run when it would not show more anyway. */
export const MAX_KEPT_OUTPUT_BYTES = 4 * 1024 * 1024;

/** The same limit for a result that is written to a file. The larger of the two applies. */
export const MAX_FILE_RESULT_BYTES = 32 * 1024 * 1024;

/** Values in a result that is written to a file. */
export const MAX_FILE_RESULT_VALUES = 2_500_000;

/** Bytes of the one output line that are reserved for the envelope without its data. */
export const ENVELOPE_OVERHEAD_BYTES = 1_024;

/** Bytes for a claim that is a failure, in addition to the output cap. Fits a message with every character escaped. */
export const MAX_CLAIM_FAILURE_BYTES = 32 * 1024;

/** Characters of each of the two series in a trace. */
export const MAX_TRACE_SERIES_CHARS = 256 * 1024;

/** Longest namespaced name of a tool that a program can call, in UTF-16 code units. */
export const MAX_TOOL_NAME_CHARS = 512;

/** Traces that one sandbox may send. The host keeps the last. */
export const MAX_TRACES = 256;
