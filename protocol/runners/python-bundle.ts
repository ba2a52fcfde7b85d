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
