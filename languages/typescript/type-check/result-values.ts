import type { DeclaredTool } from "../../../codegen/language-printer.ts";
import {
  type Checker,
  isArrayLiteralExpression,
  isArrowFunction,
  isAwaitExpression,
  isBindingElement,
  isBlock,
  isCallExpression,
  isElementAccessExpression,
  isForOfStatement,
  isIdentifier,
  isNonNullExpression,
  isParameterDeclaration,
  isParenthesizedExpression,
  isPropertyAccessExpression,
  isTryStatement,
  isVariableDeclaration,
  type Node,
  NodeFlags,
  type SourceFile,
  type Type,
  TypeFlags,
} from "../typescript-api.ts";
import type { GeneratedTypes } from "./generated-types.ts";

/** The kinds of JSON values that a type can say for certain. */
export type ValueKind = "string" | "number" | "boolean" | "list" | "object";

/** The tool whose result an expression is a part of. */
export interface ResultPart {
  /** `undefined` if the type of the result says that it is one, and several tools may return it. */
  tool: DeclaredTool | undefined;
}

/** Methods that return a part of the text or list that they are called on, with a type that does not depend on the program. */
const KEEPS_PARTS =
  /^(?:at|concat|filter|find|findLast|flat|join|padEnd|padStart|pop|replace|replaceAll|reverse|shift|slice|sort|split|substring|toLowerCase|toReversed|toSorted|toString|toUpperCase|trim|trimEnd|trimStart)$/;
/** Methods of lists that call a function with an element, by the position of the element among its parameters. */
const GIVES_ELEMENTS: readonly (readonly [RegExp, (position: number) => boolean])[] = [
  [
    /^(?:every|filter|find|findIndex|findLast|findLastIndex|flatMap|forEach|map|some)$/,
    (position) => position === 0,
  ],
  [/^(?:sort|toSorted)$/, (position) => position <= 1],
  [/^(?:reduce|reduceRight)$/, (position) => position === 1],
];
/** The deepest chain of expressions that is followed. */
const MAX_STEPS = 40;

/**
 * Finds the expressions whose values certainly are parts of tools' results, so that their declared types hold: results, their
 * members and elements, constants that hold them, and the parameters of functions that lists of them are given to. A value that
 * the program computes, casts or may assign again is not among them.
 */
export class ResultValues {
  readonly #checker: Checker;
  readonly #generated: GeneratedTypes;
  readonly #file: SourceFile;

  constructor(checker: Checker, generated: GeneratedTypes, file: SourceFile) {
    this.#checker = checker;
    this.#generated = generated;
    this.#file = file;
  }

  /** The result that an expression certainly is a part of. `undefined` if that is not certain. */
  async partAt(expression: Node, steps = MAX_STEPS): Promise<ResultPart | undefined> {
    if (steps === 0) return undefined;
    const next = (node: Node) => this.partAt(node, steps - 1);
    if (
      isParenthesizedExpression(expression) ||
      isNonNullExpression(expression) ||
      isAwaitExpression(expression)
    )
      return next(expression.expression);
    if (isCallExpression(expression)) return this.#partOfCall(expression, next);
    if (isPropertyAccessExpression(expression) || isElementAccessExpression(expression))
      return (await next(expression.expression)) ?? this.#partByType(expression);
    if (!isIdentifier(expression)) return undefined;
    const symbol = await this.#checker.getSymbolAtLocation(expression);
    const declaration = await symbol?.valueDeclaration?.resolve();
    const held = declaration && !this.#isAssigned(expression.text, declaration) ? declaration : undefined;
    return (held && (await this.#partOfDeclaration(held, next))) ?? this.#partByType(expression);
  }

  /** The result that a declaration certainly holds a part of, for example the pattern that takes one apart. */
  async partOf(declaration: Node): Promise<ResultPart | undefined> {
    return this.#partOfDeclaration(declaration, (node) => this.partAt(node));
  }

  /** The part whose type only results have. */
  async #partByType(expression: Node): Promise<ResultPart | undefined> {
    const type = await this.#checker.getTypeAtLocation(expression);
    if (type === undefined || type.isUnionType()) return undefined;
    const origin = await this.#generated.origin(type);
    if (origin?.module === undefined || /[/"]/.test(origin.name)) return undefined;
    if (this.#generated.takerOf(origin) !== undefined) return undefined;
    const tools = this.#generated.tools.filter(
      ({ module, output }) => module === origin.module && output === origin.name,
    );
    return { tool: tools.length === 1 ? tools[0] : undefined };
  }

  async #partOfCall(
    call: Node,
    next: (node: Node) => Promise<ResultPart | undefined>,
  ): Promise<ResultPart | undefined> {
    if (!isCallExpression(call)) return undefined;
    const tool = await this.#generated.toolOf(call);
    if (tool !== undefined) return { tool };
    const { expression: callee, arguments: args } = call;
    if (isAllOf(callee)) {
      const [given] = args;
      return given && this.#partOfEach(given, next);
    }
    if (!isPropertyAccessExpression(callee) || !KEEPS_PARTS.test(callee.name.text)) return undefined;
    return next(callee.expression);
  }

  /** The result that every element of a list of calls gives. */
  async #partOfEach(
    list: Node,
    next: (node: Node) => Promise<ResultPart | undefined>,
  ): Promise<ResultPart | undefined> {
    if (isArrayLiteralExpression(list)) {
      const parts = await Promise.all(list.elements.map((element) => next(calledBy(element))));
      return parts.length > 0 && parts.every((part) => part !== undefined) ? { tool: undefined } : undefined;
    }
    if (!isCallExpression(list)) return undefined;
    const [made] = list.arguments;
    const isMapped = isPropertyAccessExpression(list.expression) && list.expression.name.text === "map";
    return isMapped && made !== undefined ? next(calledBy(calledBy(made))) : undefined;
  }

  async #partOfDeclaration(
    declaration: Node,
    next: (node: Node) => Promise<ResultPart | undefined>,
  ): Promise<ResultPart | undefined> {
    if (isBindingElement(declaration)) {
      if (declaration.initializer !== undefined || declaration.dotDotDotToken !== undefined) return undefined;
      return this.#partOfDeclaration(declaration.parent.parent, next);
    }
    if (isVariableDeclaration(declaration)) {
      if (declaration.type !== undefined) return undefined;
      const loop = declaration.parent.parent;
      if (isForOfStatement(loop))
        return loop.initializer === declaration.parent ? next(loop.expression) : undefined;
      return declaration.initializer && next(declaration.initializer);
    }
    if (!isParameterDeclaration(declaration) || declaration.type !== undefined) return undefined;
    const made = declaration.parent;
    const call = made.parent;
    if (!isArrowFunction(made) || !isCallExpression(call) || call.arguments[0] !== made) return undefined;
    const { expression: callee } = call;
    if (!isPropertyAccessExpression(callee)) return undefined;
    const position = made.parameters.indexOf(declaration);
    const gives = GIVES_ELEMENTS.some(([name, has]) => name.test(callee.name.text) && has(position));
    return gives ? next(callee.expression) : undefined;
  }

