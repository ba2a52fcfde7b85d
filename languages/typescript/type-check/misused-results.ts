import type { DeclaredTool } from "../../../codegen/language-printer.ts";
import {
  type Checker,
  isAsExpression,
  isBinaryExpression,
  isCallExpression,
  isExpression,
  isNewExpression,
  isTypeNode,
  type Node,
  type Type,
} from "../typescript-api.ts";
import { valueAt } from "./arguments.ts";
import { PROGRAM_PATH } from "./project.ts";
import { isGuarded, type ResultValues, shownText, type ValueKind } from "./result-values.ts";

interface Misuse {
  text: string;
  tool: DeclaredTool | undefined;
}

const KINDS: Readonly<Record<ValueKind, string>> = {
  string: "a string",
  number: "a number",
  boolean: "a boolean",
  list: "a list",
  object: "an object",
};

/** A kind of value with its article. */
export function describeKind(kind: ValueKind): string {
  return KINDS[kind];
}

/** Functions that take a list. They fail for an object, or ignore what it has. */
const TAKES_LIST = /^(?:Promise\.(?:all|allSettled|any|race)|Array\.from|Object\.fromEntries|Map|Set)$/;

/** Describes a part of a result that is assigned, cast or handed over as a value of another kind. */
export async function judgeConversion(
  node: Node,
  results: ResultValues,
  checker: Checker,
): Promise<Misuse | undefined> {
  const value = convertedAt(node);
  const [source, target] = await Promise.all([checker.getTypeAtLocation(value), targetOf(value, checker)]);
  const [is, wanted] = await Promise.all([results.kindOf(source), results.kindOf(target)]);
  if (is === undefined || wanted === undefined || is === wanted) return undefined;
  const call = value.parent;
  const callee = isCallExpression(call) && call.expression !== value ? shownText(call.expression) : undefined;
  const isParse = callee === "JSON.parse";
  // JavaScript turns numbers, booleans and mostly lists into the texts that its own functions take.
  const isOfLibrary = callee !== undefined && !(await isOwn(call, checker));
  if (isOfLibrary && !isParse && is !== "object") return undefined;
  if (isParse && is !== "object" && is !== "list") return undefined;
  const part = await results.partAt(value);
  if (part === undefined || isGuarded(value, value)) return undefined;
  const shown = shownText(value);
  if (isParse)
    return { tool: part.tool, text: `${shown} is ${KINDS[is]} already, not JSON: leave out JSON.parse` };
  const where = callee === undefined ? "" : `, which ${callee} does not take`;
  return { tool: part.tool, text: `${shown} is ${KINDS[is]}, not ${KINDS[wanted]}${where}` };
}

/** Describes an object of a result that is given where a list is needed. */
export async function judgeList(
  node: Node,
  results: ResultValues,
  checker: Checker,
): Promise<Misuse | undefined> {
  let call = node;
  while (!isCallExpression(call) && !isNewExpression(call)) {
    if (call.parent === undefined) return undefined;
    call = call.parent;
  }
  const callee = call.expression.getText();
  const [value] = call.arguments ?? [];
  if (value === undefined || !TAKES_LIST.test(callee)) return undefined;
  const type = await checker.getTypeAtLocation(value);
  if ((await results.kindOf(type)) !== "object" || type === undefined) return undefined;
  const part = await results.partAt(value);
  if (part === undefined || isGuarded(value, value)) return undefined;
  const names = (await checker.getPropertiesOfType(type)).map((each) => each.name);
  const shown = shownText(value);
  return {
    tool: part.tool,
    text: `${shown} is an object with ${names.slice(0, 12).join(", ")}, and ${callee} takes a list`,
  };
}

/** Describes an object or a list of a result that the program calculates with. */
export async function judgeOperand(
  node: Node,
  results: ResultValues,
  checker: Checker,
): Promise<Misuse | undefined> {
  const operands = isBinaryExpression(node)
    ? [node.left, node.right]
    : isBinaryExpression(node.parent)
      ? [node.parent.left, node.parent.right]
      : [node];
  for (const operand of operands) {
    const kind = await results.kindOf(await checker.getTypeAtLocation(operand));
    if (kind !== "object" && kind !== "list") continue;
    const part = await results.partAt(operand);
    if (part === undefined || isGuarded(operand, operand)) continue;
    return { tool: part.tool, text: `${shownText(operand)} is ${KINDS[kind]}, and no number` };
  }
  return undefined;
}

/** The value that a diagnostic about a conversion concerns. */
function convertedAt(node: Node): Node {
  if (isAsExpression(node)) return node.expression;
  for (let each = node; each.parent !== undefined; each = each.parent) {
    if (isAsExpression(each) && !isTypeNode(node)) return each.expression;
    if (
      isBinaryExpression(each.parent) &&
      each.parent.operatorToken.getText() === "=" &&
      each.parent.left === each
    )
      return each.parent.right;
    if (each.parent.pos !== each.pos) break;
  }
  return valueAt(node);
}

/** The type that a value is converted to. */
async function targetOf(value: Node, checker: Checker): Promise<Type | undefined> {
  const { parent } = value;
  if (isAsExpression(parent)) return checker.getTypeAtLocation(parent);
  if (isBinaryExpression(parent) && parent.operatorToken.getText() === "=" && parent.right === value)
    return checker.getTypeAtLocation(parent.left);
  return isExpression(value) ? checker.getContextualType(value) : undefined;
}

/** Whether a call is of a function that the program declares. */
async function isOwn(call: Node, checker: Checker): Promise<boolean> {
  if (!isCallExpression(call)) return false;
  const symbol = await checker.getSymbolAtLocation(call.expression);
  return symbol?.declarations.some(({ path }) => path === PROGRAM_PATH) === true;
}
