import type { DeclaredTool } from "../../../codegen/language-printer.ts";
import { isWritableName } from "../../../protocol/tool-names.ts";
import type { ModuleSource } from "../../module-source.ts";
import { describeUnwrapped, didYouMean, nearestNames } from "../../name-lookup.ts";
import { adviseUndefined } from "../advice.ts";
import { explainAmbiguous, explainMissingExport, explainUnavailable } from "../tool-names.ts";
import {
  type Checker,
  type Diagnostic,
  isAsExpression,
  isAwaitExpression,
  isBinaryExpression,
  isBindingElement,
  isCallExpression,
  isConditionalExpression,
  isDeleteExpression,
  isElementAccessExpression,
  isIdentifier,
  isIfStatement,
  isImportClause,
  isImportDeclaration,
  isImportSpecifier,
  isNonNullExpression,
  isParenthesizedExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isStringLiteral,
  isTypeNode,
  isTypeOfExpression,
  isVariableDeclaration,
  type Node,
  nodeAt,
  type SourceFile,
  type Type,
} from "../typescript-api.ts";
import { isSettled, judgeArgument, judgeCount, roundedLiterals } from "./arguments.ts";
import type { GeneratedTypes } from "./generated-types.ts";

/** One mistake in a program. */
export interface TypeMistake {
  /** The place in the program's text, in UTF-16 code units. */
  start: number;
  text: string;
  /** The tool whose arguments are wrong. */
  tool: DeclaredTool | undefined;
}

export interface RuleContext {
  checker: Checker;
  file: SourceFile;
  generated: GeneratedTypes;
  /** The modules of all servers. */
  modules: ModuleSource;
}

/** Codes of TypeScript's diagnostics that may stop a program. Diagnostics with other codes are ignored. */
const UNKNOWN_NAME = new Set([
  2304, 2552, 2580, 2581, 2582, 2583, 2584, 2591, 2592, 2593, 2662, 2663, 2693, 2867, 2868, 18004,
]);
const UNKNOWN_EXPORT = new Set([1192, 2305, 2613, 2614, 2724]);
const UNKNOWN_PROPERTY = new Set([2339, 2551]);
const WRONG_ARGUMENT = new Set([2322, 2345, 2353, 2559, 2561, 2739, 2740, 2741, 2820]);
const WRONG_COUNT = new Set([2554, 2555]);
const TOO_EARLY = new Set([2448, 2449]);
const NOT_CALLABLE = 2349;
const NOT_ITERABLE = 2488;
const MAY_STOP: ReadonlySet<number> = new Set([
  ...UNKNOWN_NAME,
  ...UNKNOWN_EXPORT,
  ...UNKNOWN_PROPERTY,
  ...WRONG_ARGUMENT,
  ...WRONG_COUNT,
  ...TOO_EARLY,
  NOT_CALLABLE,
  NOT_ITERABLE,
]);
/** The most diagnostics to judge, because judging asks TypeScript's process. */
const MAX_JUDGED = 200;

/** Selects the diagnostics that are mistakes at run time, in the program's order. */
export async function findMistakes(
  diagnostics: readonly Diagnostic[],
  context: RuleContext,
): Promise<TypeMistake[]> {
  const placed = diagnostics
    .filter(({ code }) => MAY_STOP.has(code))
    .map((diagnostic) => ({ diagnostic, node: nodeAt(context.file, diagnostic.pos, diagnostic.end) }));
  const tried = new Set<string>();
  for (const { diagnostic, node } of placed)
    if (UNKNOWN_PROPERTY.has(diagnostic.code) && isTriedOrMade(node)) tried.add(node.getText());

  const findings = new Map<string, TypeMistake>();
  for (const { diagnostic, node } of placed.slice(0, MAX_JUDGED)) {
    const verdict = await judge(diagnostic, node, tried, context);
    if (verdict === undefined) continue;
    const finding = typeof verdict === "string" ? { text: verdict, tool: undefined } : verdict;
    // An unknown name is reported once, not at each place that uses it.
    const key = UNKNOWN_NAME.has(diagnostic.code) ? finding.text : `${diagnostic.pos} ${finding.text}`;
    if (!findings.has(key)) findings.set(key, { start: diagnostic.pos, ...finding });
  }
  for (const each of await roundedLiterals(context.file, context.generated))
    findings.set(`${each.start} ${each.text}`, each);
  return [...findings.values()].sort((a, b) => a.start - b.start);
}