  /** Whether a variable that is no constant may get another value. */
  #isAssigned(name: string, declaration: Node): boolean {
    let root = declaration;
    while (isBindingElement(root)) root = root.parent.parent;
    if (isVariableDeclaration(root) && (root.parent.flags & NodeFlags.Const) !== 0) return false;
    const escaped = name.replace(/\$/g, "\\$");
    const { text } = this.#file;
    const declared = isVariableDeclaration(declaration) && declaration.initializer !== undefined ? 1 : 0;
    const assigned = text.match(
      new RegExp(`(?<![\\w$.])${escaped}\\s*(?:[-+*/%&|^?<>]{0,3}=(?![=>])|\\+\\+|--)`, "g"),
    );
    return (assigned?.length ?? 0) > declared || new RegExp(`(?:\\+\\+|--)\\s*${escaped}\\b`).test(text);
  }

  /** The kind of all values of a type. `undefined` if it has values of several kinds, or any. */
  async kindOf(type: Type | undefined): Promise<ValueKind | undefined> {
    if (type === undefined || (type.flags & (TypeFlags.Any | TypeFlags.Unknown | TypeFlags.Never)) !== 0)
      return undefined;
    if ((type.flags & TypeFlags.BooleanLike) !== 0) return "boolean";
    if (type.isUnionType()) {
      const kinds = new Set(await Promise.all((await type.getTypes()).map((each) => this.kindOf(each))));
      return kinds.size === 1 ? [...kinds][0] : undefined;
    }
    if ((type.flags & TypeFlags.StringLike) !== 0) return "string";
    if ((type.flags & TypeFlags.NumberLike) !== 0) return "number";
    if ((await this.#checker.isArrayType(type)) || (await this.#checker.isTupleType(type))) return "list";
    if ((type.flags & TypeFlags.Object) === 0) return undefined;
    const symbol = await type.getSymbol();
    return /^(?:Promise|Date|Map|Set|String|Number|Boolean|Object)$/.test(symbol?.name ?? "")
      ? undefined
      : "object";
  }
}

/** Whether a function waits for all of its calls and gives their results in order. */
function isAllOf(callee: Node): boolean {
  return /^(?:Promise\.all|parallel)$/.test(callee.getText());
}

/** The expression that a function without a block returns, or the expression itself. */
function calledBy(expression: Node): Node {
  if (!isArrowFunction(expression) || isBlock(expression.body)) return expression;
  return expression.body;
}

/** Whether a program handles that an expression fails with the value itself: `try { x = JSON.parse(r) } catch { x = r }`. */
export function isGuarded(node: Node, value: Node): boolean {
  const root = /^[\w$]+/.exec(value.getText())?.[0];
  for (let each = node; each.parent !== undefined; each = each.parent) {
    const { parent } = each;
    if (!isTryStatement(parent) || parent.tryBlock !== each || parent.catchClause === undefined) continue;
    const caught = parent.catchClause.block.getText();
    if (root !== undefined && new RegExp(`(?<![\\w$.])${root.replace(/\$/g, "\\$")}(?![\\w$])`).test(caught))
      return true;
  }
  return false;
}

const MAX_SHOWN_CHARS = 60;

/** An expression on one line, cut if it is long. */
export function shownText(expression: Node): string {
  const text = expression.getText().replace(/\s+/g, " ");
  return text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, MAX_SHOWN_CHARS)}...`;
}
