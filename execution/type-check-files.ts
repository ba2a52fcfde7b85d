import { SURROUNDINGS } from "./type-check-surroundings.ts";
import type { FileChanges, VirtualFiles } from "./typescript-api.ts";

export const ROOT = "/ptc";
export const CONFIG_PATH = `${ROOT}/tsconfig.json`;
export const PROGRAM_PATH = `${ROOT}/program.ts`;
export const RUNTIME_PATH = `${ROOT}/runtime.d.ts`;
/** Matches the path of a generated module. */
export const MODULE_PATH = /^\/ptc\/servers\/([a-z0-9_]+)\/index\.ts$/;

const SURROUNDINGS_PATH = `${ROOT}/surroundings.d.ts`;
const TOOL_NAMES_PATH = `${ROOT}/tool-names.d.ts`;

/**
 * Lenient where strictness would stop programs that run. Null checks are off: without them nothing that may be missing is
 * an error, while missing arguments and wrong types still are. JavaScript is checked as TypeScript, which it is.
 */
const CONFIG = {
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

/** What one check sees besides TypeScript's own library. */
export interface CheckedTexts {
  code: string;
  /** Text of `runtime.d.ts`. */
  declarations: string;
  /** Text of each generated module in use, by name. */
  modules: ReadonlyMap<string, string>;
  /** Namespaced names that the program may use without an import, and where they lead. */
  toolNames: ReadonlyMap<string, { module: string; identifier: string }>;
}

/** The virtual files of the type checker. Generated modules stay in place; only those that a program imports are read. */
export class CheckedFiles implements VirtualFiles {
  readonly #files = new Map<string, string>([
    [CONFIG_PATH, JSON.stringify(CONFIG)],
    [SURROUNDINGS_PATH, SURROUNDINGS],
  ]);

  read(path: string): string | undefined {
    return this.#files.get(path);
  }

  hasDirectory(path: string): boolean {
    const inside = path.endsWith("/") ? path : `${path}/`;
    for (const file of this.#files.keys()) if (file.startsWith(inside)) return true;
    return false;
  }

  /** Puts the files of a check in place. */
  replace(texts: CheckedTexts): FileChanges {
    const changes: FileChanges = { changed: [], created: [], deleted: [] };
    const put = (path: string, text: string): void => {
      const before = this.#files.get(path);
      if (before === text) return;
      (before === undefined ? changes.created : changes.changed).push(path);
      this.#files.set(path, text);
    };
    put(PROGRAM_PATH, texts.code);
    put(RUNTIME_PATH, texts.declarations);
    put(TOOL_NAMES_PATH, declareToolNames(texts.toolNames));
    for (const [module, text] of texts.modules) put(modulePath(module), text);
    return changes;
  }
}

function modulePath(module: string): string {
  return `${ROOT}/servers/${module}/index.ts`;
}

function declareToolNames(names: CheckedTexts["toolNames"]): string {
  const lines = [...names].map(
    ([name, { module, identifier }]) =>
      `declare const ${name}: typeof import("./servers/${module}/index.js").${identifier};`,
  );
  return `${lines.join("\n")}\n`;
}
