import { isBigIntegerText } from "../../../base/json.ts";
import type { DeclaredTool } from "../../../codegen/language-printer.ts";
import { didYouMean, nearestNames } from "../../name-lookup.ts";
import {
  type Checker,
  type Diagnostic,
  isAwaitExpression,
  isBindingElement,
  isCallExpression,
  isIdentifier,
  isNumericLiteral,
  isObjectLiteralExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isShorthandPropertyAssignment,
  isSpreadAssignment,
  isStringLiteral,
  isVariableDeclaration,
  type Node,
  NodeFlags,
  nodeAt,
  type SourceFile,
  TypeFlags,
} from "../typescript-api.ts";
import type { GeneratedTypes } from "./generated-types.ts";
import { RUNTIME_PATH } from "./project.ts";
import type { ResultValues } from "./result-values.ts";

const TAKES = "one object of named arguments";

export interface ArgumentError {
  text: string;
  tool: DeclaredTool | undefined;
}

/** Describes a wrong argument of a tool, unless its value may be valid at run time. */
export async function judgeArgument(
  diagnostic: Diagnostic,
  node: Node,
  made: ReadonlySet<string>,
  results: ResultValues,
  checker: Checker,
  generated: GeneratedTypes,
): Promise<ArgumentError | undefined> {
  const misfit = readMisfit(diagnostic);
  const value = valueAt(node);
  // The text of a whole number beyond 2^53 is sent as the number.
  const isNumber = isStringLiteral(value) && isBigIntegerText(value.text);
  if (isNumber && misfit?.kind === "mismatch" && takesNumber(misfit.target)) return undefined;
  const expected = misfit === undefined ? undefined : await generated.expectedOf(value);
  if (misfit === undefined || expected === undefined) return undefined;
  if (expected.module === undefined) return judgeParallel(misfit, value);
  const place = await generated.place(node);
  const { path } = place;
  const tool = place.tool ?? generated.takerOf(expected);
  const whose = tool === undefined ? "a tool's argument" : `${tool.identifier}'s argument`;
  const at = (name: string): string => [...path.filter((each) => each !== name), name].join(".");
  if (misfit.kind === "excess") {
    const suggested =
      misfit.suggestion === undefined ? await nearestOf(value, misfit.name, checker) : [misfit.suggestion];
    return { tool, text: `'${at(misfit.name)}' is not a property of ${whose}${didYouMean(suggested)}` };
  }
  const declaration = isIdentifier(value)
    ? await (await checker.getSymbolAtLocation(value))?.valueDeclaration?.resolve()
    : undefined;
  const isCertain =
    isReliable(value, declaration) ||
    (await isOfData(value, declaration, checker)) ||
    (await results.partAt(value)) !== undefined;
  if (!isCertain) return undefined;
  if (misfit.kind === "missing") {
    if (misfit.names.some((name) => made.has(name)) || mayHaveMore(value, misfit.source)) return undefined;
    const names = misfit.names.map((name) => `'${[...path, name].join(".")}'`).join(", ");
    return { tool, text: `${names} ${misfit.names.length === 1 ? "is" : "are"} missing from ${whose}` };
  }
  const where = [...path, ...misfit.path].join(".");
  if (where !== "" && misfit.target === "never")
    return { tool, text: `'${where}' is not a property of ${whose}: it takes none` };
  if (where === "" && tool !== undefined)
    return { tool, text: `${tool.identifier} takes ${TAKES}, not ${cut(misfit.source)}` };
  const what = where === "" ? whose : `'${where}' of ${whose}`;
  const wait = misfit.source.startsWith("Promise<") ? "; await it first" : "";
  const hint = misfit.suggestion === undefined ? wait : `; did you mean ${misfit.suggestion}?`;
  return { tool, text: `${what} must be ${cut(misfit.target)}, not ${cut(misfit.source)}${hint}` };
}

/** Judges a call of `parallel`, the only shared function that does not take any value. */
function judgeParallel(misfit: Misfit, value: Node): ArgumentError | undefined {
  if (misfit.kind !== "mismatch" || !misfit.target.startsWith("() =>") || !isCallExpression(value))
    return undefined;
  return { tool: undefined, text: `parallel takes functions: () => ${cut(value.getText())}` };
}

/** Matches a whole number in decimal digits that may be beyond 2^53. */
const LONG_LITERAL = /(?<![\w$.])\d(?:_?\d){15,}(?![\w$.])/g;
const MAX_LITERALS = 20;

/** Whether `roundedLiterals` may find something in a program. */
export function mayHaveRounded(code: string): boolean {
  return code.search(LONG_LITERAL) >= 0;
}

/**
 * Finds whole numbers beyond 2^53 that are written in the arguments of tools. JavaScript rounds them before the program runs, so the
 * tool would be given another number.
 */
