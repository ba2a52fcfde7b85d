import { isWritableName } from "../protocol/tool-alias.ts";
import { type DeclaredTool, explainUnavailable } from "./declared-tools.ts";
import { explainAmbiguous } from "./mentioned-tools.ts";
import { explainMissingExport } from "./missing-export.ts";
import { didYouMean, nearestNames } from "./nearest-names.ts";
import type { GeneratedTypes } from "./type-check-generated.ts";
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
  const misread = misreadTool(diagnostic.pos, file.text, generated.tools);
  if (misread !== undefined) {
    const callable = generated.names.callable(misread);
    return `'${misread.namespacedName}' is no name that code can have; write ${callable}(...)`;
  }
  if (name.startsWith("mcp__")) return explainUnknownTool(name, generated, modules);
  return `'${name}' is not defined${didYouMean(suggestion === undefined ? [] : [suggestion])}`;
}

function explainUnknownTool(
  name: string,
  { tools, names }: GeneratedTypes,
  modules: readonly string[],
): string {
  const meant = names.resolve(name);
  const [first, another] = meant;
  if (another !== undefined) return explainAmbiguous(name, meant, names);
  if (first !== undefined) return explainUnavailable(first);
  const callable = tools.filter(({ isAvailable }) => isAvailable).map((tool) => names.callable(tool));
  const nearest = nearestNames(name, callable);
  if (nearest.length > 0) return `there is no tool '${name}'${didYouMean(nearest)}`;
  const [, server = "", tool = ""] = /^mcp__(.+?)__(.*)$/.exec(name) ?? [];
  const servers = nearestNames(server, modules).map((module) => `mcp__${module}__${tool}`);
  return `there is no tool '${name}'${didYouMean(servers)}`;
}

/** The tool whose exact name, with characters that mean something else in code, a place in the text is part of. */
function misreadTool(place: number, text: string, tools: readonly DeclaredTool[]): DeclaredTool | undefined {
  const around = tools.filter(({ namespacedName }) => {
    if (isWritableName(namespacedName)) return false;
    const { length } = namespacedName;
    return text.slice(Math.max(0, place - length + 1), place + length).includes(namespacedName);
  });
  return around.sort((a, b) => b.namespacedName.length - a.namespacedName.length)[0];
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
  const isWhole = isDefault && clause !== undefined && isImportClause(clause);
  return explainMissingExport(module, isWhole ? "default" : node.getText(), local.text, generated.tools);
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
