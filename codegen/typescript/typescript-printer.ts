import { assignIdentifiers } from "../../catalog/identifiers.ts";
import type { Documentation, TypeNode } from "../../catalog/model/type-model.ts";
import { parseTool } from "../../catalog/parse-tool.ts";
import { modulePath } from "../../catalog/store/stored-catalog.ts";
import { buildToolModel, type ToolModel, withoutTypes } from "../../catalog/tool-model.ts";
import { byCodeUnit } from "../../protocol/canonical-json.ts";
import {
  EXTRACT_NAME,
  isWritableName,
  type NamedTool,
  PROGRAMS_MODULE,
  ToolNames,
} from "../../protocol/tool-names.ts";
import type { EditorSetup } from "../editor-setup.ts";
import type { GeneratedModule } from "../generated-module.ts";
import type { ExampleCall, LanguagePrinter, ProgramGuide, ShownTool } from "../language-printer.ts";
import { briefObservedNote, observedNote, withShownOutput } from "../observed-note.ts";
import { NODE_DECLARATIONS, NODE_FILE } from "./editor/node-declarations.ts";
import { EXTRACT_DECLARATIONS } from "./print-extract.ts";
import { RUNTIME_DECLARATIONS } from "./print-runtime.ts";
import { printServerModule } from "./print-typescript.ts";
import { readToolDeclarations, type ToolDeclaration, UNAVAILABLE_MARK } from "./tool-declaration.ts";
import { type PrintRequest, printTypes } from "./types/print-types.ts";
import { BRIEF, briefLines, COMPACT, type TypeLayout, trailingComment } from "./types/type-layout.ts";
import { definitionNames, nameTypesBriefly } from "./types/type-names.ts";

/** Longest sentence that the compact form quotes of a description. */
const MAX_SENTENCE_CHARS = 300;

/** How to read a signature, for whoever is shown one. */
export const SIGNATURE_FORM =
  "Signatures are TypeScript, `name({arguments}):Promise<result>`, without a result where the tool declares none; " +
  "behind a property's type stand, after a space, its default (`= value`), (format) and description.";

/**
 * The shortest faithful declaration of one tool, with every description, for a model to read: `SIGNATURE_FORM`, a
 * property to a line. After it come the types that it names.
 */
export async function printToolSignature(tool: ToolModel): Promise<string> {
  const { call, types } = await printWith(BRIEF, withShownOutput(tool, "full"));
  const comment = trailingComment(briefLines(tool.description ?? ""));
  const note = observedNote(tool);
  const observed = note === undefined ? [] : [`// The result is ${note}.`];
  return [...(comment === "" ? [] : [comment]), ...observed, call, ...types].join("\n");
}

/** One line of TypeScript for one tool, and one for each type that it names: types, and the first sentence of its description. */
export async function printCompactSignature(tool: ToolModel): Promise<string> {
  const { call, types } = await printWith(COMPACT, withShownOutput(tool, "compact"));
  const sentence = firstSentence(tool.description ?? "");
  const said = [sentence, briefObservedNote(tool) ?? ""].filter((each) => each !== "").join("; ");
  return [call + trailingComment(briefLines(said)), ...types].join("\n");
}

/** Up to the first full stop or line end, without the full stop. */
function firstSentence(text: string): string {
  const [sentence = ""] = text.trim().split(/(?<=[.!?])\s|(?<=[。！？])|\n/);
  const cut =
    sentence.length <= MAX_SENTENCE_CHARS
      ? sentence
      : `${sentence.slice(0, MAX_SENTENCE_CHARS).replace(/\s+\S*$/, "")}...`;
  return cut.replace(/(?<!\.)[.。]$/, "");
}

async function printWith(layout: TypeLayout, tool: ToolModel): Promise<{ call: string; types: string[] }> {
  return print(layout, tool).catch(() => print(layout, withoutTypes(tool)));
}

