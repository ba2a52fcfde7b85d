import { explainUnavailable } from "./declared-tools.ts";
import { didYouMean, nearestNames } from "./nearest-names.ts";
import type { GeneratedTypes } from "./type-check-generated.ts";
import {
  type Checker,
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
  isNonNullExpression,
  isParenthesizedExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isTypeOfExpression,
  isVariableDeclaration,
  type Node,
  NodeFlags,
  type Type,
} from "./typescript-api.ts";

const NOT_AWAITED = "a promise; await it first";

/**
 * Whether a property is only tried, or made here: `x.items ?? x.results`, `if (x.error)`, `x.extra = 1`. Programs that do
 * so run, whatever the types say.
 */
export function isTriedOrMade(property: Node): boolean {
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

/** Says that what a tool returned, or a module of tools, has no such property. */
export async function judgeProperty(
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
  const origin = await generated.origin(type);
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

/** Says that something of a tool's, or a promise, is used for what it is not: a list, or a function. */
export async function judgeUse(
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
  const origin = await generated.origin(type);
  if (origin === undefined) return undefined;
  if (isModule(origin.name)) return `${shown} cannot be ${use}: it is the module servers/${origin.module}`;
  if (!isSettled(expression, await declarationOf(expression, checker))) return undefined;
  const names = (await checker.getPropertiesOfType(type)).map((each) => each.name);
  return `${shown} cannot be ${use}: it is an object with ${names.slice(0, 12).join(", ")}`;
}

/** The symbol of a module is named for its path. */
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

async function isPromise(type: Type): Promise<boolean> {
  return (await type.getSymbol())?.name === "Promise";
}

async function declarationOf(expression: Node, checker: Checker): Promise<Node | undefined> {
  if (!isIdentifier(expression)) return undefined;
  const symbol = await checker.getSymbolAtLocation(expression);
  return symbol?.valueDeclaration?.resolve();
}

/** Whether an expression is sure to have the type that it has: a call, or a variable that is set only once. */
export function isSettled(expression: Node, declaration: Node | undefined): boolean {
  if (isPropertyAccessExpression(expression) || isElementAccessExpression(expression)) return false;
  if (!isIdentifier(expression)) return isCallExpression(expression) || isAwaitExpression(expression);
  if (declaration === undefined || !isVariableDeclaration(declaration)) return !isIdentifier(expression);
  return (declaration.parent.flags & NodeFlags.Const) !== 0;
}
