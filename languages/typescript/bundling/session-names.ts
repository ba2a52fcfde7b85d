import type { Node } from "acorn";
import type { Program } from "../../program.ts";
import { reduceToJavaScript } from "./bundler.ts";

/** The top-level names of a program that have a value. */
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
  /** The module, as written in the program. */
  readonly from: string;
  /** Its name in the module, or `*` for the whole module. */
  readonly exported: string;
}

type SyntaxNode = Node & Record<string, unknown>;

/** Names with a different meaning in each program, and `__proto__`, which cannot be a property. */
const OWN: ReadonlySet<string> = new Set(["result", "data", "undefined", "globalThis", "__proto__"]);

/** Finds the top-level names of a program, or none in a text that is not a module. Never rejects. */
export async function findTopLevelNames({ code, language }: Program): Promise<TopLevelNames> {
  let body: readonly SyntaxNode[];
  try {
    const plain = await reduceToJavaScript(`${code}\nexport {};`, {
      loader: language === "typescript" ? "ts" : "js",
      target: "esnext",
      logLevel: "silent",
      // Unused imports stay, because a later program may use them.
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

/** The names of added code. No other names begin like this. */
const BINDINGS = "__ptc_bindings__";
const VALUE = "__ptc_value__";
const MODULE = "__ptc_module_";

/** The first line of a session's bundle. It gives the runner access to the program's names before the program runs. */
export const HAND_OVER = `globalThis[Symbol.for("ptc.session")](${BINDINGS});`;

/**
 * The code to add after a program that runs in a session, where it does not move the program's lines: a function that returns a
 * reader and a writer for each top-level name. The names thus stay variables of the program. Its functions see values that later
 * programs assign, and a later program may declare the same name itself.
 */
export async function renderKeptBindings(program: Program): Promise<string> {
  const { declared, imported } = await findTopLevelNames(program);
  const modules = [...new Set(imported.map(({ from }) => from))];
  const entries = [
    ...declared.map(({ name, isAssignable }) => {
      const write = isAssignable ? `, (${VALUE}) => { ${name} = ${VALUE}; }` : "";
      return `${JSON.stringify(name)}: [() => ${name}${write}]`;
    }),
    // An imported name may be a type. Read from its module, it is then undefined without an error.
    ...imported.map(({ name, from, exported }) => {
      const module = `${MODULE}${modules.indexOf(from)}`;
      const member = exported === "*" ? "" : `[${JSON.stringify(exported)}]`;
      return `${JSON.stringify(name)}: [() => ${module}${member}]`;
    }),
  ];
  return [
    "",
    ...modules.map((from, index) => `import * as ${MODULE}${index} from ${JSON.stringify(from)};`),
    `export function ${BINDINGS}() { return { ${entries.join(", ")} }; }`,
    "",
  ].join("\n");
}

/** Matches top-level types, which begin a line. A false match only gives a name that nobody uses. */
const TYPES = /^(?:export[ \t]+)?(?:declare[ \t]+)?(?:interface|type)[ \t]+([A-Za-z_$][\w$]*)/gm;
/** The most text of a session that is checked again for the types of its names. */
const MAX_CHARS = 512 * 1024;

interface Declared {
  name: string;
  /** The number of the earlier program that declared it, from 0. */
  program: number;
  kind: "constant" | "variable" | "type";
}

/**
 * Makes the top-level names of earlier programs available to a program, with their types. Each earlier program becomes a module
 * that exports its names. The code after a program imports the names that it does not declare itself.
 */
export async function declareEarlier(
  program: Program,
  earlier: readonly Program[],
): Promise<{ behind: string; session: string[] }> {
  const isLong = earlier.reduce((sum, { code }) => sum + code.length, 0) > MAX_CHARS;
  const known = new Map<string, Declared>();
  const session: string[] = [];
  for (const [index, each] of earlier.entries()) {
    const own = await namesOf(each, index);
    const visible = renderImports(known, own, isLong);
    const exported = own.filter(({ name }) => !isExported(name, each.code)).map(({ name }) => name);
    session.push(isLong ? "export {};" : `${each.code}\n${visible}export { ${exported.join(", ")} };\n`);
    for (const declared of own) known.set(declared.name, declared);
  }
  const own = await namesOf(program, earlier.length);
  return { behind: `\n${renderImports(known, own, isLong)}`, session };
}

async function namesOf(program: Program, index: number): Promise<Declared[]> {
  const { declared, imported } = await findTopLevelNames(program);
  const types = [...program.code.matchAll(TYPES)].map(([, name = ""]) => name);
  const values = [
    ...declared.map(({ name, isAssignable }): Declared => {
      const isVariable = isAssignable && isPlainVariable(name, program.code);
      return { name, program: index, kind: isVariable ? "variable" : "constant" };
    }),
    ...imported.map(({ name }): Declared => ({ name, program: index, kind: "constant" })),
  ];
  const isValue = new Set(values.map(({ name }) => name));
  return [
    ...values,
    ...types
      .filter((name) => !isValue.has(name))
      .map((name): Declared => ({ name, program: index, kind: "type" })),
  ];
}

/** Whether a name is a plain variable. Functions and classes can be assigned too, but that is rare, and they are types. */
function isPlainVariable(name: string, code: string): boolean {
  const escaped = name.replaceAll("$", String.raw`\$`);
  return !new RegExp(String.raw`\b(?:function\s*\*?|class|enum|namespace)\s+${escaped}(?![\w$])`).test(code);
}

function isExported(name: string, code: string): boolean {
  const escaped = name.replaceAll("$", String.raw`\$`);
  const words = "const|let|var|class|interface|type|enum|(?:async\\s+)?function\\s*\\*?";
  return new RegExp(String.raw`^export\s+(?:${words})\s+${escaped}(?![\w$])`, "m").test(code);
}

function renderImports(
  known: ReadonlyMap<string, Declared>,
  own: readonly Declared[],
  isLong: boolean,
): string {
  const hidden = new Set(own.map(({ name }) => name));
  return [...known.values()]
    .filter(({ name }) => !hidden.has(name))
    .map(({ name, program, kind }) => {
      const module = `./session-${program}.js`;
      if (isLong) return kind === "type" ? `type ${name} = any;\n` : `declare let ${name}: any;\n`;
      // Imported names cannot be assigned.
      return kind === "variable"
        ? `declare let ${name}: typeof import("${module}").${name};\n`
        : `import { ${name} } from "${module}";\n`;
    })
    .join("");
}
