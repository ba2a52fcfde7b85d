import { type Node, parse } from "acorn";
import { reduceToJavaScript, type TransformOptions } from "./bundler.ts";
import type { Program } from "./program.ts";

/**
 * Finds what in a program the bundler would take for a pattern of file names, such as `import("./a/" + name)`: it would
 * walk the host's folders for files that match, past every resolver. Returns the offending expressions as text.
 *
 * The program is first reduced to plain JavaScript by the same bundler, without touching a file, so that what is judged
 * here is what the bundler will see, constants folded and enum members inlined.
 *
 * @throws an error of the bundler's when the program is not syntactically valid.
 */
export async function findComputedImports(program: Program): Promise<string[]> {
  const options: TransformOptions = {
    loader: program.language === "typescript" ? "ts" : "js",
    target: "es2022",
    charset: "utf8",
    sourcefile: program.fileName,
    logLevel: "silent",
    tsconfigRaw: { compilerOptions: {} },
  };
  const code = await reduceToJavaScript(program.code, options);
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (!isNode(value)) return;
    if (value.type === "ImportExpression" && !isHarmless(value.source))
      found.push(code.slice(value.start, value.end));
    for (const [key, child] of Object.entries(value)) if (key !== "type") visit(child);
  };
  try {
    visit(parse(code, { ecmaVersion: "latest", sourceType: "module" }));
  } catch (error) {
    // What only a module may not have, such as a return at its top level: the bundler knows the place in the program.
    if (error instanceof SyntaxError) await reduceToJavaScript(`${program.code}\nexport {};`, options);
    throw error;
  }
  return found;
}

type SyntaxNode = Node & Record<string, unknown>;

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

/** A literal goes through the resolver. A bare variable, property, call or await is left to the sandbox. */
function isHarmless(source: unknown): boolean {
  if (!isNode(source)) return false;
  switch (source.type) {
    case "Literal":
      return typeof source.value === "string";
    case "TemplateLiteral":
      return Array.isArray(source.expressions) && source.expressions.length === 0;
    case "Identifier":
    case "MemberExpression":
    case "CallExpression":
    case "AwaitExpression":
      return true;
    default:
      return false;
  }
}
