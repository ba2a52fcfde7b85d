/** The runners in an image, by the names in their hellos. Each runs the programs of one language. */
export type RunnerName = "javascript" | "python";

/** How a runner ends whose interpreter has failed by itself: with this exit code, and a line on stderr that begins so and says why. */
export const INTERPRETER_FAILED = { code: 70, says: "the interpreter has failed: " } as const;

/** In the place of a snapshot's file: the Python runner makes a snapshot, and writes it to stdout. */
export const MAKE_SNAPSHOT = "make";
/** The exit code of a Python runner that cannot start from its snapshot. */
export const UNUSABLE_SNAPSHOT = 71;

/** How to start a runner in a sandbox. Its language registers this, and the engine adds the guard and the isolation. */
export interface RunnerStart {
  /** Returns the command line, with `heapMb` megabytes of memory for the program's values, and for so many processors. */
  command(heapMb: number, cpus: number): string[];
  /** The environment variables, each `NAME=value`. */
  variables: readonly string[];
  /**
   * A program, in the form that the runner takes, whose result comes from randomness that no program's seed controls, such as keys.
   * Two copies of a runner give the same result only if their randomness was copied too.
   */
  freshness: string;
}

export type RunnerStarts = Readonly<Record<RunnerName, RunnerStart>>;

/**
 * The `bundle` of a program for the Python runner: one JSON document. It holds the program's text and a table of names, so that text
 * from a server never runs as Python.
 */
export interface PythonBundle {
  /** `async`: calls return awaitables, and the program may use `await` at its top level. `sync`: calls block. */
  mode: "async" | "sync";
  /** The program as it was written. */
  source: string;
  /** The program's name in tracebacks. */
  file_name: string;
  /** Whether the program may ask a model. */
  extract?: boolean;
  /** The function that calls each tool, by server module and function name. */
  modules: Record<string, Record<string, PythonFunction>>;
  /**
   * The saved programs that it calls, by their tools. Absent if it calls none. They wait for calls as the program does. `output` is
   * the JSON Schema of a saved program's result, as JSON text.
   */
  programs?: Record<string, { source: string; file_name: string; output?: string }>;
}

/** A function that calls one tool. */
interface PythonFunction {
  /** Namespaced name, with the tool's name unchanged. */
  tool: string;
  /** Properties by the names of their parameters, where the two differ. Other keywords are sent unchanged. */
  parameters: Record<string, string>;
}

export function encodePythonBundle(bundle: PythonBundle): string {
  return JSON.stringify(bundle);
}

/** Paths inside a sandbox, where the host mounts files and the runner finds them. */

export const SANDBOX_SOCKET_DIRECTORY = "/run/ptc";
export const SOCKET_FILE_NAME = "broker.sock";
/** The sockets that are the runner's stdout and stderr. */
export const STDOUT_FILE_NAME = "stdout.sock";
export const STDERR_FILE_NAME = "stderr.sock";
/** The sockets that are the stdin and stdout of a server. */
export const SERVER_STDIO_FILE_NAMES = ["server-stdin.sock", "server-stdout.sock"] as const;
export const GUARD_PATH = "/opt/ptc/guard.pl";
export const RUNNER_PATH = "/opt/ptc/runner.mjs";
export const PYTHON_RUNNER_PATH = "/opt/ptc/python/main.py";
export const WORKSPACE = "/workspace";
/** The folder of the files that a person passes to a program. */
export const FILES_FOLDER = `${WORKSPACE}/files`;

/** Scheme of the program's file in source maps. It distinguishes the program's stack frames from all others. */
export const PROGRAM_SCHEME = "program:";
