import { assignIdentifiers } from "../../catalog/identifiers.ts";
import { parseTool } from "../../catalog/parse-tool.ts";
import { buildToolModel } from "../../catalog/tool-model.ts";
import { PROGRAMS_MODULE } from "../../protocol/tools/programs-module.ts";
import type { LanguagePrinter } from "../language-printer.ts";
import { awaited, eitherWay } from "./either-way.ts";
import { printPythonModule } from "./print-python.ts";
import { printPythonSignature } from "./print-python-signature.ts";
import { BUILTINS_FILE, moduleFile, PYTHON_STUBS, SERVERS_FILE } from "./program-stubs.ts";
import { PYRIGHT_CONFIG, PYTHON_EDITOR } from "./python-editor.ts";
import { PYTHON_GENERATOR } from "./python-generator.ts";
import { PYTHON_GUIDE } from "./python-guide.ts";
import { functionName, packageName } from "./python-names.ts";
import { readPythonModule } from "./reading/read-python-module.ts";

/** Prints stubs for programs in Python. Type checkers and editors read them; they never run. */
export const PYTHON_PRINTER: LanguagePrinter = {
  language: "python",
  generator: PYTHON_GENERATOR,
  guide: PYTHON_GUIDE,
  editor: PYTHON_EDITOR,
  nameFunctions: assignIdentifiers,
  modulePath: moduleFile,
  printModule: async (server) => {
    const { text, warnings } = printPythonModule(server);
    return { text: eitherWay(text), warnings };
  },
  savedPrograms: {
    path: `${PROGRAMS_MODULE}/__init__.pyi`,
    text: `"""Saved programs. Written by \`ptc generate\`: edits are lost."""\n\nfrom servers.${PROGRAMS_MODULE} import *\n`,
  },
  printShared: (tools) =>
    new Map([
      [BUILTINS_FILE, eitherWay(PYTHON_STUBS.builtins(tools, "async"))],
      [PYTHON_EDITOR.settings, PYRIGHT_CONFIG],
      [SERVERS_FILE, PYTHON_STUBS.servers(tools.map(({ module }) => module))],
    ]),
  signature: async (tool, form) => {
    const definition = parseTool(tool);
    if (definition === undefined) return `${functionName(tool.name, tool.identifier)}(**arguments)`;
    const { module, identifier, learned, unwraps = false } = tool;
    const model = buildToolModel(definition, module, identifier, undefined, learned, unwraps);
    return printPythonSignature(model, form);
  },
  importLine: (module) => `import ${module === PROGRAMS_MODULE ? module : `servers.${packageName(module)}`}`,
  functionName: ({ name, identifier }) => functionName(name, identifier),
  readModule: (module, text, callable) => readPythonModule(module, awaited(text), callable),
};
