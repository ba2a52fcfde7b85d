import { assignIdentifiers } from "../../catalog/identifiers.ts";
import { modulePath } from "../../catalog/store/stored-catalog.ts";
import { byCodeUnit } from "../../protocol/canonical-json.ts";
import {
  EXTRACT_NAME,
  isWritableName,
  type NamedTool,
  PROGRAMS_MODULE,
  ToolNames,
} from "../../protocol/tool-names.ts";
import type { EditorSetup, ExampleCall, LanguagePrinter, ProgramGuide } from "../language-printer.ts";
import { EXTRACT_DECLARATIONS, NODE_DECLARATIONS, NODE_FILE, RUNTIME_DECLARATIONS } from "./declarations.ts";
import { printServerModule } from "./print-typescript.ts";
import { readModule } from "./read-module.ts";
import { toolSignature } from "./signature.ts";

/**
 * `tsconfig.json` in the output folder. It makes editors read programs beside that folder like ptc: imports from `./servers/`
 * lead to the output folder, and the check is as lenient as ptc's.
 */
export const EDITOR_CONFIG = `/** How editors read programs beside ptc.yaml. Written by \`ptc generate\`: edits are lost. */
${JSON.stringify(
  {
    compilerOptions: {
      target: "esnext",
      lib: ["esnext"],
      module: "preserve",
      moduleResolution: "bundler",
      moduleDetection: "force",
      allowImportingTsExtensions: true,
      allowJs: true,
      // The last root leads from a program beside ptc.yaml to the module of saved programs.
      rootDirs: ["..", ".", "../programs", "./programs"],
      paths: { "servers/*": ["./servers/*"] },
      types: [],
      strict: false,
      skipLibCheck: true,
      noEmit: true,
    },
    include: [
      "../*.ts",
      "../*.mts",
      "../*.js",
      "../*.mjs",
      "../programs/*.ts",
      "../programs/*.js",
      "./*.d.ts",
      `./${NODE_FILE}`,
      "./servers/**/*.ts",
    ],
  },
  null,
  2,
)}
`;

/** Names in the example besides those of the call. */
const NAMES = new Set(["JSON", "console", "each", "found", "parallel"]);

function printExample({ module, tool: { identifier }, argument }: ExampleCall): string | undefined {
  if (NAMES.has(identifier)) return undefined;
  const call =
    argument === ""
      ? `${identifier}({})`
      : `parallel(["a", "b"].map((each) => () => ${identifier}({ ${argument}: each })), { limit: 5 })`;
  return `import { ${identifier} } from "./servers/${module}/index.js";
const found = await ${call};
console.log(JSON.stringify(found).slice(0, 500));`;
}

/** The text that a model reads about programs in TypeScript. Every word is in the context of every conversation. */
const TYPESCRIPT_GUIDE: ProgramGuide = {
  signatures: "TypeScript",
  programs: "TypeScript or JavaScript",
  givesBack: "prints with console.log or sets as globalThis.result",
  abilities: "Top-level await works, Node's built-in modules can be imported",
  calls:
    '`import * as x from "./servers/<server>/index.js"; await x.someTool({...})`, or `await mcp__<server>__<tool>({...})`',
  example: printExample,
  rules:
    "Functions are the tools' names in camelCase. A failed call throws ToolError. Types are checked first. Tools without an output schema return any: print a small sample before relying on its shape.",
  extract: '`await extract(text, { name: "string", tags: ["string"] })`',
  brief:
    "functions are the tools' names in camelCase and take one object; print with console.log, or set globalThis.result.",
};

/** A configuration leads to the modules if it extends the generated one, or has the output folder among its roots. */
const TYPESCRIPT_EDITOR: EditorSetup = {
  files: ["tsconfig.json", "jsconfig.json"],
  settings: "tsconfig.json",
  paths({ json }) {
    const config = json as { extends?: unknown; compilerOptions?: { rootDirs?: unknown } } | undefined;
    return [config?.extends, config?.compilerOptions?.rootDirs].flat();
  },
  advice: (settings) =>
    `add "rootDirs": [".", "./generated"] to its compilerOptions, and the programs and "generated/*.d.ts" to its include (or extend ${settings})`,
};

/** The version of this generator. It must change whenever the same definitions would give another text. */
export const GENERATOR = "10";

/** Prints modules in TypeScript, which programs in JavaScript import too. */
export const TYPESCRIPT_PRINTER: LanguagePrinter = {
  language: "typescript",
  generator: GENERATOR,
  guide: TYPESCRIPT_GUIDE,
  editor: TYPESCRIPT_EDITOR,
  nameFunctions: assignIdentifiers,
  modulePath,
  printModule: printServerModule,
  savedPrograms: {
    path: `${PROGRAMS_MODULE}/index.ts`,
    text: `/** Saved programs. Written by \`ptc generate\`: edits are lost. */\nexport * from "../servers/${PROGRAMS_MODULE}/index.js";\n`,
  },
  printShared: (tools) =>
    new Map([
      ["runtime.d.ts", RUNTIME_DECLARATIONS],
      ["globals.d.ts", printGlobals(tools)],
      [NODE_FILE, NODE_DECLARATIONS],
      [TYPESCRIPT_EDITOR.settings, EDITOR_CONFIG],
    ]),
  signature: toolSignature,
  importLine: (module) =>
    module === PROGRAMS_MODULE
      ? `import * as ${module} from "./${module}/index.js";`
      : `import * as ${module} from "./servers/${module}/index.js";`,
  functionName: ({ identifier }) => identifier,
  readModule,
};

/** Prints `globals.d.ts`: tools by their namespaced names in the form of identifiers. */
export function printGlobals(tools: readonly NamedTool[]): string {
  const names = new ToolNames(tools);
  const lines = tools
    .map((tool) => ({ tool, name: names.callable(tool) }))
    .filter(({ name }) => isWritableName(name))
    .sort((a, b) => byCodeUnit(a.name, b.name))
    .map(
      ({ tool, name }) =>
        `declare const ${name}: typeof import("./servers/${tool.module}/index.js").${tool.identifier};`,
    );
  const header = "/** Every tool by its namespaced name. Written by `ptc generate`: edits are lost. */";
  const asks = tools.some(({ namespacedName }) => namespacedName === EXTRACT_NAME);
  return `${[header, ...lines, ...(asks ? ["", EXTRACT_DECLARATIONS.trimEnd()] : [])].join("\n")}\n`;
}
