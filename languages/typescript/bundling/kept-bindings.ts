import type { Program } from "../../program.ts";
import { findTopLevelNames } from "./top-level-names.ts";

/** The names of what is added to a program. Nobody else's begin like this. */
const BINDINGS = "__ptc_bindings__";
const VALUE = "__ptc_value__";
const MODULE = "__ptc_module_";

/** The first line of a session's bundle: hands the runner what reads the program's names, before any of it has run. */
export const HAND_OVER = `globalThis[Symbol.for("ptc.session")](${BINDINGS});`;

/**
 * What is added behind a program that runs in a session, so that the places in it stay what they are: a function that gives,
 * for each of its top level names, what reads and what writes it. So the names stay the variables of the program, whose own
 * functions see what a later program writes to them, and a later one may declare the same name for itself.
 */
export async function renderKeptBindings(program: Program): Promise<string> {
  const { declared, imported } = await findTopLevelNames(program);
  const modules = [...new Set(imported.map(({ from }) => from))];
  const entries = [
    ...declared.map(({ name, isAssignable }) => {
      const write = isAssignable ? `, (${VALUE}) => { ${name} = ${VALUE}; }` : "";
      return `${JSON.stringify(name)}: [() => ${name}${write}]`;
    }),
    // An imported name may be a type. By way of its module it is undefined then, and no mistake.
    ...imported.map(({ name, from, exported }) => {
      const module = `${MODULE}${modules.indexOf(from)}`;
      const member = exported === "*" ? "" : `[${JSON.stringify(exported)}]`;
      return `${JSON.stringify(name)}: [() => ${module}${member}]`;
    }),
  ];
  return [
    "",
    ...modules.map((from, index) => `import * as ${MODULE}${index} from ${JSON.stringify(from)};`),
    `export function ${BINDINGS}() { return { ${entries.join(", ")} }; }`,
    "",
  ].join("\n");
}