export async function roundedLiterals(
  file: SourceFile,
  generated: GeneratedTypes,
): Promise<{ start: number; text: string; tool: DeclaredTool | undefined }[]> {
  const found = [];
  for (const { 0: written, index } of [...file.text.matchAll(LONG_LITERAL)].slice(0, MAX_LITERALS)) {
    const node = nodeAt(file, index, index + written.length);
    if (!isNumericLiteral(node)) continue;
    const digits = written.replaceAll("_", "");
    if (!isBigIntegerText(digits)) continue;
    const { tool } = await generated.place(node);
    if (tool === undefined) continue;
    const text = `JavaScript rounds ${digits} to ${Number(digits)}: write "${digits}" or ${digits}n`;
    found.push({ start: index, tool, text });
  }
  return found;
}

/** Describes a call of a tool without its arguments, or with several arguments instead of one object. */
export async function judgeCount(
  node: Node,
  checker: Checker,
  generated: GeneratedTypes,
): Promise<ArgumentError | undefined> {
  let call = node;
  while (!isCallExpression(call)) {
    if (call.parent === undefined) return undefined;
    call = call.parent;
  }
  const tool = await generated.toolOf(call);
  if (tool === undefined) return undefined;
  const [first] = call.arguments;
  if (first === undefined) return { tool, text: `${tool.identifier} needs its argument` };
  // Arguments after the first are ignored when the program runs.
  const type = await checker.getTypeAtLocation(first);
  const scalar = TypeFlags.StringLike | TypeFlags.NumberLike | TypeFlags.BooleanLike;
  if (type === undefined || (type.flags & scalar) === 0) return undefined;
  return { tool, text: `${tool.identifier} takes ${TAKES}` };
}

/** The value that a diagnostic at a node is about: a property's, a variable's or that of an assignment, or the node itself. */
export function valueAt(node: Node): Node {
  const { parent } = node;
  if (isPropertyAssignment(parent) && parent.name === node) return parent.initializer;
  if (isVariableDeclaration(parent) && parent.name === node) return parent.initializer ?? node;
  return node;
}

async function nearestOf(value: Node, name: string, checker: Checker): Promise<string[]> {
  let node: Node | undefined = value;
  while (node !== undefined && !isObjectLiteralExpression(node)) node = node.parent;
  const type = node === undefined ? undefined : await checker.getContextualType(node);
  if (type === undefined) return [];
  return nearestNames(
    name,
    (await checker.getPropertiesOfType(type)).map((each) => each.name),
  );
}

/** Whether a value certainly has its inferred type. That is uncertain for a property or a variable that may be reassigned. */
function isReliable(value: Node, declaration: Node | undefined): boolean {
  if (isIdentifier(value)) return isSettled(value, declaration);
  return !isPropertyAccessExpression(value);
}

/** Whether an object may have properties that its inferred type lacks. */
function mayHaveMore(value: Node, source: string): boolean {
  if (/^Record<|\[[^\]]*: string\]:/.test(source)) return true;
  if (isObjectLiteralExpression(value)) return value.properties.some(isSpreadAssignment);
  if (source === "{}") return true;
  if (!isIdentifier(value) || isShorthandPropertyAssignment(value.parent)) return false;
  const text = value.getSourceFile().text;
  const name = value.text.replace(/\$/g, "\\$");
  return new RegExp(
    `\\b${name}\\s*\\[|\\bassign\\(\\s*${name}\\b|\\bdefinePropert\\w+\\(\\s*${name}\\b`,
  ).test(text);
}

function cut(type: string): string {
  return type.length > 120 ? `${type.slice(0, 120)}...` : type;
}

/** Why a value does not fit the expected type. */
type Misfit =
  | { kind: "excess"; name: string; suggestion: string | undefined }
  | { kind: "missing"; names: string[]; source: string }
  | { kind: "mismatch"; path: string[]; source: string; target: string; suggestion: string | undefined };

const EXCESS = /(?:and|but) '(.+)' does not exist in type .*?(?:Did you mean to write '(.+)'\?)?$/s;
const MISSING_ONE = /^Property '(.+?)' is missing in type '(.*)' but required in type '/s;
const MISSING_SOME = /^Type '(.*)' is missing the following properties from type '.*': (.+)$/s;
const NOTHING_IN_COMMON = /^Type '(.*)' has no properties in common with type '(.*)'\.$/s;
const NOT_ASSIGNABLE =
  /^(?:Type|Argument of type) '(.*)' is not assignable to (?:parameter of )?type '(.*?)'\.(?: Did you mean '(.+)'\?)?$/s;
