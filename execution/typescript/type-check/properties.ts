import { describeUnwrapped } from "../../prepare/find-functions.ts";
import { didYouMean, nearestNames } from "../../prepare/nearest-names.ts";
import {
  type Checker,
  isAwaitExpression,
  isBindingElement,
  isCallExpression,
  isIdentifier,
  isParenthesizedExpression,
  isPropertyAccessExpression,
  isVariableDeclaration,
  type Node,
  type Type,
} from "../typescript-api.ts";
import { explainUnavailable } from "../unavailable-tools.ts";
import type { GeneratedTypes } from "./generated-types.ts";
import { isSettled } from "./settled.ts";

const NOT_AWAITED = "a promise; await it first";

/** Says that a tool's result, or a module of tools, has no such property. */
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

/** Says that a tool's result, a module or a promise is iterated or called, although it is no list or function. */
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

/** The call whose awaited value an expression is, or a constant that was set to it. */
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
