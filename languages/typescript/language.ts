import { RUNNER_PATH } from "../../protocol/runners.ts";
import type { RegisteredLanguage } from "../language.ts";

const NODE = "/usr/local/bin/node";
/** The threads that Node.js starts for V8 by default. */
const USUAL_POOL = 4;

/** TypeScript and JavaScript, which share the bundler and the runner. JavaScript counts as TypeScript without types. */
export const TYPESCRIPT: RegisteredLanguage = {
  title: "TypeScript",
  offers: "TypeScript or JavaScript",
  names: ["typescript", "javascript"],
  suffixes: { ".ts": "typescript", ".mts": "typescript", ".js": "javascript", ".mjs": "javascript" },
  interpreters: { node: "javascript", deno: "typescript", bun: "typescript", tsx: "typescript" },
  unnamed: { language: "typescript", fileName: "program.ts" },
  idioms: { output: "console.log", value: "globalThis.result" },
  runner: "javascript",
  start: {
    command: (heapMb, cpus) => [
      NODE,
      `--max-old-space-size=${heapMb}`,
      // More threads than processors only make a sandbox dearer to start and to restore.
      `--v8-pool-size=${Math.min(Math.ceil(cpus), USUAL_POOL)}`,
      "--enable-source-maps",
      "--stack-trace-limit=50",
      // Turns off native code in the runner's process, and a debugger that a signal opens. No program needs them.
      "--no-addons",
      "--disable-sigusr1",
      RUNNER_PATH,
    ],
    variables: ["NODE_ENV=production"],
    freshness:
      'import { generateKeyPairSync } from "node:crypto"; globalThis.result = generateKeyPairSync("x25519").publicKey.export({ format: "jwk" });',
  },
  syntax: {
    // Quotes in regular expressions and templates within templates may be misread.
    comment: String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`,
    string: String.raw`"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|\`(?:[^\`\\]|\\[^])*\`?`,
    keywords:
      "as async await break case catch class const continue default delete do else export extends false finally for from function if import in instanceof interface let new null of return static super switch this throw true try type typeof undefined var void while yield",
  },
  loadPrinter: async () =>
    (await import("../../codegen/typescript/typescript-printer.ts")).TYPESCRIPT_PRINTER,
  // TypeScript is installed with ptc.
  whyUnchecked: async () => undefined,
  open: async (processes) => (await import("./typescript.ts")).openTypeScript(processes),
  callSaved: ({ name, functionName, digest }) =>
    [
      `// ${name} ${digest}`,
      `import { ${functionName} } from "./programs/index.js";`,
      `globalThis.result = await ${functionName}(data);`,
      "",
    ].join("\n"),
};
