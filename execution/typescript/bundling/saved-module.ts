import type { ExportNamedDeclaration, Program as ModuleTree } from "acorn";
import { RecentlyUsed } from "../../../base/recently-used.ts";
import { PROGRAM_SCHEME } from "../../../protocol/paths.ts";
import type { CalledProgram } from "../../prepare/called-programs.ts";
import { reduceToJavaScript, type TransformOptions } from "./bundler.ts";

/**
 * Makes of a saved program, which is written as any program is, a module whose function runs it. Its imports stay where they are
 * evaluated once; everything else becomes the body of the function, so that each call has bindings, data and a result of its own.
 */

const MAX_MODULES = 100;
const MAX_CHARS = 16 * 1024 * 1024;
const made = new RecentlyUsed<string, string>({ maxEntries: MAX_MODULES, maxWeight: MAX_CHARS });

const SOURCE_MAP = /\n\/\/# sourceMappingURL=data:application\/json;base64,([A-Za-z0-9+/=]+)\s*$/;

/**
 * The module of a saved program, in JavaScript, with a source map that leads to the program's own lines.
 *
 * @throws SyntaxError for what a saved program cannot hold; the bundler's error for a text that is no module; BundlerOverwhelmed.
 */
export async function savedModule({ code, fileName, language }: SavedText): Promise<string> {
  const key = `${language} ${fileName} ${code}`;
  const known = made.get(key);
  if (known !== undefined) return known;
  const options: TransformOptions = {
    loader: language === "typescript" ? "ts" : "js",
    target: "node22",
    charset: "utf8",
    legalComments: "none",
    logLevel: "silent",
    sourcefile: fileName,
    sourcemap: "inline",
    sourcesContent: false,
    tsconfigRaw: { compilerOptions: {} },
  };
  const compiled = await reduceToJavaScript(code, options);
  const [comment = "", encoded = ""] = SOURCE_MAP.exec(compiled) ?? [];
  const text = compiled.slice(0, compiled.length - comment.length);
  const { parse } = await import("acorn");
  const tree = parse(text, { ecmaVersion: "latest", sourceType: "module" });
  const { imports, body } = splitModule(text, tree, fileName);
  const header = [
    'import { makeScope as $ptcScope } from "saved";',
    ...imports,
    "export default async (data, $ptcConsole) => { let result;",
    "const globalThis = $ptcScope(data, () => result, (value) => { result = value; });",
    "{ const console = $ptcConsole; await (async () => {",
  ].join("\n");
  const map = JSON.parse(Buffer.from(encoded, "base64").toString()) as { mappings: string };
  const moved = {
    ...map,
    sources: [PROGRAM_SCHEME + fileName],
    mappings: ";".repeat(header.split("\n").length) + map.mappings,
  };
  const mapped = Buffer.from(JSON.stringify(moved)).toString("base64");
  const module = `${header}\n${body}\n})(); } return result; };\n//# sourceMappingURL=data:application/json;base64,${mapped}\n`;
  made.set(key, module, key.length + module.length);
  return module;
}

type SavedText = Pick<CalledProgram, "code" | "fileName" | "language">;

/** The imports of a module, and the rest with spaces in their place, so that every other line and column stays. */
function splitModule(text: string, tree: ModuleTree, fileName: string): { imports: string[]; body: string } {
  const imports: string[] = [];
  let body = "";
  let at = 0;
  const replace = (start: number, end: number, by = "") => {
    body += text.slice(at, start) + by + blank(text.slice(start + by.length, end));
    at = end;
  };
  for (const each of tree.body) {
    switch (each.type) {
      case "ImportDeclaration":
        imports.push(text.slice(each.start, each.end));
        replace(each.start, each.end);
        break;
      case "ExportNamedDeclaration":
        replace(each.start, exportEnd(each, fileName));
        break;
      case "ExportDefaultDeclaration":
        if (/^(?:Function|Class)Declaration$/.test(each.declaration.type)) {
          const isNamed = "id" in each.declaration && each.declaration.id !== null;
          replace(each.start, each.declaration.start, isNamed ? "" : "void ");
        } else replace(each.start, each.declaration.start, "void ");
        break;
      case "ExportAllDeclaration":
        throw cannotExport(fileName);
      default:
        break;
    }
  }
  return { imports, body: body + text.slice(at) };
}

/** Where the part of an export ends that is left out: all of it, or the word before a declaration. */
function exportEnd({ declaration, source, end }: ExportNamedDeclaration, fileName: string): number {
  if (source != null) throw cannotExport(fileName);
  return declaration?.start ?? end;
}

function cannotExport(fileName: string): SyntaxError {
  return new SyntaxError(`${fileName}: a saved program cannot export what it imports`);
}

function blank(text: string): string {
  return text.replace(/[^\r\n]/g, " ");
}
