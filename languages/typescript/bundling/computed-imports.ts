import type { Node } from "acorn";
import type { Program } from "../../program.ts";
import { reduceToJavaScript, type TransformOptions } from "./bundler.ts";

/** Matches anything in the bundler's output that may be a computed import. */
const DYNAMIC_IMPORT = /import\s*(?:\(|\.(?!meta\b))/;

/**
 * Finds imports that the bundler would treat as patterns of file names, such as `import("./a/" + name)`. For these it would
 * search the host's folders without asking any resolver. Returns the expressions as text.
 *
 * The same bundler first compiles the program to plain JavaScript, without reading any file. This function therefore sees the
 * same code as the bundler, with constants folded and enum members inlined.
 *
 * @throws esbuild's error when the program is not a valid module, RangeError when it nests too deeply.
 */
export async function findComputedImports(program: Program): Promise<string[]> {
  const options: TransformOptions = {
    loader: program.language === "typescript" ? "ts" : "js",
    target: "es2022",
    charset: "utf8",
    sourcefile: program.fileName,
    // Indentation would make deeply nested code up to a hundred times as long.
    minifyWhitespace: true,
    logLevel: "silent",
    tsconfigRaw: { compilerOptions: {} },
  };
  const code = await reduceModule(program.code, options);
  if (!DYNAMIC_IMPORT.test(code)) return [];
  const { parse } = await import("acorn");
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
    if (error instanceof SyntaxError && error.message.startsWith("Not enough stack space"))
      throw new RangeError("the program nests too deeply", { cause: error });
    throw error;
  }
  return found;
}

/** Compiles the program as a module. The added export turns invalid code, such as a top-level return, into an error. */
async function reduceModule(code: string, options: TransformOptions): Promise<string> {
  try {
    return await reduceToJavaScript(`${code}\nexport {};`, options);
  } catch (error) {
    if (!(error instanceof Error && "errors" in error)) throw error;
    // Without the added line, other errors have the right places.
    await reduceToJavaScript(code, options);
    throw error;
  }
}

type SyntaxNode = Node & Record<string, unknown>;

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

/** Literals go through the resolver. A bare variable, property, call or await is resolved in the sandbox. */
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
