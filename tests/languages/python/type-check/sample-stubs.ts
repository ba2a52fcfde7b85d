import { buildServerModel } from "../../../../catalog/tool-model.ts";
import type { GeneratedModule } from "../../../../codegen/language-printer.ts";
import { PYTHON_PRINTER } from "../../../../codegen/python/python-printer.ts";
import type { ModuleSource } from "../../../../languages/module-source.ts";
import type { PythonTypeChecker } from "../../../../languages/python/type-check/type-check-python.ts";
import { listingOf } from "../../../codegen/list-tools.ts";
import { SAMPLE_SERVERS } from "../../typescript/type-check/sample-modules.ts";

/** A property that is a word of Python, and one that is no identifier. */
const MAIL = [
  {
    name: "send",
    inputSchema: {
      type: "object",
      properties: {
        from: { type: "string" },
        to: { type: "array", items: { type: "string" } },
        "reply-to": { type: "string" },
        priority: { type: "integer" },
      },
      required: ["from", "to"],
    },
  },
];

/** Stubs as codegen makes them: of small servers, with tools that are not available. */
export async function sampleStubs(): Promise<ModuleSource> {
  const modules = new Map<string, GeneratedModule>();
  for (const { module, name, tools } of [...SAMPLE_SERVERS, { module: "mail", name: "mail", tools: MAIL }]) {
    const { server } = buildServerModel(listingOf(tools, name), module);
    const { text } = await PYTHON_PRINTER.printModule(server);
    const names = server.tools.map(({ namespacedName }) => namespacedName);
    modules.set(
      module,
      PYTHON_PRINTER.readModule(module, text, new Set(names.filter((each) => !/__drop/.test(each)))),
    );
  }
  return { modules: () => [...modules.keys()], load: async (module) => modules.get(module) };
}

/** What a checker says of a program: "clean", or its message. A program that has a word of `await` awaits its calls. */
export async function verdictOf(
  checker: PythonTypeChecker,
  modules: ModuleSource,
  code: string,
): Promise<string> {
  const program = { code, data: {}, language: "python", fileName: "program.py" };
  const mode = /\b(?:await|async)\b/.test(code) ? "async" : "sync";
  const outcome = await checker.check(program, modules, mode);
  if (outcome.kind === "unchecked") return `unchecked: ${outcome.reason}`;
  return outcome.kind === "errors" ? outcome.message : outcome.kind;
}
