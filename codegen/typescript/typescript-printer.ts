import { assignIdentifiers } from "../../catalog/identifiers.ts";
import { modulePath } from "../../catalog/store/lockfile.ts";
import { PROGRAMS_MODULE } from "../../protocol/tools/programs-module.ts";
import type { LanguagePrinter } from "../language-printer.ts";
import { NODE_DECLARATIONS, NODE_FILE } from "./editor/node-declarations.ts";
import { EDITOR_CONFIG } from "./editor/print-editor-config.ts";
import { TYPESCRIPT_EDITOR } from "./editor/typescript-editor.ts";
import { GENERATOR } from "./generator-version.ts";
import { printGlobals } from "./print-globals.ts";
import { RUNTIME_DECLARATIONS } from "./print-runtime.ts";
import { printServerModule } from "./print-typescript.ts";
import { TYPESCRIPT_GUIDE } from "./program-guide.ts";
import { readModule } from "./read-module.ts";
import { toolSignature } from "./tool-signature.ts";

/** Prints modules in TypeScript, which programs in JavaScript import as well. */
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
