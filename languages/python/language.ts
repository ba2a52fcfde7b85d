import { encodePythonBundle, PYTHON_RUNNER_PATH } from "../../protocol/runners.ts";
import type { RegisteredLanguage } from "../language.ts";

const INTERPRETER = "/usr/bin/python3";
const PREFIX = String.raw`(?:\b[bfruBFRU]{1,2}(?=["']))?`;

/** Python 3.11. */
export const PYTHON: RegisteredLanguage = {
  title: "Python",
  offers: "Python",
  names: ["python"],
  suffixes: { ".py": "python" },
  interpreters: { python: "python", pypy: "python" },
  unnamed: { language: "python", fileName: "program.py" },
  idioms: { output: "print", value: "result" },
  runner: "python",
  start: {
    // Imports nothing from the program's folder or the user's, and writes no compiled files.
    command: (heapMb) => [INTERPRETER, "-P", "-s", "-B", PYTHON_RUNNER_PATH, `--memory-mb=${heapMb}`],
    // Sets have the same order in every sandbox. Threads reserve no memory that the program's limit would count.
    variables: ["PYTHONHASHSEED=0", "MALLOC_ARENA_MAX=1"],
    freshness: encodePythonBundle({
      mode: "sync",
      source: "import ssl\nresult = ssl.RAND_bytes(32).hex()",
      file_name: "freshness.py",
      modules: {},
    }),
  },
  syntax: {
    comment: String.raw`#[^\n]*`,
    string: `${PREFIX}(?:${[
      String.raw`"""(?:[^"\\]|\\[^]|"(?!""))*(?:""")?`,
      String.raw`'''(?:[^'\\]|\\[^]|'(?!''))*(?:''')?`,
      String.raw`"(?:[^"\\\n]|\\[^])*"?`,
      String.raw`'(?:[^'\\\n]|\\[^])*'?`,
    ].join("|")})`,
    // `match` and `case` can also be names, and are not highlighted.
    keywords:
      "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield",
  },
  loadPrinter: async () => (await import("../../codegen/python/python-printer.ts")).PYTHON_PRINTER,
  whyUnchecked: async () => (await import("./type-check/pyright-process.ts")).whyPyrightIsMissing(),
  open: async (processes) => (await import("./python.ts")).openPython(processes),
  // The caller waits for the program in the same way as the program waits for its calls.
  callSaved: ({ name, toolName, digest, code }) =>
    [
      `# ${name} ${digest}`,
      `from programs import ${toolName}`,
      `result = ${/\b(?:await|async)\b/.test(code) ? "await " : ""}${toolName}(data)`,
      "",
    ].join("\n"),
};