async function judge(
  diagnostic: Diagnostic,
  node: Node,
  tried: ReadonlySet<string>,
  { checker, file, generated, modules }: RuleContext,
): Promise<string | Omit<TypeMistake, "start"> | undefined> {
  const { code } = diagnostic;
  if (UNKNOWN_NAME.has(code)) return judgeName(diagnostic, node, file, generated, modules);
  if (UNKNOWN_EXPORT.has(code)) return judgeImport(node, file, generated);
  if (WRONG_ARGUMENT.has(code)) return judgeArgument(diagnostic, node, tried, checker, generated);
  if (WRONG_COUNT.has(code)) return judgeCount(node, checker, generated);
  if (UNKNOWN_PROPERTY.has(code))
    return tried.has(node.getText()) ? undefined : judgeProperty(node, checker, generated);
  if (TOO_EARLY.has(code)) return `'${node.getText()}' is used before its declaration`;
  if (code === NOT_CALLABLE) return judgeUse(node, "called", checker, generated);
  if (code === NOT_ITERABLE) return judgeUse(node, "iterated", checker, generated);
  return undefined;
}

/** Describes a missing export of a module. The bundler drops imports that the program uses only as types. */
function judgeImport(node: Node, file: SourceFile, generated: GeneratedTypes): string | undefined {
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

/**
 * Whether a property is only tested, or defined here: `x.items ?? x.results`, `if (x.error)`, `x.extra = 1`. Such code works
 * even if the type lacks the property.
 */
function isTriedOrMade(property: Node): boolean {
  const access = property.parent;
  if (isBindingElement(access)) return access.initializer !== undefined;
  if (!isPropertyAccessExpression(access)) return true;
  let node: Node = access;
  while (
    isParenthesizedExpression(node.parent) ||
    isNonNullExpression(node.parent) ||
    isAsExpression(node.parent)
  )
    node = node.parent;
  const { parent } = node;
  if (isBinaryExpression(parent)) {
    const operator = parent.operatorToken.getText();
    if (["??", "||", "&&"].includes(operator)) return true;
    if (/^[!=]==?$/.test(operator)) return /^(?:undefined|null)$/.test(otherSide(parent, node).getText());
    return operator.endsWith("=") && !/^[<>]/.test(operator) && parent.left === node;
  }
  if (isConditionalExpression(parent)) return parent.condition === node;
  if (isIfStatement(parent)) return parent.expression === node;
  if (isPrefixUnaryExpression(parent)) return parent.getText().startsWith("!");
  if (isPropertyAccessExpression(parent) || isElementAccessExpression(parent))
    return parent.questionDotToken !== undefined;
  if (isCallExpression(parent)) {
    if (parent.expression === node) return parent.questionDotToken !== undefined;
    return /^(?:Array\.isArray|Boolean)$/.test(parent.expression.getText());
  }
  return isTypeOfExpression(parent) || isDeleteExpression(parent);
}

function otherSide(comparison: { left: Node; right: Node }, side: Node): Node {
  return comparison.left === side ? comparison.right : comparison.left;
}

const OWN_TOOLS: ReadonlySet<string> = new Set([
  "execute_program",
  "search_tools",
  "inspect_tool",
  "list_callable_tools",
]);

/** Describes an undefined name, unless it is harmless: in a type, after `typeof`, or defined at run time. */
async function judgeName(
  diagnostic: Diagnostic,
  node: Node,
  file: SourceFile,
  generated: GeneratedTypes,
  source: ModuleSource,
): Promise<string | undefined> {
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
  if (name.startsWith("mcp__")) return explainUnknownTool(name, generated, source.modules());
  if (suggestion !== undefined) return `'${name}' is not defined${didYouMean([suggestion])}`;
  const advice = await adviseUndefined(name, file.text, source);
  return `'${name}' is not defined${advice === undefined ? "" : `; ${advice}`}`;
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
  if (OWN_TOOLS.has(name.replace(/^mcp__.*__/, "")))
    return `there is no tool '${name}': the tools of ptc itself cannot be called by a program`;
  const callable = tools.filter(({ isAvailable }) => isAvailable).map((tool) => names.callable(tool));
  const nearest = nearestNames(name, callable);
  if (nearest.length > 0) return `there is no tool '${name}'${didYouMean(nearest)}`;
  const [, server = "", tool = ""] = /^mcp__(.+?)__(.*)$/.exec(name) ?? [];
  const servers = nearestNames(server, modules).map((module) => `mcp__${module}__${tool}`);
  return `there is no tool '${name}'${didYouMean(servers)}`;
}

/** The tool whose exact name surrounds a place in the text, if the name is not an identifier. */
function misreadTool(place: number, text: string, tools: readonly DeclaredTool[]): DeclaredTool | undefined {
  const around = tools.filter(({ namespacedName }) => {
    if (isWritableName(namespacedName)) return false;
    const { length } = namespacedName;
    return text.slice(Math.max(0, place - length + 1), place + length).includes(namespacedName);
  });
  return around.sort((a, b) => b.namespacedName.length - a.namespacedName.length)[0];
}

function isInType(node: Node): boolean {
  for (let each = node; each.parent !== undefined; each = each.parent) {
    if (isTypeNode(each)) return true;
    if (isTypeOfExpression(each)) return true;
  }
  return false;
}

/** Whether the program tests if the name exists, or may define it as a global itself. */
function isMadeAtRunTime(name: string, file: SourceFile): boolean {
  const escaped = name.replace(/\$/g, "\\$");
  if (new RegExp(`\\btypeof\\s+\\(?\\s*${escaped}\\b`).test(file.text)) return true;
  const text = file.text.replace(/\bglobalThis\.result\b|\bglobalThis as any\)\.result\b/g, "");
  if (!/\b(?:globalThis|global|eval|Function)\b/.test(text)) return false;
  return new RegExp(`[.["'\`{,]\\s*${escaped}\\b["'\`]?\\s*\\]?\\s*[=,:}]`).test(text);
}

