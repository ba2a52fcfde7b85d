import type { AnyNode, CallExpression, Program as Parsed, Pattern } from "acorn";
import { isObject } from "../../base/json.ts";
import { MAX_MEMBERS, type NamedAnswer } from "../tool-answers.ts";

/** A member that a program reads of a part of an answer, and that is not there. */
export interface MissedRead {
  readonly answer: NamedAnswer;
  /** The path to the part, such as `commits[].author`; empty for the whole answer. */
  readonly path: string;
  /** The part without the member. */
  readonly value: unknown;
  readonly name: string;
  /** What the program reads of the missing member. */
  next: string | undefined;
}

/** A value that the program has from an answer. */
interface Held {
  readonly answer: NamedAnswer;
  readonly path: string;
  readonly value: unknown;
  /** Set if the value is not there. */
  readonly missed?: MissedRead;
}

type Scope = Map<string, Held | undefined>;

/** Methods that return a list of the same items, or the same text in another form. */
const SAME = /^(?:concat|filter|reverse|slice|sort|toReversed|toSorted|trim|trimEnd|trimStart)$/;
const ITEM = /^(?:at|find|findLast|pop|shift)$/;
const CALLED_WITH_ITEM = /^(?:every|filter|find|findIndex|findLast|flatMap|forEach|map|some|sort|toSorted)$/;
const MAX_MISSED = 20;

/**
 * Finds the members that a program reads of answers and that these lack, by following the program's expressions over what the
 * tools answered. Reads that the program makes to see whether a member is there are left out. Reads that it cannot follow too.
 */
export function findMissedReads(tree: Parsed, answers: readonly NamedAnswer[]): MissedRead[] {
  const reader = new ResultReader(tree, answers);
  reader.visit(tree, new Map());
  return reader.missed;
}

class ResultReader {
  readonly missed: MissedRead[] = [];
  readonly #answers: readonly NamedAnswer[];
  /** The modules that names of the program stand for, and the functions. */
  readonly #modules = new Map<string, string>();
  readonly #functions = new Map<string, { module: string; identifier: string }>();
  readonly #seen = new Map<AnyNode, Held | undefined>();

  constructor(tree: Parsed, answers: readonly NamedAnswer[]) {
    this.#answers = answers;
    for (const node of tree.body) {
      if (node.type !== "ImportDeclaration" || typeof node.source.value !== "string") continue;
      const module = /servers\/([a-z0-9_]+)/.exec(node.source.value)?.[1];
      if (module === undefined) continue;
      for (const each of node.specifiers) {
        if (each.type === "ImportNamespaceSpecifier") this.#modules.set(each.local.name, module);
        else if (each.type === "ImportSpecifier" && each.imported.type === "Identifier")
          this.#functions.set(each.local.name, { module, identifier: each.imported.name });
      }
    }
  }

  /** Follows a node and all nodes in it. */
  visit(node: AnyNode, scope: Scope): void {
    switch (node.type) {
      case "VariableDeclarator":
        if (node.init) this.#bind(node.id, this.#eval(node.init, scope), scope);
        else this.#bind(node.id, undefined, scope);
        return;
      case "ForOfStatement": {
        const held = itemOf(this.#eval(node.right, scope));
        const target = node.left.type === "VariableDeclaration" ? node.left.declarations[0]?.id : undefined;
        const inner = new Map(scope);
        if (target !== undefined) this.#bind(target, held, inner);
        this.visit(node.body, inner);
        return;
      }
      case "IfStatement":
        this.#try(node.test, scope);
        this.visit(node.consequent, scope);
        if (node.alternate) this.visit(node.alternate, scope);
        return;
      case "TryStatement":
        // What fails there is handled.
        return;
      case "AssignmentExpression":
        this.#eval(node.right, scope);
        if (node.left.type === "Identifier") scope.set(node.left.name, undefined);
        return;
      case "ArrowFunctionExpression":
      case "FunctionExpression":
      case "FunctionDeclaration": {
        const inner = new Map(scope);
        for (const parameter of node.params) this.#bind(parameter, undefined, inner);
        this.visit(node.body, inner);
        return;
      }
      case "MemberExpression":
      case "CallExpression":
      case "AwaitExpression":
      case "LogicalExpression":
      case "ConditionalExpression":
      case "UnaryExpression":
        this.#eval(node, scope);
        return;
      default:
        for (const child of childrenOf(node)) this.visit(child, scope);
    }
  }

  /** Follows an expression whose missing members the program asks for. */
  #try(node: AnyNode, scope: Scope): Held | undefined {
    const before = this.missed.length;
    const held = this.#eval(node, scope);
    this.missed.length = Math.min(before, this.missed.length);
    return held?.missed === undefined ? held : undefined;
  }

  #eval(node: AnyNode, scope: Scope): Held | undefined {
    if (this.#seen.has(node)) return this.#seen.get(node);
    const held = this.#evalNew(node, scope);
    this.#seen.set(node, held);
    return held;
  }

