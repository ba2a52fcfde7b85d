import type { ServerListing } from "../../../catalog/parse-tool.ts";
import { buildServerModel } from "../../../catalog/tool-model.ts";
import type { GeneratedModule } from "../../../codegen/language-printer.ts";
import { PYTHON_PRINTER } from "../../../codegen/python/python-printer.ts";
import { serverModule } from "../../../protocol/tool-names.ts";

/** All stubs for some servers, by path, and what is read back of each module. */
export async function generateStubs(listings: readonly ServerListing[]) {
  const files = new Map<string, string>();
  const modules = new Map<string, GeneratedModule>();
  const warnings: unknown[] = [];
  for (const listing of listings) {
    const module = serverModule(listing.name);
    const built = buildServerModel(listing, module);
    const printed = await PYTHON_PRINTER.printModule(built.server);
    files.set(PYTHON_PRINTER.modulePath(module), printed.text);
    modules.set(module, PYTHON_PRINTER.readModule(module, printed.text));
    warnings.push(...built.warnings, ...printed.warnings);
  }
  const tools = [...modules.values()].flatMap((module) => module.tools);
  for (const [path, text] of PYTHON_PRINTER.printShared(tools)) files.set(path, text);
  return { files, modules, warnings };
}

/** A JSON value as Python source, on one line. */
export function pythonValue(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return Number.isInteger(value) ? String(BigInt(value)) : String(value);
  if (typeof value === "string")
    return JSON.stringify(value).replace(
      /[\u007f-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  return `{${Object.entries(value)
    .map(([key, each]) => `${pythonValue(key)}: ${pythonValue(each)}`)
    .join(", ")}}`;
}