async function print(layout: TypeLayout, tool: ToolModel): Promise<{ call: string; types: string[] }> {
  const names = nameTypesBriefly(tool);
  const declared: { name: string; documentation: Documentation }[] = [];
  const requests: PrintRequest[] = [];
  for (const role of ["input", "output"] as const) {
    const model = tool[role];
    if (model === undefined) continue;
    const own = definitionNames(model, role, names);
    const request = (type: TypeNode): PrintRequest => ({
      type,
      names: own,
      any: role === "input" ? "unknown" : "any",
    });
    requests.push(request(model.root));
    declared.push({ name: role, documentation: model.documentation });
    for (const [name, { type, documentation }] of model.definitions) {
      requests.push(request(type));
      declared.push({ name: own.get(name) ?? "never", documentation });
    }
  }
  const texts = await printTypes(requests, layout);
  let input = "unknown";
  let output = "any";
  const types: string[] = [];
  texts.forEach((text, i) => {
    const { name, documentation } = declared[i] ?? { name: "never", documentation: {} };
    const described = behindFirstLine(text, layout.describe(documentation));
    if (name === "input") input = described;
    else if (name === "output") output = described;
    else types.push(`type ${name}=${described}`);
  });
  const takesNone = input === "object" || input === "{[k:string]:never}";
  const args = takesNone ? "" : input.startsWith("{") ? input : `args:${input}`;
  const returns = tool.output === undefined ? "" : `:Promise<${output}>`;
  return { call: `${tool.identifier}(${args})${returns}`, types };
}

/** Puts a comment behind the first line of a type, where it hides nothing of the type. */
function behindFirstLine(text: string, comment: readonly string[]): string {
  if (comment.length === 0) return text;
  const [first = "", ...rest] = text.split("\n");
  if (rest.length === 0) return `${first} /* ${comment.join("\n")}*/`;
  return [first + trailingComment(comment), ...rest].join("\n");
}

/**
 * Reads the text of a module back: as it was printed, or as it was archived, with a mark at each tool that programs may not
 * call.
 *
 * @param callable namespaced names of the tools that programs may call; without it, those that bear no mark.
 */
export function readModule(module: string, text: string, callable?: ReadonlySet<string>): GeneratedModule {
  const declarations = readToolDeclarations(text);
  const isAvailable = (declared: (typeof declarations)[number]): boolean =>
    !declared.isMarked && (callable === undefined || callable.has(declared.namespacedName));
  const marks = declarations.filter((declared) => !declared.isMarked && !isAvailable(declared));
  return {
    text,
    tools: declarations.map((declared) => {
      const { identifier, input, output, namespacedName, start, end } = declared;
      return {
        module,
        identifier,
        namespacedName,
        input,
        output,
        isObserved: declared.observedCalls !== undefined,
        isUnwrapped: declared.isUnwrapped === true,
        isAvailable: isAvailable(declared),
        start,
        end,
        signature: () => declaredSignature(declared, text),
      };
    }),
    archived: insert(
      text,
      marks.map(({ end }) => end),
      UNAVAILABLE_MARK,
    ),
  };
}

/** Puts the same piece into a text at several places, given in their order. */
function insert(text: string, places: readonly number[], piece: string): string {
  const from = [0, ...places];
  return from.map((start, i) => text.slice(start, from[i + 1])).join(piece);
}

const MAX_SIGNATURE_CHARS = 600;

