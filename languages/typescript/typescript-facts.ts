import type { LanguageFacts } from "../language.ts";

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
  callSaved: ({ name, functionName, digest }) =>
    [
      `// ${name} ${digest}`,
      `import { ${functionName} } from "./programs/index.js";`,
      `globalThis.result = await ${functionName}(data);`,
      "",
    ].join("\n"),
};
