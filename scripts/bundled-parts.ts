/** Decides which parts of the bundled packages go into `dist/`: those that ptc uses, in a form that works in a bundle. */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Plugin } from "esbuild";

interface Replacement {
  /** Matches the specifier of the import. */
  filter: RegExp;
  /** The files that import it. */
  importer: RegExp;
  /** The text of the module that replaces it. */
  text: string;
}

const REPLACEMENTS: readonly Replacement[] = [
  {
    filter: /^node:child_process$/,
    importer: /node_modules\/commander\//,
    text: "exports.spawn = () => { throw new Error('no command of ptc is a file of its own'); };",
  },
  {
    filter: /^\.\/session$/,
    importer: /node_modules\/dockerode\/lib\//,
    text: "module.exports = () => { throw new Error('ptc uses no BuildKit sessions'); };",
  },
  {
    filter: /^\.\/buildkit$/,
    importer: /node_modules\/dockerode\/lib\//,
    text: "exports.followProgress = () => { throw new Error('ptc builds with the classic builder'); };",
  },
  {
    filter: /^\.\/ssh$/,
    importer: /node_modules\/docker-modem\/lib\//,
    text: "module.exports = () => { throw new Error('ptc starts the ssh command itself'); };",
  },
  {
    filter: /^prettier$/,
    importer: /node_modules\/json-schema-to-typescript\//,
    text: "exports.format = () => { throw new Error('ptc prints types unformatted'); };",
  },
  {
    // `import()` finds no named exports in a bundled CommonJS package.
    filter: /^json-schema-to-typescript$/,
    importer: /\/codegen\/typescript\//,
    text: 'export { compile } from "json-schema-to-typescript";',
  },
  {
    filter: /^undici$/,
    importer: /\/system\/outgoing\.ts$/,
    text: 'export { Agent, fetch, ProxyAgent } from "undici";',
  },
];

/** Runs for each request to Docker, for a disabled log, and takes longer than the rest of the request's work. */
const DESCRIBED_REQUEST = /debug\('Sending: %s', util\.inspect\(options, \{[^}]*\}\)\);/;

/**
 * Leaves out the unused parts of packages, which make up most of their size.
 *
 * @param isWhole whether everything is bundled, so that each of these parts is there.
 */
export function withoutUnused({ isWhole = true } = {}): Plugin {
  return {
    name: "without-unused",
    setup({ onResolve, onLoad, onEnd }) {
      const unused = new Set(REPLACEMENTS);
      REPLACEMENTS.forEach((replacement, i) => {
        onResolve({ filter: replacement.filter }, (found) => {
          if (!replacement.importer.test(found.importer)) return undefined;
          unused.delete(replacement);
          return { path: String(i), namespace: "replaced" };
        });
      });
      onEnd(() => ({
        errors: [...(isWhole ? unused : [])].map(({ filter, importer }) => ({
          text: `nothing that matches ${importer} imports ${filter}: what it stood for has moved`,
        })),
      }));
      onLoad({ filter: /.*/, namespace: "replaced" }, ({ path }) => ({
        contents: REPLACEMENTS[Number(path)]?.text ?? "",
        loader: "js",
        resolveDir: import.meta.dirname,
      }));
      onLoad({ filter: /node_modules\/docker-modem\/lib\/modem\.js$/ }, ({ path }) => {
        const text = readFileSync(path, "utf8");
        if (!DESCRIBED_REQUEST.test(text)) throw new Error(`${path} no longer describes its requests`);
        return { contents: text.replace(DESCRIBED_REQUEST, ""), loader: "js" };
      });
    },
  };
}

/** Modules of Node.js with properties that load much of it when they are read: all streams, `fetch` with all that it needs, a console. */
const COSTLY_BUILTINS = /^node:(?:crypto|fs|http|process|util|vm)$/;

/** The symbol under which a function has the form that `promisify` gives. */
const PROMISIFIED = 'Symbol.for("nodejs.util.promisify.custom")';

/** Loads `node:child_process`, with all that it needs, when a process is first started. */
const LATER_PROCESSES = `const own = () => process.getBuiltinModule("node:child_process");
const later = (name) => (...given) => own()[name](...given);
export const fork = later("fork"), spawn = later("spawn"), spawnSync = later("spawnSync");
export const execFileSync = later("execFileSync"), execSync = later("execSync");
export const execFile = Object.defineProperty(later("execFile"), ${PROMISIFIED}, {
  get: () => own().execFile[${PROMISIFIED}],
});`;

/** Loads Node.js's own modules without what nobody uses of them. An `import` reads each of their properties once. */
export function withPlainBuiltins(): Plugin {
  return {
    name: "with-plain-builtins",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: COSTLY_BUILTINS }, ({ path, kind }) =>
        kind === "require-call" ? undefined : { path, namespace: "builtin", sideEffects: false },
      );
      onResolve({ filter: /^node:child_process$/ }, ({ kind, importer }) =>
        // The bundler replaces functions of the module itself.
        kind === "require-call" || importer.includes("node_modules") || importer.endsWith("/bundler.ts")
          ? undefined
          : { path: "later", namespace: "later-processes", sideEffects: false },
      );
      onLoad({ filter: /.*/, namespace: "later-processes" }, () => ({
        contents: LATER_PROCESSES,
        loader: "js",
      }));
      onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => {
        const properties = Object.getOwnPropertyDescriptors(process.getBuiltinModule(path));
        const names = Object.entries(properties).flatMap(([name, { value }]) =>
          value === undefined || name === "default" ? [] : [name],
        );
        const text = `const own = process.getBuiltinModule(${JSON.stringify(path)});
export const { ${names.join(", ")} } = own;
export default own;`;
        return { contents: text, loader: "js" };
      });
    },
  };
}

/** Leaves what a file imports later to the build that has it as an entry point. */
export function withPartsLater(folder: string): Plugin {
  return {
    name: "with-parts-later",
    setup({ onResolve }) {
      onResolve({ filter: /^\..*\.ts$/ }, ({ path, kind, resolveDir }) => {
        if (kind !== "dynamic-import") return undefined;
        const part = relative(folder, join(resolveDir, path)).replace(/\.ts$/, ".js");
        return { path: part.startsWith(".") ? part : `./${part}`, external: true };
      });
    },
  };
}

/**
 * Allows esbuild's own API to be bundled. Its install script is then not needed: the API finds the executable of this platform,
 * which is in a separate package, by that package's name.
 */
export function withEsbuild(): Plugin {
  return {
    name: "with-esbuild",
    setup({ onLoad }) {
      onLoad({ filter: /node_modules\/esbuild\/lib\/main\.js$/ }, ({ path }) => ({
        // It refuses to run from a file whose name differs from the published one.
        contents: `const __dirname = "/lib", __filename = "/lib/main.js";\n${readFileSync(path, "utf8")}`,
        loader: "js",
      }));
    },
  };
}
