/** The virtual working folder of the type checker, and the paths in it. */
export const ROOT = "/ptc";
export const CONFIG_PATH = `${ROOT}/tsconfig.json`;
export const PROGRAM_PATH = `${ROOT}/program.ts`;
export const RUNTIME_PATH = `${ROOT}/runtime.d.ts`;
/** The path under which saved programs are imported; their functions are those of the module `programs`. */
export const PROGRAMS_PATH = `${ROOT}/programs/index.ts`;
/** Matches the path of a generated module. */
export const MODULE_PATH = /^\/ptc\/servers\/([a-z0-9_]+)\/index\.ts$/;

/** The path of the declarations of Node.js globals, and of tools that are called by their namespaced names. */
export const SURROUNDINGS_PATH = `${ROOT}/surroundings.d.ts`;
export const TOOL_NAMES_PATH = `${ROOT}/tool-names.d.ts`;

/**
 * Lenient where strictness would reject programs that work. Without null checks a possibly missing value is no error, while
 * missing arguments and wrong types still are. JavaScript is checked as TypeScript.
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

/** The path of an earlier program of a session, from 0: beside the program, so that both import the same. */
export function sessionPath(index: number): string {
  return `${ROOT}/session-${index}.ts`;
}

/** The path of a generated module. */
export function checkedPath(module: string): string {
  return `${ROOT}/servers/${module}/index.ts`;
}
