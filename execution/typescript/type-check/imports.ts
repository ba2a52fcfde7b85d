import { explainMissingExport } from "../missing-export.ts";
import {
  isIdentifier,
  isImportClause,
  isImportDeclaration,
  isImportSpecifier,
  isStringLiteral,
  isTypeNode,
  type Node,
  type SourceFile,
} from "../typescript-api.ts";
import type { GeneratedTypes } from "./generated-types.ts";

/** Says that a module has no such export. Imports that the program uses only as types are dropped by the bundler. */
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

function isUsedAsValue(name: string, file: SourceFile): boolean {
  const visit = (node: Node): boolean => {
    if (isImportDeclaration(node) || isTypeNode(node)) return false;
    if (isIdentifier(node) && node.text === name) return true;
    return node.forEachChild((child) => visit(child) || undefined) ?? false;
  };
  return visit(file);
}
