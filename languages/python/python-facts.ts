import { PYTHON_RUNNER_PATH } from "../../protocol/runners.ts";
import type { LanguageFacts } from "../language.ts";

const PYTHON = "/usr/bin/python3";

/** All that is known of Python where no program is in it. */
export const PYTHON_FACTS: LanguageFacts = {
  title: "Python",
  offers: "Python",
  names: ["python"],
  suffixes: { ".py": "python" },
  interpreters: { python: "python", pypy: "python" },
  unnamed: { language: "python", fileName: "program.py" },
  ways: { output: "print", value: "result" },
  runner: "python",
  start: {
    // Nothing is imported from the program's folder or the user's, and nothing compiled is written.
    command: (heapMb) => [PYTHON, "-P", "-s", "-B", PYTHON_RUNNER_PATH, `--memory-mb=${heapMb}`],
    // Sets have the same order in every sandbox. Threads reserve no memory that the program's limit would count.
    variables: ["PYTHONHASHSEED=0", "MALLOC_ARENA_MAX=1"],
  },
  // Who calls a program waits for it as it waits for its own calls.
  callSaved: ({ name, toolName, digest, code }) =>
    [
      `# ${name} ${digest}`,
      `from programs import ${toolName}`,
      `result = ${/\b(?:await|async)\b/.test(code) ? "await " : ""}${toolName}(data)`,
      "",
    ].join("\n"),
};
