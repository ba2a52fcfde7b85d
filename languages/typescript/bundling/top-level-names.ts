import type { Node } from "acorn";
import type { Program } from "../../program.ts";
import { reduceToJavaScript } from "./bundler.ts";

/** What a program declares at its top level and has a value. */
interface TopLevelNames {
  declared: readonly DeclaredName[];
  imported: readonly ImportedName[];
}

interface DeclaredName {
  readonly name: string;
  readonly isAssignable: boolean;
}

interface ImportedName {
  readonly name: string;
  /** The module as the program writes it. */
  readonly from: string;
  /** Its name there; `*` for all of the module. */
  readonly exported: string;
}

type SyntaxNode = Node & Record<string, unknown>;

/** Names that mean something else to each program, and the one that no property can have. */
const OWN: ReadonlySet<string> = new Set(["result", "data", "undefined", "globalThis", "__proto__"]);

/** Finds the names that a program declares at its top level; none in a text that is no module. Never rejects. */
export async function findTopLevelNames({ code, language }: Program): Promise<TopLevelNames> {
  let body: readonly SyntaxNode[];
  try {
    const plain = await reduceToJavaScript(`${code}\nexport {};`, {
      loader: language === "typescript" ? "ts" : "js",
      target: "esnext",
      logLevel: "silent",
      // Imports stay that the program itself does not use, as a later one may.
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    });
    const { parse } = await import("acorn");
    const parsed = parse(plain, {
      ecmaVersion: "latest",
      sourceType: "module",
      allowAwaitOutsideFunction: true,
    });
    body = parsed.body as unknown as SyntaxNode[];
  } catch {
    return { declared: [], imported: [] };
  }
  const declared = new Map<string, boolean>();
  const imported = new Map<string, ImportedName>();
  for (const statement of body) {
    if (statement.type === "ImportDeclaration")
      for (const each of importsOf(statement)) imported.set(each.name, each);
    else for (const { name, isAssignable } of declarationsOf(statement)) declared.set(name, isAssignable);
  }
  return {
    declared: [...declared].flatMap(([name, isAssignable]) =>
      OWN.has(name) ? [] : [{ name, isAssignable }],
    ),
    imported: [...imported.values()].filter(({ name }) => !OWN.has(name)),
  };
}

function importsOf({ source, specifiers }: SyntaxNode): ImportedName[] {
  const from = String(Reflect.get(source as object, "value"));
  return (specifiers as SyntaxNode[]).map(({ type, local, imported }) => ({
    name: nameOf(local),
    from,
    exported:
      type === "ImportNamespaceSpecifier"
        ? "*"
        : type === "ImportDefaultSpecifier"
          ? "default"
          : nameOf(imported),
  }));
}

function declarationsOf(statement: SyntaxNode): DeclaredName[] {
  const { type, declaration } = statement;
  if (type === "ExportNamedDeclaration" || type === "ExportDefaultDeclaration")
    return isNode(declaration) ? declarationsOf(declaration) : [];
  if (type === "FunctionDeclaration" || type === "ClassDeclaration")
    return isNode(statement.id) ? [{ name: nameOf(statement.id), isAssignable: true }] : [];
  if (type === "VariableDeclaration") return variablesOf(statement);
  return hoistedFrom(statement);
}

function variablesOf({ kind, declarations }: SyntaxNode): DeclaredName[] {
  const isAssignable = kind === "let" || kind === "var";
  return (declarations as SyntaxNode[])
    .flatMap(({ id }) => namesIn(id))
    .map((name) => ({ name, isAssignable }));
}

/** The `var`s in blocks and loops. */
function hoistedFrom(value: unknown): DeclaredName[] {
  if (Array.isArray(value)) return value.flatMap(hoistedFrom);
  if (!isNode(value) || /Function|Class/.test(value.type)) return [];
  const own = value.type === "VariableDeclaration" && value.kind === "var" ? variablesOf(value) : [];
  return [
    ...own,
    ...Object.values(value).flatMap((child) => (typeof child === "object" ? hoistedFrom(child) : [])),
  ];
}

/** The names that a pattern binds. */
function namesIn(pattern: unknown): string[] {
  if (!isNode(pattern)) return [];
  switch (pattern.type) {
    case "Identifier":
      return [nameOf(pattern)];
    case "ObjectPattern":
      return (pattern.properties as SyntaxNode[]).flatMap(({ type, value, argument }) =>
        namesIn(type === "RestElement" ? argument : value),
      );
    case "ArrayPattern":
      return (pattern.elements as unknown[]).flatMap(namesIn);
    case "AssignmentPattern":
      return namesIn(pattern.left);
    case "RestElement":
      return namesIn(pattern.argument);
    default:
      return [];
  }
}

function nameOf(node: unknown): string {
  // An import may name its export in a string.
  return String(Reflect.get(node as object, "name") ?? Reflect.get(node as object, "value"));
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
