/** Decides which parts of the bundled packages go into `dist/`: those that ptc uses, in a form that works in a bundle. */
import { readFileSync } from "node:fs";
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

/** Leaves out the unused parts of packages, which make up most of their size. */
export function withoutUnused(): Plugin {
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
        errors: [...unused].map(({ filter, importer }) => ({
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
