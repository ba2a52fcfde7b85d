import { RUNNER_PATH } from "../../protocol/runners.ts";
import type { LanguageFacts } from "../language.ts";

const NODE = "/usr/local/bin/node";

/** JavaScript counts as TypeScript without types, with the same bundler and runner. */
export const TYPESCRIPT_FACTS: LanguageFacts = {
  title: "TypeScript",
  offers: "TypeScript or JavaScript",
  names: ["typescript", "javascript"],
  suffixes: { ".ts": "typescript", ".mts": "typescript", ".js": "javascript", ".mjs": "javascript" },
  interpreters: { node: "javascript", deno: "typescript", bun: "typescript", tsx: "typescript" },
  unnamed: { language: "typescript", fileName: "program.ts" },
  ways: { output: "console.log", value: "globalThis.result" },
  runner: "javascript",
  start: {
    command: (heapMb) => [
      NODE,
      `--max-old-space-size=${heapMb}`,
      "--enable-source-maps",
      "--stack-trace-limit=50",
      // Turns off what no program needs: native code in the runner's process, and a debugger that a signal opens.
      "--no-addons",
      "--disable-sigusr1",
      RUNNER_PATH,
    ],
    variables: ["NODE_ENV=production"],
  },
  callSaved: ({ name, functionName, digest }) =>
    [
      `// ${name} ${digest}`,
      `import { ${functionName} } from "./programs/index.js";`,
      `globalThis.result = await ${functionName}(data);`,
      "",
    ].join("\n"),
};
