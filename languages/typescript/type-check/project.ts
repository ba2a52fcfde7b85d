import { PROGRAM_DECLARATIONS } from "../../../codegen/typescript/declarations.ts";
import { PROGRAMS_MODULE } from "../../../protocol/tool-names.ts";
import type { FileChanges, VirtualFiles } from "../typescript-api.ts";

/** The virtual working folder of the type checker, and the paths in it. */
export const ROOT = "/ptc";
export const CONFIG_PATH = `${ROOT}/tsconfig.json`;
export const PROGRAM_PATH = `${ROOT}/program.ts`;
export const RUNTIME_PATH = `${ROOT}/runtime.d.ts`;
/** The path for importing saved programs, whose functions are those of the module `programs`. */
const PROGRAMS_PATH = `${ROOT}/programs/index.ts`;
/** Matches the path of a generated module. */
export const MODULE_PATH = /^\/ptc\/servers\/([a-z0-9_]+)\/index\.ts$/;

/** The path of the declarations of Node.js globals, and of tools that are called by their namespaced names. */
const SURROUNDINGS_PATH = `${ROOT}/surroundings.d.ts`;
export const TOOL_NAMES_PATH = `${ROOT}/tool-names.d.ts`;

/**
 * The compiler's configuration. It is lenient where strictness would reject working programs. Without null checks, a possibly
 * missing value is not an error, but missing arguments and wrong types are. JavaScript is checked as TypeScript.
 */
export const CONFIG = {
  compilerOptions: {
    target: "esnext",
    lib: ["esnext"],
    module: "preserve",
    moduleResolution: "bundler",
    moduleDetection: "force",
    allowImportingTsExtensions: true,
    paths: { "servers/*": ["./servers/*"] },
    types: [],
    strict: false,
    skipLibCheck: true,
    noEmit: true,
  },
  files: [PROGRAM_PATH, RUNTIME_PATH, SURROUNDINGS_PATH, TOOL_NAMES_PATH],
};

/** The path of an earlier program of a session, from 0. It is beside the program, so that both import the same modules. */
function sessionPath(index: number): string {
  return `${ROOT}/session-${index}.ts`;
}

/** The path of a generated module. */
function checkedPath(module: string): string {
  return `${ROOT}/servers/${module}/index.ts`;
}

/** A type in the module of saved programs. With `isOpen`, values may have any other members too. */
export interface DataType {
  name: string;
  isOpen: boolean;
}

/** The texts of one check, besides TypeScript's own library. */
export interface CheckedTexts {
  code: string;
  /** Earlier programs of its session, as modules. */
  session?: readonly string[];
  /** Text of each generated module in use, by name. */
  modules: ReadonlyMap<string, string>;
  /** Namespaced names that the program uses as globals, and the function of each. */
  toolNames: ReadonlyMap<string, { module: string; identifier: string }>;
  /** The type of the program's data, as the module of saved programs declares it. `any` by default. */
  dataType?: DataType | undefined;
  /** Whether the program may ask a model. */
  hasExtract: boolean;
}

/** The virtual files of the type checker. Generated modules stay between checks. TypeScript reads only imported ones. */
export class CheckedFiles implements VirtualFiles {
  readonly #files = new Map<string, string>([[CONFIG_PATH, JSON.stringify(CONFIG)]]);

  read(path: string): string | undefined {
    return this.#files.get(path);
  }

  hasDirectory(path: string): boolean {
    const inside = path.endsWith("/") ? path : `${path}/`;
    for (const file of this.#files.keys()) if (file.startsWith(inside)) return true;
    return false;
  }

  /** Puts the files of a check in place and returns how they differ from the previous ones. */
  replace(texts: CheckedTexts): FileChanges {
    const changes: FileChanges = { changed: [], created: [], deleted: [] };
    const put = (path: string, text: string): void => {
      const before = this.#files.get(path);
      if (before === text) return;
      (before === undefined ? changes.created : changes.changed).push(path);
      this.#files.set(path, text);
    };
    put(PROGRAM_PATH, texts.code);
    const { runtime, node } = PROGRAM_DECLARATIONS;
    put(RUNTIME_PATH, declareData(runtime, texts.dataType));
    put(SURROUNDINGS_PATH, node);
    const extract = texts.hasExtract ? PROGRAM_DECLARATIONS.extract : "";
    put(TOOL_NAMES_PATH, declareToolNames(texts.toolNames) + extract);
    for (const [index, text] of (texts.session ?? []).entries()) put(sessionPath(index), text);
    for (const [module, text] of texts.modules) put(checkedPath(module), text);
    if (texts.modules.has(PROGRAMS_MODULE))
      put(PROGRAMS_PATH, `export * from "../servers/${PROGRAMS_MODULE}/index.js";\n`);
    return changes;
  }
}

/** Declares the data of a saved program by its manifest. Members that the manifest leaves open may be anything. */
function declareData(runtime: string, type: DataType | undefined): string {
  if (type === undefined) return runtime;
  const declared = `import("./servers/${PROGRAMS_MODULE}/index.js").${type.name}`;
  return runtime.replace(
    "var data: any;",
    `var data: ${declared}${type.isOpen ? " & { [name: string]: any }" : ""};`,
  );
}

function declareToolNames(names: CheckedTexts["toolNames"]): string {
  const lines = [...names].map(
    ([name, { module, identifier }]) =>
      `declare const ${name}: typeof import("./servers/${module}/index.js").${identifier};`,
  );
  return `${lines.join("\n")}\n`;
}
