/** The runners that an image has, as their hellos name them. Each runs the programs of one language. */
export type RunnerName = "javascript" | "python";

/** How a runner is started in a sandbox. Its language registers it; an engine adds the guard and the wall around it. */
export interface RunnerStart {
  /** The command line, with so much memory for the program's values. */
  command(heapMb: number): string[];
  /** The variables of its environment, each `NAME=value`. */
  variables: readonly string[];
  /**
   * A program, as the runner takes it, whose result is drawn from what no seed of a program decides, such as keys: two copies of a
   * runner have the same only where their randomness was copied too.
   */
  freshness: string;
}

export type RunnerStarts = Readonly<Record<RunnerName, RunnerStart>>;

/**
 * What the Python runner takes as the `bundle` of a program: one JSON document. It holds the program's text and a table of names,
 * so that nothing that a server wrote ever runs as Python.
 */
export interface PythonBundle {
  /** `async`: calls give awaitables, and the program may use `await` at its top level. `sync`: calls block. */
  mode: "async" | "sync";
  /** The program as it was written. */
  source: string;
  /** What tracebacks call it. */
  file_name: string;
  /** Whether the program may ask a model. */
  extract?: boolean;
  /** The functions of each server's module: server module, to function, to tool. */
  modules: Record<string, Record<string, PythonFunction>>;
  /**
   * The saved programs that it calls, by their tools; absent where it calls none. They wait for calls as the program does. `output` is the JSON schema
   * of what one gives back, as JSON text.
   */
  programs?: Record<string, { source: string; file_name: string; output?: string }>;
}

/** A function that calls one tool. */
interface PythonFunction {
  /** Namespaced name, with the tool's own name as it is. */
  tool: string;
  /** Properties by the names of their parameters, where the two differ. Other keywords travel as they are written. */
  parameters: Record<string, string>;
}

export function encodePythonBundle(bundle: PythonBundle): string {
  return JSON.stringify(bundle);
}

/** Where things are inside a sandbox: the host mounts them there, the runner finds them there. */

export const SANDBOX_SOCKET_DIRECTORY = "/run/ptc";
export const SOCKET_FILE_NAME = "broker.sock";
/** The sockets that are the runner's stdout and stderr. */
export const STDOUT_FILE_NAME = "stdout.sock";
export const STDERR_FILE_NAME = "stderr.sock";
export const GUARD_PATH = "/opt/ptc/guard.pl";
export const RUNNER_PATH = "/opt/ptc/runner.mjs";
export const PYTHON_RUNNER_PATH = "/opt/ptc/python/main.py";
export const WORKSPACE = "/workspace";
/** Where the files stand that a person hands to a program. */
export const FILES_FOLDER = `${WORKSPACE}/files`;

/** Scheme of the user's own file in source maps, which distinguishes its stack frames from all others. */
export const PROGRAM_SCHEME = "program:";
