import type { GeneratedTypes } from "./type-check-generated.ts";
import { didYouMean, nearestNames } from "./type-check-nearest.ts";
import {
  type Diagnostic,
  isIdentifier,
  isImportClause,
  isImportDeclaration,
  isImportSpecifier,
  isStringLiteral,
  isTypeNode,
  isTypeOfExpression,
  type Node,
  type SourceFile,
} from "./typescript-api.ts";

/** Says that a name is not defined, unless that does no harm: in a type, behind `typeof`, or made at run time. */
export function judgeName(
  diagnostic: Diagnostic,
  node: Node,
  file: SourceFile,
  generated: GeneratedTypes,
  modules: readonly string[],
): string | undefined {
  const [, name, suggestion] =
    /^(?:Cannot find name|No value exists in scope for the shorthand property) '(.+?)'(?:\. Did you mean '(.+?)'\?)?/.exec(
      diagnostic.text,
    ) ??
    /^'(.+?)' only refers to a type/.exec(diagnostic.text) ??
    [];
  if (name === undefined || isInType(node) || isMadeAtRunTime(name, file)) return undefined;
  if (!name.startsWith("mcp__"))
    return `'${name}' is not defined${didYouMean(suggestion === undefined ? [] : [suggestion])}`;
  const nearest = nearestNames(
    name,
    generated.tools.map((tool) => tool.namespacedName),
  );
  if (nearest.length > 0) return `there is no tool '${name}'${didYouMean(nearest)}`;
  const [, server = "", tool = ""] = /^mcp__(.+?)__(.*)$/.exec(name) ?? [];
  const servers = nearestNames(server, modules).map((module) => `mcp__${module}__${tool}`);
  return `there is no tool '${name}'${didYouMean(servers)}`;
}

/** Says that a module has no such export, when the program uses it for a value; the bundler drops the others. */
export function judgeImport(node: Node, file: SourceFile, generated: GeneratedTypes): string | undefined {
  let declaration = node;
  while (!isImportDeclaration(declaration)) {
    if (declaration.parent === undefined) return undefined;
    declaration = declaration.parent;
  }
  const path = isStringLiteral(declaration.moduleSpecifier) ? declaration.moduleSpecifier.text : "";
  const module = /servers\/([a-z0-9_]+)/.exec(path)?.[1];
  const specifier = [node, node.parent].find((each) => each !== undefined && isImportSpecifier(each));
  const clause = declaration.importClause;
  const isDefault = specifier === undefined;
  const local = isDefault ? clause?.name : isImportSpecifier(specifier) ? specifier.name : undefined;
  if (module === undefined || local === undefined || !isUsedAsValue(local.text, file)) return undefined;
  if (isDefault && clause !== undefined && isImportClause(clause))
    return `servers/${module} has no default export; write import * as ${local.text} from "./servers/${module}/index.js"`;
  const imported = node.getText();
  const names = generated.tools.filter((tool) => tool.module === module).map((tool) => tool.identifier);
  return `servers/${module} has no function '${imported}'${didYouMean(nearestNames(imported, names))}`;
}

function isInType(node: Node): boolean {
  for (let each = node; each.parent !== undefined; each = each.parent) {
    if (isTypeNode(each)) return true;
    if (isTypeOfExpression(each)) return true;
  }
  return false;
}

/** Whether the program looks whether the name exists, or may put it among the globals itself. */
function isMadeAtRunTime(name: string, file: SourceFile): boolean {
  const escaped = name.replace(/\$/g, "\\$");
  if (new RegExp(`\\btypeof\\s+\\(?\\s*${escaped}\\b`).test(file.text)) return true;
  const text = file.text.replace(/\bglobalThis\.result\b|\bglobalThis as any\)\.result\b/g, "");
  if (!/\b(?:globalThis|global|eval|Function)\b/.test(text)) return false;
  return new RegExp(`[.["'\`{,]\\s*${escaped}\\b["'\`]?\\s*\\]?\\s*[=,:}]`).test(text);
}

function isUsedAsValue(name: string, file: SourceFile): boolean {
  const visit = (node: Node): boolean => {
    if (isImportDeclaration(node) || isTypeNode(node)) return false;
    if (isIdentifier(node) && node.text === name) return true;
    return node.forEachChild((child) => visit(child) || undefined) ?? false;
  };
  return visit(file);
}
