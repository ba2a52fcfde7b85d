import type { DeclaredTool } from "../../../codegen/language-printer.ts";
import { isWritableName } from "../../../protocol/tool-names.ts";
import type { ModuleSource } from "../../module-source.ts";
import { describeUnwrapped, didYouMean, nearestNames } from "../../name-lookup.ts";
import { explainHyphenated, explainUnknownTool, hyphenatedAround } from "../../tool-suggestions.ts";
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
import { describeKind, judgeConversion, judgeList, judgeOperand } from "./misused-results.ts";
import { isGuarded, ResultValues, shownText } from "./result-values.ts";

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
const WRONG_OPERAND = new Set([2362, 2363, 2365]);
const NO_OVERLOAD = 2769;
const WRONG_CAST = 2352;
const NOT_CALLABLE = 2349;
const NOT_ITERABLE = 2488;
const MAY_STOP: ReadonlySet<number> = new Set([
  ...UNKNOWN_NAME,
  ...UNKNOWN_EXPORT,
  ...UNKNOWN_PROPERTY,
  ...WRONG_ARGUMENT,
  ...WRONG_COUNT,
  ...TOO_EARLY,
  ...WRONG_OPERAND,
  NO_OVERLOAD,
  WRONG_CAST,
  NOT_CALLABLE,
  NOT_ITERABLE,
]);
/** The most diagnostics to judge, because judging asks TypeScript's process. */
const MAX_JUDGED = 200;

/** The most members read by a text that are looked up, because TypeScript reports no unknown ones among them. */
const MAX_READ_BY_TEXT = 50;

/**
 * Selects the diagnostics that are mistakes at run time, in the program's order. A program may be written loosely: what is wrong
 * by its own annotations alone is none. A value that certainly is a part of a result has the type that its tool declares.
 */
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
  const byText = readByText(context.file);
  for (const key of byText) if (isTriedOrMade(key)) tried.add(nameOf(key));

  const results = new ResultValues(context.checker, context.generated, context.file);
  const findings = new Map<string, TypeMistake>();
  for (const { diagnostic, node } of placed.slice(0, MAX_JUDGED)) {
    const verdict = await judge(diagnostic, node, tried, results, context);
    if (verdict === undefined) continue;
    const finding = typeof verdict === "string" ? { text: verdict, tool: undefined } : verdict;
    // An unknown name is reported once, not at each place that uses it.
    const key = UNKNOWN_NAME.has(diagnostic.code) ? finding.text : `${diagnostic.pos} ${finding.text}`;
    if (!findings.has(key)) findings.set(key, { start: diagnostic.pos, ...finding });
  }
  for (const key of byText.slice(0, MAX_READ_BY_TEXT)) {
    if (tried.has(nameOf(key))) continue;
    const finding = await judgeReadByText(key, results, context);
    const start = key.getStart();
    if (finding !== undefined) findings.set(`${start} ${finding.text}`, { start, ...finding });
  }
  for (const each of await roundedLiterals(context.file, context.generated))
    findings.set(`${each.start} ${each.text}`, each);
  return [...findings.values()].sort((a, b) => a.start - b.start);
}

async function judge(
  diagnostic: Diagnostic,
  node: Node,
  tried: ReadonlySet<string>,
  results: ResultValues,
  { checker, file, generated, modules }: RuleContext,
): Promise<string | Omit<TypeMistake, "start"> | undefined> {
  const { code } = diagnostic;
  if (UNKNOWN_NAME.has(code)) return judgeName(diagnostic, node, file, generated, modules);
  if (UNKNOWN_EXPORT.has(code)) return judgeImport(node, file, generated);
  if (WRONG_ARGUMENT.has(code))
    return (
      (await judgeArgument(diagnostic, node, tried, results, checker, generated)) ??
      judgeConversion(node, results, checker)
    );
  if (code === WRONG_CAST) return judgeConversion(node, results, checker);
  if (code === NO_OVERLOAD) return judgeList(node, results, checker);
  if (WRONG_OPERAND.has(code)) return judgeOperand(node, results, checker);
  if (WRONG_COUNT.has(code)) return judgeCount(node, checker, generated);
  if (UNKNOWN_PROPERTY.has(code))
    return tried.has(node.getText()) ? undefined : judgeProperty(node, results, checker, generated);
  if (TOO_EARLY.has(code)) return `'${node.getText()}' is used before its declaration`;
  if (code === NOT_CALLABLE) return judgeUse(node, "called", results, checker, generated);
  if (code === NOT_ITERABLE) return judgeUse(node, "iterated", results, checker, generated);
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
  if (!isPropertyAccessExpression(access) && !isElementAccessExpression(access)) return true;
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
  const hyphenated = hyphenatedAround(file.text, diagnostic.pos);
  const written = hyphenated === undefined ? undefined : await explainHyphenated(hyphenated, source);
  if (written !== undefined) return written;
  if (name.startsWith("mcp__")) return explainToolName(name, generated, source);
  if (suggestion !== undefined) return `'${name}' is not defined${didYouMean([suggestion])}`;
  const advice = await adviseUndefined(name, file.text, source);
  return `'${name}' is not defined${advice === undefined ? "" : `; ${advice}`}`;
}

