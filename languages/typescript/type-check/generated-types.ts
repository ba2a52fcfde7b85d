import type { DeclaredTool, GeneratedModule } from "../../../codegen/language-printer.ts";
import { ToolNames } from "../../../protocol/tool-names.ts";
import {
  type Checker,
  isArrayLiteralExpression,
  isCallExpression,
  isExpression,
  isFunctionLikeDeclaration,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isStatement,
  type Node,
  type Type,
} from "../typescript-api.ts";
import { MODULE_PATH, RUNTIME_PATH, TOOL_NAMES_PATH } from "./project.ts";

/** The origin of a type or function: a generated module, or the declarations that all modules share. */
export interface Origin {
  module: string | undefined;
  name: string;
}

/** An argument of a tool's call, seen from a node inside it. */
export interface Place {
  tool: DeclaredTool | undefined;
  /** The properties that lead from the argument to the node. */
  path: readonly string[];
}

/** Finds the types of a program that come from generated modules, and the tool of each. */
export class GeneratedTypes {
  readonly #checker: Checker;
  readonly #tools: readonly DeclaredTool[];
  readonly #names: ToolNames<DeclaredTool>;

  /** @param modules the generated modules that the program sees */
  constructor(checker: Checker, modules: Iterable<GeneratedModule>) {
    this.#checker = checker;
    this.#tools = [...modules].flatMap(({ tools }) => tools);
    this.#names = new ToolNames(this.#tools);
  }

  get tools(): readonly DeclaredTool[] {
    return this.#tools;
  }

  /** The names by which the tools can be called. */
  get names(): ToolNames<DeclaredTool> {
    return this.#names;
  }

  /** The tool of a module's function, if programs may not call that tool. */
  unavailable(module: string | undefined, identifier: string): DeclaredTool | undefined {
    return this.#tools.find(
      (tool) => tool.module === module && tool.identifier === identifier && !tool.isAvailable,
    );
  }

  /** The module that declares a type or a member of a union. `undefined` for types of the program or of JavaScript. */
  async origin(type: Type | undefined): Promise<Origin | undefined> {
    if (type === undefined) return undefined;
    for (const symbol of [await type.getAliasSymbol(), await type.getSymbol()]) {
      for (const { path } of symbol?.declarations ?? []) {
        const module = MODULE_PATH.exec(path)?.[1];
        if (module !== undefined || path === RUNTIME_PATH) return { module, name: symbol?.name ?? "" };
      }
    }
    if (!type.isUnionType()) return undefined;
    for (const member of await type.getTypes()) {
      const origin = await this.origin(member);
      if (origin !== undefined) return origin;
    }
    return undefined;
  }

  /** Like `origin`, and also for the results of `extract`, whose types are derived from its calls. */
  async resultOrigin(type: Type | undefined): Promise<Origin | undefined> {
    if (type === undefined) return undefined;
    const origin = await this.origin(type);
    if (origin !== undefined) return origin;
    for (const part of type.isIntersectionType() ? await type.getTypes() : [type]) {
      const symbol = await part.getSymbol();
      const isAsked = symbol?.declarations.some(({ path }) => path === TOOL_NAMES_PATH) === true;
      if (isAsked) return { module: undefined, name: symbol?.name ?? "" };
    }
    return undefined;
  }

  /** The generated type that the context expects for an expression, or for one that contains it. */
  async expectedOf(value: Node): Promise<Origin | undefined> {
    for (let node = value; node === value || !isBoundary(node); node = node.parent) {
      const isName = isPropertyAssignment(node.parent) && node.parent.name === node;
      if (!isName && isExpression(node)) {
        const origin = await this.origin(await this.#checker.getContextualType(node));
        if (origin !== undefined) return origin;
      }
      if (isCallExpression(node.parent)) return undefined;
    }
    return undefined;
  }

  /** The tool call whose argument contains a node, and the node's place in the argument. */
  async place(inside: Node): Promise<Place> {
    const path: string[] = [];
    let element = "";
    for (let node = inside; !isBoundary(node); node = node.parent) {
      if (isArrayLiteralExpression(node.parent)) element = "[]";
      if (isPropertyAssignment(node)) {
        path.unshift(nameText(node.name) + element);
        element = "";
      }
      if (isCallExpression(node.parent) && node.parent.expression !== node) {
        return { tool: await this.toolOf(node.parent), path };
      }
    }
    return { tool: undefined, path };
  }

  /** The tool whose arguments a type describes. Tools never share that type (codegen/typescript/print-typescript.ts). */
  takerOf(input: Origin): DeclaredTool | undefined {
    return this.#tools.find((tool) => tool.module === input.module && tool.input === input.name);
  }

  /** The tool that a call expression calls, or `undefined` if it calls something else. */
  async toolOf(call: Node): Promise<DeclaredTool | undefined> {
    if (!isCallExpression(call)) return undefined;
    let callee: Node = call.expression;
    if (isPropertyAccessExpression(callee) && callee.name.text === "result") callee = callee.expression;
    return this.toolAt(callee);
  }

  /** The tool whose function an expression refers to. */
  async toolAt(expression: Node): Promise<DeclaredTool | undefined> {
    const type = await this.#checker.getTypeAtLocation(expression);
    if (type === undefined || (await this.origin(type))?.name !== "ToolFunction" || !type.isTypeReference())
      return undefined;
    const [input] = await this.#checker.getTypeArguments(type);
    const origin = await this.origin(input);
    return origin && this.takerOf(origin);
  }
}

/** The name of a property in a program's text, without quotes. */
function nameText(name: Node): string {
  return name.getText().replace(/^(["'])(.*)\1$/s, "$2");
}

function isBoundary(node: Node): boolean {
  return node.parent === undefined || isFunctionLikeDeclaration(node) || isStatement(node);
}
