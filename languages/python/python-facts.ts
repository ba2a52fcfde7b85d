import type { LanguageFacts } from "../language.ts";

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
  // Who calls a program waits for it as it waits for its own calls.
  callSaved: ({ name, toolName, digest, code }) =>
    [
      `# ${name} ${digest}`,
      `from programs import ${toolName}`,
      `result = ${/\b(?:await|async)\b/.test(code) ? "await " : ""}${toolName}(data)`,
      "",
    ].join("\n"),
};
