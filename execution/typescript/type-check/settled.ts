import {
  isAwaitExpression,
  isCallExpression,
  isElementAccessExpression,
  isIdentifier,
  isPropertyAccessExpression,
  isVariableDeclaration,
  type Node,
  NodeFlags,
} from "../typescript-api.ts";

/** Whether an expression surely has its inferred type: a call, or a variable that is assigned only once. */
export function isSettled(expression: Node, declaration: Node | undefined): boolean {
  if (isPropertyAccessExpression(expression) || isElementAccessExpression(expression)) return false;
  if (!isIdentifier(expression)) return isCallExpression(expression) || isAwaitExpression(expression);
  if (declaration === undefined || !isVariableDeclaration(declaration)) return !isIdentifier(expression);
  return (declaration.parent.flags & NodeFlags.Const) !== 0;
}