function explainToolName(
  name: string,
  { names }: GeneratedTypes,
  source: ModuleSource,
): string | Promise<string> {
  const meant = names.resolve(name);
  const [first, another] = meant;
  if (another !== undefined) return explainAmbiguous(name, meant, names);
  return first === undefined ? explainUnknownTool(name, source) : explainUnavailable(first);
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

/** Members of an MCP result, which a tool's function does not return. */
const OF_MCP_RESULTS: ReadonlySet<string> = new Set(["content", "structuredContent", "isError", "_meta"]);

/** Describes a missing property of a tool's result, of a part of one, or of a module of tools. */
async function judgeProperty(
  property: Node,
  results: ResultValues,
  checker: Checker,
  generated: GeneratedTypes,
): Promise<string | Omit<TypeMistake, "start"> | undefined> {
  const receiver = receiverOf(property);
  const type = receiver === undefined ? undefined : await checker.getTypeAtLocation(receiver);
  if (receiver === undefined || type === undefined) return judgeBinding(property, results, checker);
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
  if (origin === undefined) return judgePart(property, receiver, type, results, checker);
  const names = (await checker.getPropertiesOfType(type)).map((each) => each.name);
  const nearest = didYouMean(nearestNames(name, names));
  if (origin.name === "ToolFunction")
    return `'${name}' is not a property of a tool's function; call it first`;
  if (isModule(origin.name)) {
    const blocked = generated.unavailable(origin.module, name);
    if (blocked !== undefined) return explainUnavailable(blocked);
    return `servers/${origin.module} has no function '${name}'${nearest}`;
  }
  if (isGuarded(property, receiver)) return undefined;
  const kind = await results.kindOf(type);
  if (kind !== undefined && kind !== "object") return judgePart(property, receiver, type, results, checker);
  const part = await results.partAt(receiver);
  return { tool: part?.tool, text: missing(name, receiver, names) };
}

/** Describes a property that an object of a result does not have. */
function missing(name: string, receiver: Node, names: readonly string[]): string {
  const nearest = didYouMean(nearestNames(name, names));
  const known = nearest === "" && names.length > 0 ? `; it has ${names.slice(0, 12).join(", ")}` : nearest;
  const what = `'${name}' is not a property of ${shownText(receiver)}${known}`;
  if (!OF_MCP_RESULTS.has(name) || names.includes("ok")) return what;
  return `${what}; a tool's function returns its data itself, not an MCP result`;
}

/** Describes a missing property of a text, a number or a list that certainly is a part of a result. */
async function judgePart(
  property: Node,
  receiver: Node,
  type: Type,
  results: ResultValues,
  checker: Checker,
): Promise<Omit<TypeMistake, "start"> | undefined> {
  const kind = await results.kindOf(type);
  const part = kind === undefined ? undefined : await results.partAt(receiver);
  if (kind === undefined || part === undefined || isGuarded(property, receiver)) return undefined;
  const name = property.getText();
  const shown = shownText(receiver);
  if (kind === "object") {
    const names = (await checker.getPropertiesOfType(type)).map((each) => each.name);
    return { tool: part.tool, text: missing(name, receiver, names) };
  }
  const whole = isElementAccessExpression(receiver) ? receiver.expression : undefined;
  if (kind === "string" && whole !== undefined) {
    const isText = (await results.kindOf(await checker.getTypeAtLocation(whole))) === "string";
    const text = shownText(whole);
    if (isText)
      return {
        tool: part.tool,
        text: `'${name}' is not a property of ${shown}, a character: ${text} is a string itself, not a list`,
      };
  }
  const nearest = didYouMean(nearestNames(name, await memberNames(type, checker)));
  const advice = kind === "list" && nearest === "" ? "; take an element first, as in [0] or .map" : nearest;
  return {
    tool: part.tool,
    text: `'${name}' is not a property of ${shown}: it is ${describeKind(kind)}${advice}`,
  };
}

async function memberNames(type: Type, checker: Checker): Promise<string[]> {
  const apparent = (await checker.getApparentType(type)) ?? type;
  return (await checker.getPropertiesOfType(apparent)).map((each) => each.name);
}

/** Describes a property that a pattern takes out of each element of a list, or out of a part of a pattern. */
async function judgeBinding(
  property: Node,
  results: ResultValues,
  checker: Checker,
): Promise<Omit<TypeMistake, "start"> | undefined> {
  const element = property.parent;
  if (!isBindingElement(element)) return undefined;
  const pattern = element.parent;
  const type = await checker.getTypeAtLocation(pattern);
  const kind = await results.kindOf(type);
  const holder = await results.partOf(pattern.parent);
  if (type === undefined || kind === undefined || holder === undefined) return undefined;
  const name = property.getText();
  if (kind !== "object")
    return { tool: holder.tool, text: `'${name}' cannot be taken out of ${describeKind(kind)}` };
  const names = (await checker.getPropertiesOfType(type)).map((each) => each.name);
  const nearest = didYouMean(nearestNames(name, names));
  const known = nearest === "" ? `; it has ${names.slice(0, 12).join(", ")}` : nearest;
  return { tool: holder.tool, text: `'${name}' is not a property of what is taken apart${known}` };
}

/** The reads of members by a text: `x["name"]`. */
function readByText(file: SourceFile): Node[] {
  const found: Node[] = [];
  const visit = (node: Node): undefined => {
    if (isElementAccessExpression(node) && isStringLiteral(node.argumentExpression))
      found.push(node.argumentExpression);
    node.forEachChild(visit);
  };
  visit(file);
  return found;
}

function nameOf(key: Node): string {
  return isStringLiteral(key) ? key.text : key.getText();
}

async function judgeReadByText(
  key: Node,
  results: ResultValues,
  { checker }: RuleContext,
): Promise<Omit<TypeMistake, "start"> | undefined> {
  const access = key.parent;
  if (!isElementAccessExpression(access)) return undefined;
  const receiver = access.expression;
  const type = await checker.getTypeAtLocation(receiver);
  const kind = await results.kindOf(type);
  const part = kind === undefined ? undefined : await results.partAt(receiver);
  if (type === undefined || kind === undefined || part === undefined) return undefined;
  if ((await checker.getIndexInfosOfType(type)).length > 0 && kind === "object") return undefined;
  const name = nameOf(key);
  const names = await memberNames(type, checker);
  if (names.includes(name) || /^\d+$/.test(name) || isGuarded(key, receiver)) return undefined;
  if (kind === "object") return { tool: part.tool, text: missing(name, receiver, names) };
  const shown = shownText(receiver);
  return { tool: part.tool, text: `'${name}' is not a property of ${shown}: it is ${describeKind(kind)}` };
}

/** Describes the iteration or call of a tool's result, a module or a promise that does not allow it. */
async function judgeUse(
  node: Node,
  use: "called" | "iterated",
  results: ResultValues,
  checker: Checker,
  generated: GeneratedTypes,
): Promise<string | Omit<TypeMistake, "start"> | undefined> {
  const { parent } = node;
  const expression = isPropertyAccessExpression(parent) && parent.name === node ? parent : node;
  const type = await checker.getTypeAtLocation(expression);
  if (type === undefined || type.isUnionType()) return undefined;
  const shown = shownText(expression);
  if (await isPromise(type)) {
    const settled = isSettled(expression, await declarationOf(expression, checker));
    return settled ? `${shown} cannot be ${use}: it is ${NOT_AWAITED}` : undefined;
  }
  const origin = await generated.resultOrigin(type);
  if (origin === undefined) {
    const kind = await results.kindOf(type);
    const part = kind === undefined ? undefined : await results.partAt(expression);
    if (kind === undefined || part === undefined || isGuarded(expression, expression)) return undefined;
    return { tool: part.tool, text: `${shown} cannot be ${use}: it is ${describeKind(kind)}` };
  }
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