const NOT_AWAITED = "a promise; await it first";

/** Describes a missing property of a tool's result or a module of tools. */
async function judgeProperty(
  property: Node,
  checker: Checker,
  generated: GeneratedTypes,
): Promise<string | undefined> {
  const receiver = receiverOf(property);
  const type = receiver === undefined ? undefined : await checker.getTypeAtLocation(receiver);
  if (receiver === undefined || type === undefined) return undefined;
  const name = property.getText();
  if (type.isUnionType()) {
    for (const member of await type.getTypes())
      if ((await checker.getPropertyOfType(member, name)) !== undefined) return undefined;
  }
  if ((await isPromise(type)) && isSettled(receiver, await declarationOf(receiver, checker)))
    return `'${name}' is not a property of ${NOT_AWAITED}`;
  const unwrapped = name === "result" ? await callOf(receiver, checker) : undefined;
  const caller = unwrapped === undefined ? undefined : await generated.toolOf(unwrapped);
  if (caller?.isUnwrapped === true) return describeUnwrapped(caller.identifier);
  const origin = await generated.resultOrigin(type);
  if (origin === undefined) return undefined;
  const names = (await checker.getPropertiesOfType(type)).map((each) => each.name);
  const nearest = didYouMean(nearestNames(name, names));
  if (origin.name === "ToolFunction")
    return `'${name}' is not a property of a tool's function; call it first`;
  if (isModule(origin.name)) {
    const blocked = generated.unavailable(origin.module, name);
    if (blocked !== undefined) return explainUnavailable(blocked);
    return `servers/${origin.module} has no function '${name}'${nearest}`;
  }
  const known = nearest === "" && names.length > 0 ? `; it has ${names.slice(0, 12).join(", ")}` : nearest;
  return `'${name}' is not a property of ${receiver.getText().slice(0, 60)}${known}`;
}

/** Describes the iteration or call of a tool's result, a module or a promise that does not allow it. */
async function judgeUse(
  expression: Node,
  use: "called" | "iterated",
  checker: Checker,
  generated: GeneratedTypes,
): Promise<string | undefined> {
  const type = await checker.getTypeAtLocation(expression);
  if (type === undefined || type.isUnionType()) return undefined;
  const shown = expression.getText().slice(0, 60);
  if (await isPromise(type)) {
    const settled = isSettled(expression, await declarationOf(expression, checker));
    return settled ? `${shown} cannot be ${use}: it is ${NOT_AWAITED}` : undefined;
  }
  const origin = await generated.resultOrigin(type);
  if (origin === undefined) return undefined;
  if (isModule(origin.name)) return `${shown} cannot be ${use}: it is the module servers/${origin.module}`;
  if (!isSettled(expression, await declarationOf(expression, checker))) return undefined;
  const names = (await checker.getPropertiesOfType(type)).map((each) => each.name);
  return `${shown} cannot be ${use}: it is an object with ${names.slice(0, 12).join(", ")}`;
}

/** TypeScript names the symbol of a module by its path, in quotes. */
function isModule(name: string): boolean {
  return /[/"]/.test(name);
}

function receiverOf(property: Node): Node | undefined {
  const { parent } = property;
  if (isPropertyAccessExpression(parent)) return parent.name === property ? parent.expression : undefined;
  if (!isBindingElement(parent)) return undefined;
  const declaration = parent.parent?.parent;
  return declaration !== undefined && isVariableDeclaration(declaration)
    ? declaration.initializer
    : undefined;
}

/** The call whose awaited value an expression or its constant has. */
async function callOf(expression: Node, checker: Checker): Promise<Node | undefined> {
  let node: Node | undefined = expression;
  const declaration = await declarationOf(expression, checker);
  if (declaration !== undefined)
    node =
      isVariableDeclaration(declaration) && isSettled(expression, declaration)
        ? declaration.initializer
        : undefined;
  while (node !== undefined && (isParenthesizedExpression(node) || isAwaitExpression(node)))
    node = node.expression;
  return node !== undefined && isCallExpression(node) ? node : undefined;
}

async function isPromise(type: Type): Promise<boolean> {
  return (await type.getSymbol())?.name === "Promise";
}

async function declarationOf(expression: Node, checker: Checker): Promise<Node | undefined> {
  if (!isIdentifier(expression)) return undefined;
  const symbol = await checker.getSymbolAtLocation(expression);
  return symbol?.valueDeclaration?.resolve();
}
