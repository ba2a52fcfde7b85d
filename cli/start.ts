/** Starts ptc, after `ptc.js` has checked that this Node.js has what ptc needs. */
import module from "node:module";
import { cacheCompiled } from "../system/compile-cache.ts";

// json-schema-to-typescript prints to stdout, which must hold only the command's output, when this is set.
delete process.env.VERBOSE;

// Users of ptc can do nothing about deprecations in its libraries, and stderr belongs to their program.
process.noDeprecation = true;

// What is loaded before this is compiled each time.
cacheCompiled(process.env);
if (import.meta.url.endsWith(".js")) findPartsFaster(new URL("..", import.meta.url).href);
await import("./own-process.ts");

/** Spares most of what Node.js does to find a module for the built parts of this package, of which a run loads 180. */
function findPartsFaster(built: string): void {
  module.registerHooks?.({
    resolve: (specifier, context, next) =>
      /^\.\.?\/.*\.js$/.test(specifier) && context.parentURL?.startsWith(built) === true
        ? { url: new URL(specifier, context.parentURL).href, format: "module", shortCircuit: true }
        : next(specifier, context),
  });
}
