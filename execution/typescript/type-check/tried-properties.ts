import {
  isAsExpression,
  isBinaryExpression,
  isBindingElement,
  isCallExpression,
  isConditionalExpression,
  isDeleteExpression,
  isElementAccessExpression,
  isIfStatement,
  isNonNullExpression,
  isParenthesizedExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isTypeOfExpression,
  type Node,
} from "../typescript-api.ts";

/**
 * Whether a property is only tested, or defined here: `x.items ?? x.results`, `if (x.error)`, `x.extra = 1`. Such code works
 * even if the type lacks the property.
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
