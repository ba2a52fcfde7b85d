import {
  type Checker,
  isAwaitExpression,
  isBindingElement,
  isCallExpression,
  isElementAccessExpression,
  isIdentifier,
  isPropertyAccessExpression,
  isVariableDeclaration,
  type Node,
  NodeFlags,
} from "../typescript-api.ts";
import { RUNTIME_PATH } from "./project.ts";

/** Whether an expression is a member of the program's data, of which the type is known only where a manifest declares it. */
export async function isOfData(
  expression: Node,
  declaration: Node | undefined,
  checker: Checker,
): Promise<boolean> {
  const source = isPropertyAccessExpression(expression) ? expression.expression : takenFrom(declaration);
  if (source === undefined || !isIdentifier(source) || source.text !== "data") return false;
  const symbol = await checker.getSymbolAtLocation(source);
  return symbol?.declarations.some(({ path }) => path === RUNTIME_PATH) === true;
}

/** What a constant is taken apart from: `data` in `const { month } = data`. */
function takenFrom(declaration: Node | undefined): Node | undefined {
  if (declaration === undefined || !isBindingElement(declaration)) return undefined;
  const whole = declaration.parent.parent;
  if (!isVariableDeclaration(whole) || (whole.parent.flags & NodeFlags.Const) === 0) return undefined;
  return whole.initializer;
}

/** Whether an expression surely has its inferred type: a call, or a variable that is assigned only once. */
export function isSettled(expression: Node, declaration: Node | undefined): boolean {
  if (isPropertyAccessExpression(expression) || isElementAccessExpression(expression)) return false;
  if (!isIdentifier(expression)) return isCallExpression(expression) || isAwaitExpression(expression);
  if (declaration === undefined || !isVariableDeclaration(declaration)) return !isIdentifier(expression);
  return (declaration.parent.flags & NodeFlags.Const) !== 0;
}
