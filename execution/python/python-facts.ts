import type { LanguageFacts } from "../prepare/language.ts";

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
};