const NOT_A_FUNCTION = /^Type '.*' provides no match for the signature /s;
const INNER_PATH = /^(?:Types of property|The types of) '(.+)' are incompatible/;

/** Reads a misfit from a diagnostic, or returns `undefined` for one that may work at run time, such as a read-only array. */
function readMisfit(diagnostic: Diagnostic): Misfit | undefined {
  const messages = flatten(diagnostic).map(({ text }) => text);
  const path = messages.flatMap((text) => INNER_PATH.exec(text)?.[1]?.split(".") ?? []);
  for (const text of messages) {
    const excess = EXCESS.exec(text);
    if (excess !== null) return { kind: "excess", name: unquote(excess[1] ?? ""), suggestion: excess[2] };
  }
  const leaf = messages.findLast((text) => !NOT_A_FUNCTION.test(text)) ?? "";
  const one = MISSING_ONE.exec(leaf);
  if (one !== null) return { kind: "missing", names: [unquote(one[1] ?? "")], source: one[2] ?? "" };
  const some = MISSING_SOME.exec(leaf);
  if (some !== null) {
    const names = (some[2] ?? "").replace(/, and \d+ more\.?$/, "").split(", ");
    return { kind: "missing", names: names.map(unquote), source: some[1] ?? "" };
  }
  const common = NOTHING_IN_COMMON.exec(leaf);
  if (common !== null) {
    return {
      kind: "mismatch",
      path,
      source: common[1] ?? "",
      target: common[2] ?? "",
      suggestion: undefined,
    };
  }
  const [, source, target, suggestion] = NOT_ASSIGNABLE.exec(leaf) ?? [];
  if (source === undefined || target === undefined || mayFit(source, target)) return undefined;
  const isWide = messages.some((text) => isUnion(NOT_ASSIGNABLE.exec(text)?.[1] ?? ""));
  return isWide ? undefined : { kind: "mismatch", path, source, target, suggestion };
}

/**
 * Whether a value may be valid although its type does not fit. TypeScript widens the types of variables, a date becomes
 * text in JSON, and the types of some values are unknown.
 */
function mayFit(source: string, target: string): boolean {
  if (/^(?:unknown|object|Object|\{\}|Date|[A-Z]|T[A-Z]\w*)$/.test(source)) return true;
  if (/^(?:bigint|-?\d+n)$/.test(source)) return takesNumber(target);
  if (source === "string") return /["`]/.test(target);
  if (source === "number") return /(?:^|[\s|(])-?\d/.test(target);
  if (source === "boolean") return /\b(?:true|false)\b/.test(target);
  return target.startsWith("Promise<");
}

/** Whether a type includes numbers. */
function takesNumber(type: string): boolean {
  return /(?:^|[|(]\s*)number\b/.test(type);
}

/** Whether the text of a type has a `|` outside of brackets and strings. */
function isUnion(type: string): boolean {
  let depth = 0;
  for (const [piece] of type.matchAll(/"(?:[^"\\]|\\.)*"|=>|[\s\S]/g)) {
    if ("([{<".includes(piece)) depth++;
    else if (")]}>".includes(piece)) depth--;
    else if (piece === "|" && depth === 0) return true;
  }
  return false;
}

function flatten(diagnostic: Diagnostic): Diagnostic[] {
  return [diagnostic, ...(diagnostic.messageChain ?? []).flatMap(flatten)];
}

function unquote(name: string): string {
  return name.replace(/^(["'])(.*)\1$/s, "$2");
}

/** Whether an expression is a member of the program's data with a type that a manifest declares. */
async function isOfData(expression: Node, declaration: Node | undefined, checker: Checker): Promise<boolean> {
  const source = isPropertyAccessExpression(expression) ? expression.expression : takenFrom(declaration);
  if (source === undefined || !isIdentifier(source) || source.text !== "data") return false;
  const symbol = await checker.getSymbolAtLocation(source);
  return symbol?.declarations.some(({ path }) => path === RUNTIME_PATH) === true;
}

/** The source of a destructured constant: `data` in `const { month } = data`. */
function takenFrom(declaration: Node | undefined): Node | undefined {
  if (declaration === undefined || !isBindingElement(declaration)) return undefined;
  const whole = declaration.parent.parent;
  if (!isVariableDeclaration(whole) || (whole.parent.flags & NodeFlags.Const) === 0) return undefined;
  return whole.initializer;
}

/** Whether an expression certainly has its inferred type: a call, or a variable that is assigned only once. */
export function isSettled(expression: Node, declaration: Node | undefined): boolean {
  if (!isIdentifier(expression)) return isCallExpression(expression) || isAwaitExpression(expression);
  if (declaration === undefined || !isVariableDeclaration(declaration)) return false;
  return (declaration.parent.flags & NodeFlags.Const) !== 0;
}
