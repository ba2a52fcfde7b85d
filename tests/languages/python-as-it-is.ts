import type { Language } from "../../languages/language.ts";
import { PYTHON } from "../../languages/python/language.ts";
import { encodePythonBundle, type PythonBundle } from "../../protocol/runners.ts";

/** The tools of the server `desk` that a program in Python can import. All others it can call by their namespaced names. */
const DESK = ["echo", "add", "fail", "slow", "big", "note", "look"];

/** Python as the host sends it to its runner, without any check. A program without `await` and `async` blocks in calls. */
export const PYTHON_AS_IT_IS: Language = {
  ...PYTHON,
  looksLike: () => false,
  accepts: async () => true,
  prepare: async ({ code, fileName }) => ({ ok: true, bundle: encodePythonBundle(bundleOf(code, fileName)) }),
  advise: async () => [],
  warm: async () => {},
  close: async () => {},
};

function bundleOf(source: string, file_name: string): PythonBundle {
  const desk = Object.fromEntries(
    DESK.map((name) => [name, { tool: `mcp__desk__${name}`, parameters: { from_: "from" } }]),
  );
  const reads = { tool: "mcp__desk__resources/read", parameters: {} };
  return {
    mode: /\b(?:await|async)\b/.test(source) ? "async" : "sync",
    source,
    file_name,
    modules: { desk: { ...desk, resources_read: reads } },
  };
}
