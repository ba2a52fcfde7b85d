import type { DeclaredTool } from "../../../codegen/generated-module.ts";
import { didYouMean, nearestNames } from "../../prepare/nearest-names.ts";
import {
  type Checker,
  type Diagnostic,
  isCallExpression,
  isIdentifier,
  isObjectLiteralExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isShorthandPropertyAssignment,
  isSpreadAssignment,
  isVariableDeclaration,
  type Node,
  TypeFlags,
} from "../typescript-api.ts";
import type { GeneratedTypes } from "./generated-types.ts";
import { type Misfit, readMisfit } from "./misfit.ts";
import { isOfData, isSettled } from "./settled.ts";

const TAKES = "one object of named arguments";

export interface ArgumentError {
  text: string;
  tool: DeclaredTool | undefined;
}

/** Says what is wrong with an argument of a tool, unless its value may be valid when the program runs. */
export async function judgeArgument(
  diagnostic: Diagnostic,
  node: Node,
  made: ReadonlySet<string>,
  checker: Checker,
  generated: GeneratedTypes,
): Promise<ArgumentError | undefined> {
  const misfit = readMisfit(diagnostic);
  const value = valueAt(node);
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
  if (!isReliable(value, declaration) && !(await isOfData(value, declaration, checker))) return undefined;
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

/** Says that a tool is called without its arguments, or with several arguments instead of one object. */
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

function valueAt(node: Node): Node {
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

/** Whether a value surely has the type that TypeScript infers. A property or a variable that may be reassigned may not. */
function isReliable(value: Node, declaration: Node | undefined): boolean {
  if (isIdentifier(value)) return isSettled(value, declaration);
  if (isPropertyAccessExpression(value)) return false;
  return true;
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
