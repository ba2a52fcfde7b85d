import type { GeneratedModule } from "../generated-module.ts";
import { declaredSignature } from "./declared-signature.ts";
import { readToolDeclarations, UNAVAILABLE_MARK } from "./tool-declaration.ts";

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