  #evalNew(node: AnyNode, scope: Scope): Held | undefined {
    switch (node.type) {
      case "AwaitExpression":
        return this.#eval(node.argument, scope);
      case "ChainExpression":
      case "ParenthesizedExpression":
        return this.#eval(node.expression, scope);
      case "Identifier":
        return scope.get(node.name);
      case "LogicalExpression":
        this.#try(node.left, scope);
        this.#eval(node.right, scope);
        return undefined;
      case "ConditionalExpression":
        this.#try(node.test, scope);
        this.#try(node.consequent, scope);
        this.#try(node.alternate, scope);
        return undefined;
      case "UnaryExpression":
        if (node.operator === "-" || node.operator === "+") this.#eval(node.argument, scope);
        else this.#try(node.argument, scope);
        return undefined;
      case "CallExpression":
        return this.#call(node, scope);
      case "MemberExpression": {
        if (node.object.type === "Super") return undefined;
        const object = this.#eval(node.object, scope);
        if (node.computed && node.property.type !== "Literal") this.visit(node.property, scope);
        const name = nameOf(node);
        if (object === undefined || name === undefined) return undefined;
        if (node.optional && object.missed !== undefined) return undefined;
        return this.#member(object, name);
      }
      default:
        this.visit(node, scope);
        return undefined;
    }
  }

  #member(object: Held, name: string): Held | undefined {
    if (object.missed !== undefined) {
      object.missed.next ??= name;
      return undefined;
    }
    const { answer, value } = object;
    const isIndex = /^\d+$/.test(name);
    const path = isIndex ? `${object.path}[]` : object.path === "" ? name : `${object.path}.${name}`;
    if (value === undefined) return undefined;
    if (Array.isArray(value) && isIndex && value.length > 0)
      return { answer, path, value: value[Math.min(Number(name), value.length - 1)] };
    // A program that takes an item of a text took the text for a list.
    if (typeof value === "string" && isIndex) return object;
    if (isObject(value) && Object.hasOwn(value, name)) return { answer, path, value: value[name] };
    if (value !== null && name in Object(value)) return undefined;
    if (isObject(value) && Object.keys(value).length >= MAX_MEMBERS) return undefined;
    const missed: MissedRead = { answer, path: object.path, value, name, next: undefined };
    if (this.missed.length < MAX_MISSED) this.missed.push(missed);
    return { answer, path, value: undefined, missed };
  }

  #call(node: CallExpression, scope: Scope): Held | undefined {
    const { callee } = node;
    const answer = this.#answerOf(node);
    if (answer !== undefined) {
      for (const argument of node.arguments) this.visit(argument, scope);
      return { answer, path: "", value: answer.value };
    }
    const [first] = node.arguments;
    if (callee.type === "MemberExpression" && callee.object.type !== "Super") {
      const object = this.#eval(callee.object, scope);
      const method = nameOf(callee);
      if (object !== undefined && method !== undefined) {
        this.#eval(callee, scope);
        if (first?.type === "ArrowFunctionExpression" && CALLED_WITH_ITEM.test(method)) {
          const inner = new Map(scope);
          const [parameter] = first.params;
          if (parameter !== undefined) this.#bind(parameter, itemOf(object), inner);
          const given = this.#body(first.body, inner);
          if (method === "map" && given !== undefined && given.missed === undefined)
            return { ...given, value: [given.value] };
        } else for (const argument of node.arguments) this.visit(argument, scope);
        if (SAME.test(method) && (Array.isArray(object.value) || typeof object.value === "string"))
          return object;
        return ITEM.test(method) ? itemOf(object) : undefined;
      }
    }
    if (callee.type !== "Super") this.#eval(callee, scope);
    for (const argument of node.arguments) this.visit(argument, scope);
    return undefined;
  }

  #body(body: AnyNode, scope: Scope): Held | undefined {
    if (body.type !== "BlockStatement") return this.#eval(body, scope);
    this.visit(body, scope);
    return undefined;
  }

  #answerOf({ callee, arguments: args }: CallExpression): NamedAnswer | undefined {
    const [first] = args;
    if (callee.type === "Identifier") {
      const { name } = callee;
      const named = name === "callTool" && first?.type === "Literal" ? first.value : undefined;
      const imported = this.#functions.get(name);
      return this.#answers.find(({ tool, declared }) =>
        imported === undefined
          ? tool === (named ?? name) ||
            tool.replace(/[^\w$]/g, "_") === name ||
            `mcp__${declared?.module}__${declared?.identifier}` === name
          : declared?.module === imported.module && declared.identifier === imported.identifier,
      );
    }
    if (callee.type !== "MemberExpression" || callee.object.type !== "Identifier") return undefined;
    const module = this.#modules.get(callee.object.name);
    const identifier = nameOf(callee);
    return this.#answers.find(
      ({ declared }) =>
        module !== undefined && declared?.module === module && declared.identifier === identifier,
    );
  }

  #bind(pattern: Pattern, held: Held | undefined, scope: Scope): void {
    if (pattern.type === "Identifier") scope.set(pattern.name, held);
    else if (pattern.type === "AssignmentPattern") this.#bind(pattern.left, undefined, scope);
    else if (pattern.type === "ArrayPattern") {
      for (const element of pattern.elements)
        if (element !== null && element.type !== "RestElement")
          this.#bind(element, held && itemOf(held), scope);
    } else if (pattern.type === "ObjectPattern") {
      for (const property of pattern.properties) {
        if (property.type === "RestElement" || property.key.type !== "Identifier") continue;
        const { name } = property.key;
        const hasDefault = property.value.type === "AssignmentPattern";
        const member =
          held === undefined || hasDefault || property.computed ? undefined : this.#member(held, name);
        this.#bind(property.value, member, scope);
      }
    }
  }
}

/** The items of a list that a program goes through one by one. */
function itemOf(held: Held | undefined): Held | undefined {
  if (held === undefined || !Array.isArray(held.value) || held.value.length === 0) return undefined;
  return { answer: held.answer, path: `${held.path}[]`, value: held.value[0] };
}

function nameOf(node: AnyNode): string | undefined {
  if (node.type !== "MemberExpression") return undefined;
  if (!node.computed && node.property.type === "Identifier") return node.property.name;
  return node.property.type === "Literal" ? String(node.property.value) : undefined;
}

function childrenOf(node: AnyNode): AnyNode[] {
  return Object.values(node)
    .flat()
    .filter((child): child is AnyNode => isObject(child) && typeof child.type === "string");
}