/** `name(arguments): Promise<output>` of a declared tool on one line, without comments, cut where it is very long. */
function declaredSignature(tool: ToolDeclaration, moduleText: string): string {
  const input = declarationOf(tool.input, moduleText) ?? tool.input;
  const output = declarationOf(tool.output, moduleText) ?? tool.output;
  const optional = /^\{(?: [\w$"-]+\?:| \[k: string\]:|\s*\})/.test(input) && !/[{;] [\w$"-]+: /.test(input);
  const parameters = input.startsWith("{") ? input : `args${optional ? "?" : ""}: ${input}`;
  const call = `${tool.identifier}(${parameters})`;
  if (call.length > MAX_SIGNATURE_CHARS) return `${call.slice(0, MAX_SIGNATURE_CHARS)}...`;
  const whole = `${call}: Promise<${output}>`;
  return whole.length > MAX_SIGNATURE_CHARS ? `${call}: Promise<...>` : whole;
}

/** What a type is declared as in a module, on one line without comments. Of another name for a type, what that is declared as. */
function declarationOf(name: string, moduleText: string): string | undefined {
  const declared = declaredAs(name, moduleText);
  return declared === undefined ? undefined : (declaredAs(declared, moduleText) ?? declared);
}

function declaredAs(name: string, moduleText: string): string | undefined {
  if (!/^\w+$/.test(name)) return undefined;
  const declared = new RegExp(`^export (?:interface ${name} (?=\\{)|type ${name} = )`, "m").exec(moduleText);
  if (declared === null) return undefined;
  return compact(moduleText.slice(declared.index + declared[0].length));
}

/** One type from the start of a text: up to where its brackets are closed, comments and line ends taken out. */
function compact(text: string): string {
  let depth = 0;
  let out = "";
  const token = /"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|\/\*[\s\S]*?\*\/|\/\/.*|\s+|[\s\S]/g;
  for (const [piece] of text.matchAll(token)) {
    if (piece.startsWith("/*") || piece.startsWith("//")) continue;
    if (depth === 0 && (piece === ";" || (piece.includes("\n") && out.endsWith("}")))) break;
    if ("([{".includes(piece)) depth++;
    if (")]}".includes(piece)) depth--;
    if (/^\s/.test(piece)) out += out.endsWith(" ") ? "" : " ";
    else if (piece === "}") out = `${out.replace(/;? $/, " ")}}`;
    else out += piece;
    if (out.length > 4 * MAX_SIGNATURE_CHARS) break;
  }
  return out.trim();
}

/**
 * `tsconfig.json` in the output folder. It reads programs beside that folder as ptc does: what they import from `./servers/`
 * is in the output folder, and the check is as lenient as ptc's own.
 */
export const EDITOR_CONFIG = `/** How editors read programs beside ptc.yaml. Written by \`ptc generate\`: edits are lost. */
${JSON.stringify(
  {
    compilerOptions: {
      target: "esnext",
      lib: ["esnext"],
      module: "preserve",
      moduleResolution: "bundler",
      moduleDetection: "force",
      allowImportingTsExtensions: true,
      allowJs: true,
      // The last leads from a program beside ptc.yaml to the module of saved programs, which is in a root of its own.
      rootDirs: ["..", ".", "../programs", "./programs"],
      paths: { "servers/*": ["./servers/*"] },
      types: [],
      strict: false,
      skipLibCheck: true,
      noEmit: true,
    },
    include: [
      "../*.ts",
      "../*.mts",
      "../*.js",
      "../*.mjs",
      "../programs/*.ts",
      "../programs/*.js",
      "./*.d.ts",
      `./${NODE_FILE}`,
      "./servers/**/*.ts",
    ],
  },
  null,
  2,
)}
`;

/** Names that the example has beside those of the call. */
const NAMES = new Set(["JSON", "console", "each", "found", "parallel"]);

function printExample({ module, tool: { identifier }, argument }: ExampleCall): string | undefined {
  if (NAMES.has(identifier)) return undefined;
  const call =
    argument === ""
      ? `${identifier}({})`
      : `parallel(["a", "b"].map((each) => () => ${identifier}({ ${argument}: each })), { limit: 5 })`;
  return `import { ${identifier} } from "./servers/${module}/index.js";
const found = await ${call};
console.log(JSON.stringify(found).slice(0, 500));`;
}

/** What a model is told of programs in TypeScript. Every word of it is in the context of every conversation. */
const TYPESCRIPT_GUIDE: ProgramGuide = {
  signatures: "TypeScript",
  programs: "TypeScript or JavaScript",
  givesBack: "prints with console.log or sets as globalThis.result",
  abilities: "Top-level await works, Node's built-in modules can be imported",
  calls:
    '`import * as x from "./servers/<server>/index.js"; await x.someTool({...})`, or `await mcp__<server>__<tool>({...})`',
  example: printExample,
  rules:
    "Functions are the tools' names in camelCase. A failed call throws ToolError. Types are checked first. Tools without an output schema return any: print a small sample before relying on its shape.",
  extract: '`await extract(text, { name: "string", tags: ["string"] })`',
  brief:
    "functions are the tools' names in camelCase and take one object; print with console.log, or set globalThis.result.",
};

/** A configuration that extends the generated one, or takes the output folder for a root beside others, leads to it. */
const TYPESCRIPT_EDITOR: EditorSetup = {
  files: ["tsconfig.json", "jsconfig.json"],
  settings: "tsconfig.json",
  paths({ json }) {
    const config = json as { extends?: unknown; compilerOptions?: { rootDirs?: unknown } } | undefined;
    return [config?.extends, config?.compilerOptions?.rootDirs].flat();
  },
  advice: (settings) =>
    `add "rootDirs": [".", "./generated"] to its compilerOptions, and the programs and "generated/*.d.ts" to its include (or extend ${settings})`,
};

/** The version of this generator. It must change whenever the same definitions would give another text. */
export const GENERATOR = "8";

/** Prints modules in TypeScript, which programs in JavaScript import as well. */
export const TYPESCRIPT_PRINTER: LanguagePrinter = {
  language: "typescript",
  generator: GENERATOR,
  guide: TYPESCRIPT_GUIDE,
  editor: TYPESCRIPT_EDITOR,
  nameFunctions: assignIdentifiers,
  modulePath,
  printModule: printServerModule,
  savedPrograms: {
    path: `${PROGRAMS_MODULE}/index.ts`,
    text: `/** Saved programs. Written by \`ptc generate\`: edits are lost. */\nexport * from "../servers/${PROGRAMS_MODULE}/index.js";\n`,
  },
  printShared: (tools) =>
    new Map([
      ["runtime.d.ts", RUNTIME_DECLARATIONS],
      ["globals.d.ts", printGlobals(tools)],
      [NODE_FILE, NODE_DECLARATIONS],
      [TYPESCRIPT_EDITOR.settings, EDITOR_CONFIG],
    ]),
  signature: toolSignature,
  importLine: (module) =>
    module === PROGRAMS_MODULE
      ? `import * as ${module} from "./${module}/index.js";`
      : `import * as ${module} from "./servers/${module}/index.js";`,
  functionName: ({ identifier }) => identifier,
  readModule,
};

/** The TypeScript signature of a tool's function: with every description, or in one line with the first sentence of its own. */
async function toolSignature(tool: ShownTool, form: "full" | "compact"): Promise<string> {
  const definition = parseTool(tool);
  if (definition === undefined) return `${tool.identifier}(args:object)`;
  const { module, identifier, learned, unwraps = false } = tool;
  const model = buildToolModel(definition, module, identifier, undefined, learned, unwraps);
  return form === "full" ? printToolSignature(model) : printCompactSignature(model);
}

/** The text of `globals.d.ts`: tools by their namespaced names, in the form in which code can hold them. */
export function printGlobals(tools: readonly NamedTool[]): string {
  const names = new ToolNames(tools);
  const lines = tools
    .map((tool) => ({ tool, name: names.callable(tool) }))
    .filter(({ name }) => isWritableName(name))
    .sort((a, b) => byCodeUnit(a.name, b.name))
    .map(
      ({ tool, name }) =>
        `declare const ${name}: typeof import("./servers/${tool.module}/index.js").${tool.identifier};`,
    );
  const header = "/** Every tool by its namespaced name. Written by `ptc generate`: edits are lost. */";
  const asks = tools.some(({ namespacedName }) => namespacedName === EXTRACT_NAME);
  return `${[header, ...lines, ...(asks ? ["", EXTRACT_DECLARATIONS.trimEnd()] : [])].join("\n")}\n`;
}
