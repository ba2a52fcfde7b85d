import { byCodeUnit } from "../../base/by-code-unit.ts";
import { EITHER_WAY } from "./either-way.ts";
import { packageName } from "./python-names.ts";

/** The text of `servers/__init__.pyi`: `servers.<server_module>` for each server that has tools. */
export function printServersPackage(modules: readonly string[]): string {
  const header = '"""The servers, a module each. Written by `ptc generate`: edits are lost."""';
  const distinct = [...new Set(modules.map(packageName))].sort(byCodeUnit);
  const imports = distinct.map((module) => `from . import ${module} as ${module}`);
  return `${[header, EITHER_WAY, ...(imports.length === 0 ? [] : [imports.join("\n")])].join("\n\n")}\n`;
}
