import type { AnyNode, Expression, Program as Parsed, VariableDeclarator } from "acorn";
import type { EndedProgram } from "../../language.ts";
import type { ModuleSource } from "../../module-source.ts";
import { nameServers } from "../../name-servers.ts";
import type { Program } from "../../program.ts";
import { reduceToJavaScript } from "../bundling/bundler.ts";

/** Longer programs mostly carry data, and are not looked into. */
const MAX_CODE_CHARS = 256 * 1024;
const MAX_SHOWN_CHARS = 60;

const NO_NETWORK = /\bfetch failed\b|\bgetaddrinfo EAI_AGAIN\b/;
const PENDING = /Promise \{ <pending> \}|\[object Promise\]/;
/** Methods that are called for what they do, and not for what they return. */
const EFFECTS: ReadonlySet<string> = new Set(
  "add append clear close delete end forEach on once pop push set shift splice unshift write log info debug warn error table".split(
    " ",
  ),
);

const NO_VALUE = "nothing was printed and no result is set";

const GIVES_NOTHING = `${NO_VALUE}: write globalThis.result = ... for what is to come back, or print it`;

/** Advice on a program that succeeded without giving anything back, or whose value was probably lost, one line each. Never rejects. */
export async function adviseOnSuccess(
  program: Program,
  output: EndedProgram & { ok: true },
  modules: ModuleSource,
): Promise<string[]> {
  if (PENDING.test(output.consoleText))
    return ["a promise was printed and not its value: await the call first"];
  if (NO_NETWORK.test(output.consoleText))
    return [`a program has no network: call a tool of a server instead${nameServers(modules)}`];
  const general = output.isEmpty ? [GIVES_NOTHING] : [];
  const mayHoldPromise = /\{\}/.test(output.consoleText);
  if ((!output.isEmpty && !mayHoldPromise) || program.code.length > MAX_CODE_CHARS) return general;
  try {
    const parsed = await parseProgram(program);
    const advice = output.isEmpty ? adviseOnLostValue(parsed) : adviseOnPrintedPromise(parsed);
    return advice === undefined ? general : [advice];
  } catch {
    return general;
  }
}

interface ParsedProgram {
  code: string;
  tree: Parsed;
}

async function parseProgram(program: Program): Promise<ParsedProgram> {
  const code = await reduceToJavaScript(program.code, {
    loader: program.language === "typescript" ? "ts" : "js",
    target: "es2022",
    charset: "utf8",
    logLevel: "silent",
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  });
  const { parse } = await import("acorn");
  return {
    code,
    tree: parse(code, { ecmaVersion: "latest", sourceType: "module", allowReturnOutsideFunction: true }),
  };
}

/** Says how to give the value that a program seems to mean. */
function adviseOnLostValue({ code, tree }: ParsedProgram): string | undefined {
  const show = ({ start, end }: AnyNode): string => {
    const text = code.slice(start, end).replace(/\s+/g, " ");
    return text.length <= MAX_SHOWN_CHARS ? text : "...";
  };
  for (const node of tree.body) {
    if (node.type === "ExportDefaultDeclaration") return adviseOnExport(node.declaration, show);
    if (node.type === "ExportNamedDeclaration")
      return `${NO_VALUE}: what a program exports is dropped; write globalThis.result = ...`;
    if (node.type === "ExpressionStatement" && isCommonJs(node.expression))
      return `${NO_VALUE}: a program is an ES module, and module.exports is dropped; write globalThis.result = ...`;
  }
  const last = tree.body.at(-1);
  if (last?.type === "ExpressionStatement" && meansValue(last.expression))
    return `${NO_VALUE}: the value of the last expression is dropped; write globalThis.result = ${waited(last.expression)}${show(last.expression)}`;
  if (tree.body.some((node) => node.type === "VariableDeclaration" && declares(node.declarations, "result")))
    return `${NO_VALUE}: a variable named result is not the program's result; write globalThis.result = result`;
  const uncalled = tree.body.find(
    (node) => node.type === "FunctionDeclaration" && mentions(code, node.id?.name ?? "") === 1,
  );
  if (uncalled?.type === "FunctionDeclaration")
    return `${NO_VALUE}: ${uncalled.id?.name} is never called; write globalThis.result = await ${uncalled.id?.name}()`;
  const declared = last?.type === "VariableDeclaration" ? last.declarations.at(-1)?.id : undefined;
  if (declared?.type === "Identifier")
    return `${NO_VALUE}: write globalThis.result = ${declared.name}, or print it`;
  return undefined;
}

function adviseOnExport(declared: AnyNode, show: (node: AnyNode) => string): string {
  if (/Function|Class/.test(declared.type))
    return `${NO_VALUE}: nobody calls what a program exports; call the function and set globalThis.result to what it returns`;
  return `${NO_VALUE}: what a program exports is dropped; write globalThis.result = ${show(declared)}`;
}

function declares(declarations: readonly VariableDeclarator[], name: string): boolean {
  return declarations.some(({ id }) => id.type === "Identifier" && id.name === name);
}

function isCommonJs(expression: Expression): boolean {
  if (expression.type !== "AssignmentExpression" || expression.left.type !== "MemberExpression") return false;
  const { object } = expression.left;
  const root = object.type === "MemberExpression" ? object.object : object;
  return root.type === "Identifier" && (root.name === "module" || root.name === "exports");
}

/** Whether somebody who writes this as the last statement means its value. */
function meansValue(expression: Expression): boolean {
  switch (expression.type) {
    case "AwaitExpression":
      return meansValue(expression.argument);
    case "CallExpression": {
      const { callee } = expression;
      if (callee.type !== "MemberExpression") return true;
      return !(callee.property.type === "Identifier" && EFFECTS.has(callee.property.name));
    }
    case "Identifier":
    case "MemberExpression":
    case "ObjectExpression":
    case "ArrayExpression":
    case "TemplateLiteral":
    case "BinaryExpression":
    case "ConditionalExpression":
      return true;
    case "ParenthesizedExpression":
      return meansValue(expression.expression);
    default:
      return false;
  }
}

function waited(expression: Expression): string {
  return expression.type === "CallExpression" ? "await " : "";
}

/** Says that a variable whose call is not awaited was turned into JSON or printed. */
function adviseOnPrintedPromise({ code, tree }: ParsedProgram): string | undefined {
  for (const node of tree.body) {
    if (node.type !== "VariableDeclaration") continue;
    for (const { id, init } of node.declarations) {
      if (id.type !== "Identifier" || init?.type !== "CallExpression") continue;
      const name = id.name.replace(/\$/g, "\\$");
      const isAwaited = new RegExp(
        `\\bawait\\b[^;\\n]*\\b${name}\\b|\\b${name}\\s*\\.\\s*(?:then|catch|finally)\\b`,
      ).test(code);
      const isTool = /^(?:mcp__|callTool\b)|^[\w$]+\.[\w$]+\(/.test(code.slice(init.start, init.end));
      const isTurned = new RegExp(`\\bstringify\\(\\s*${name}\\b`).test(code);
      if (isTool && isTurned && !isAwaited)
        return `'${id.name}' is a promise, which JSON writes as {}: await the call first`;
    }
  }
  return undefined;
}

function mentions(code: string, name: string): number {
  return code.match(new RegExp(`(?<![\\w$])${name.replace(/\$/g, "\\$")}(?![\\w$])`, "g"))?.length ?? 0;
}
